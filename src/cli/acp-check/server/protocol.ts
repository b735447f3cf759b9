// The MCP side of a scripted server, whatever carries it: one message in, at most one answer out.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import { wordOf } from "../fields.js";
import { pause } from "../wait.js";
import type { Record } from "./log.js";
import { IMAGE_DATA, type ScriptedTool, type ServerScript, TOOL_SCHEMA } from "./script.js";

export interface ProtocolPorts {
  readonly record: Record;
  /** Ends the server, as a crash would. */
  crash(): void;
}

type Reply = { readonly result: JsonObject } | { readonly error: { readonly code: number; readonly message: string } };

const VERSIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const MODERN_VERSION = "2026-07-28";

export class ServerProtocol {
  readonly #script: ServerScript;
  readonly #ports: ProtocolPorts;
  /** Calls that wait to be cancelled, by request id. */
  readonly #held = new Map<string, () => void>();

  constructor(script: ServerScript, ports: ProtocolPorts) {
    this.#script = script;
    this.#ports = ports;
  }

  /** Undefined for what needs no answer: notifications, answers, and calls that were cancelled. */
  async receive(message: JsonValue): Promise<JsonObject | undefined> {
    if (!isJsonObject(message) || typeof message["method"] !== "string") return undefined;
    const { id, method } = message;
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    if (id === undefined || id === null) {
      this.#notified(method, params);
      return undefined;
    }
    const reply = await this.#reply(method, params, wordOf(id));
    return reply && { jsonrpc: "2.0", id, ...reply };
  }

  /** As MCP-over-ACP asks: without a handshake, every result saying what it is. */
  async answerModern(method: string, params: JsonObject, id: string): Promise<Reply | undefined> {
    if (method === "server/discover") {
      this.#ports.record("initialize", { version: MODERN_VERSION });
      const result = {
        supportedVersions: [MODERN_VERSION],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: "private",
      };
      return { result: this.#modern(result) };
    }
    if (method === "initialize") return { error: { code: METHOD_NOT_FOUND, message: "no initialize in this era" } };
    const reply = await this.#reply(method, params, id);
    if (!reply || "error" in reply) return reply;
    const list = method === "tools/list" ? { ttlMs: 0, cacheScope: "private" } : {};
    return { result: this.#modern({ ...list, ...reply.result }) };
  }

  cancel(id: string): void {
    this.#ports.record("cancelled", { requestId: id });
    this.#held.get(id)?.();
    this.#held.delete(id);
  }

  #modern(result: JsonObject): JsonObject {
    const serverInfo = { name: this.#script.name, version: "1.0.0" };
    return { resultType: "complete", ...result, _meta: { "io.modelcontextprotocol/serverInfo": serverInfo } };
  }

  #notified(method: string, params: JsonObject): void {
    const { requestId } = params;
    if (method !== "notifications/cancelled") return;
    if (typeof requestId === "string" || typeof requestId === "number") this.cancel(wordOf(requestId));
  }

  async #reply(method: string, params: JsonObject, id: string): Promise<Reply | undefined> {
    switch (method) {
      case "initialize":
        return await this.#initialize(params);
      case "ping":
        return { result: {} };
      case "tools/list":
        this.#ports.record("list");
        return { result: { tools: this.#script.tools.map((tool) => described(tool)) } };
      case "tools/call":
        return await this.#call(params, id);
      default:
        return { error: { code: METHOD_NOT_FOUND, message: `no method ${method}` } };
    }
  }

  async #initialize(params: JsonObject): Promise<Reply | undefined> {
    const asked = params["protocolVersion"];
    const { name, initializeMs = 0 } = this.#script;
    if (initializeMs < 0) return undefined;
    if (initializeMs > 0) await pause(initializeMs);
    const version = VERSIONS.find((one) => one === asked) ?? VERSIONS[0] ?? "";
    this.#ports.record("initialize", { version });
    const serverInfo = { name, version: "1.0.0" };
    return { result: { protocolVersion: version, capabilities: { tools: {} }, serverInfo } };
  }

  async #call(params: JsonObject, id: string): Promise<Reply | undefined> {
    const { name, arguments: given } = params;
    const tool = this.#script.tools.find((one) => one.name === name);
    this.#ports.record("call", { tool: name ?? null, arguments: given ?? null });
    if (!tool) return { error: { code: INVALID_PARAMS, message: `no tool ${JSON.stringify(name)}` } };
    switch (tool.reply) {
      case "echo":
        return text(`${this.#script.name} heard ${JSON.stringify(given)}`);
      case "error":
        return { result: { content: [{ type: "text", text: "this tool always fails" }], isError: true } };
      case "image":
        return { result: { content: [{ type: "image", data: IMAGE_DATA, mimeType: "image/png" }] } };
      case "hold":
        await new Promise<void>((resolve) => this.#held.set(id, resolve));
        return undefined;
      case "crash":
        this.#ports.crash();
        return undefined;
    }
  }
}

function text(words: string): Reply {
  return { result: { content: [{ type: "text", text: words }] } };
}

function described({ name }: ScriptedTool): JsonObject {
  return { name, description: `A tool of acp-check that answers for ${name}.`, inputSchema: TOOL_SCHEMA };
}
