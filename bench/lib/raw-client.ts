// The floor: MCP over a pipe and over `node:http` by hand, without a deadline, a cancel or a check of anything.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { Agent, type IncomingMessage, request } from "node:http";
import type { Readable, Writable } from "node:stream";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import { type BenchClient, payloadSize, type Target } from "./mcp-target.js";

const NEWLINE = 0x0a;
const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "raw", version: "1.0.0" },
};

export interface RawClient extends BenchClient {
  initialize(): Promise<void>;
  /** Every page, one after another. */
  listTools(): Promise<readonly JsonValue[]>;
}

export async function openRaw(target: Target): Promise<RawClient> {
  const client = target.kind === "stdio" ? new RawStdio(target) : new RawHttp(target.url);
  await client.initialize();
  return client;
}

abstract class Raw implements RawClient {
  protected nextId = 1;

  protected abstract request(method: string, params: JsonObject): Promise<JsonValue | undefined>;
  protected abstract notify(method: string): Promise<void>;
  abstract close(): Promise<void>;

  async initialize(): Promise<void> {
    await this.request("initialize", INITIALIZE);
    await this.notify("notifications/initialized");
  }

  async listTools(): Promise<readonly JsonValue[]> {
    const tools: JsonValue[] = [];
    let params: JsonObject = {};
    for (;;) {
      const result = await this.request("tools/list", params);
      if (!isJsonObject(result) || !Array.isArray(result["tools"])) throw new Error("there is no list of tools");
      tools.push(...result["tools"]);
      const cursor = result["nextCursor"];
      if (typeof cursor !== "string") return tools;
      params = { cursor };
    }
  }

  async call(tool: string, args: JsonObject): Promise<number> {
    return payloadSize(await this.request("tools/call", { name: tool, arguments: args }));
  }
}

export class RawStdio extends Raw {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<JsonValue | undefined, (message: JsonObject) => void>();
  #held: Buffer[] = [];

  constructor({ command, args }: Extract<Target, { kind: "stdio" }>) {
    super();
    // A session of its own, as for anyone who ends a server with all it started: Linux shares the CPU out by sessions.
    this.#child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"], detached: true });
    this.#child.stdin.on("error", () => {});
    this.#child.on("error", () => {});
    this.#child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
  }

  protected request(method: string, params: JsonObject): Promise<JsonValue | undefined> {
    const id = this.nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, (message) => resolve(message["result"]));
      this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }

  protected async notify(method: string): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method })}\n`);
  }

  async close(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#child.once("close", () => resolve()));
    if (this.#child.pid === undefined || this.#child.exitCode !== null) return;
    this.#child.stdin.end();
    await ended;
  }

  #receive(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      if (this.#held.length === 0) this.#read(chunk.toString("utf8", start, end));
      else {
        this.#held.push(chunk.subarray(start, end));
        this.#read(Buffer.concat(this.#held).toString("utf8"));
        this.#held = [];
      }
      start = end + 1;
    }
    if (start < chunk.length) this.#held.push(chunk.subarray(start));
  }

  #read(line: string): void {
    const message: JsonObject = JSON.parse(line);
    const { id } = message;
    const settle = this.#waiting.get(id);
    this.#waiting.delete(id);
    settle?.(message);
  }
}

class RawHttp extends Raw {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #url: URL;

  constructor(url: string) {
    super();
    this.#url = new URL(url);
  }

  protected async request(method: string, params: JsonObject): Promise<JsonValue | undefined> {
    const body = await this.#post(JSON.stringify({ jsonrpc: "2.0", id: this.nextId++, method, params }));
    const message: JsonObject = JSON.parse(body);
    return message["result"];
  }

  protected async notify(method: string): Promise<void> {
    await this.#post(JSON.stringify({ jsonrpc: "2.0", method }));
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  #post(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const { hostname, port, pathname } = this.#url;
      const outgoing = request({
        agent: this.#agent,
        hostname,
        port,
        path: pathname,
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "content-length": Buffer.byteLength(body),
          "mcp-protocol-version": INITIALIZE.protocolVersion,
        },
      });
      outgoing.on("error", reject);
      outgoing.on("response", (response) => gather(response, resolve));
      outgoing.end(body);
    });
  }
}

function gather(response: IncomingMessage, done: (body: string) => void): void {
  const isStream = response.headers["content-type"] === "text/event-stream";
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("end", () => {
    const [only] = chunks;
    const text = (chunks.length === 1 && only ? only : Buffer.concat(chunks)).toString("utf8");
    done(isStream ? text.slice(text.indexOf("data: ") + 6) : text);
  });
}
