// A scripted MCP server behind a URL: Streamable HTTP at /mcp, the older HTTP+SSE at /sse. Runs inside the checker.
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type JsonObject, parseJson } from "../../../base/json/json.js";
import { type Listening, listen, readBody } from "../http.js";
import { MemoryLog } from "./log.js";
import { ServerProtocol } from "./protocol.js";
import type { ServerScript } from "./script.js";

const JSON_TYPE = { "content-type": "application/json" };

export class RemoteServer implements AsyncDisposable {
  readonly log: MemoryLog = new MemoryLog();
  readonly #protocol: ServerProtocol;
  readonly #script: ServerScript;
  /** Open event streams of HTTP+SSE, by session. */
  readonly #streams = new Map<string, ServerResponse>();
  #listening: Listening | undefined;

  constructor(script: ServerScript) {
    this.#script = script;
    this.#protocol = new ServerProtocol(script, {
      record: this.log.record,
      crash: () => this.#listening?.dropConnections(),
    });
  }

  async open(): Promise<void> {
    this.#listening = await listen((request, response) => this.#serve(request, response));
  }

  urlOf(type: "http" | "sse"): string {
    return `${this.#listening?.origin ?? ""}/${type === "http" ? "mcp" : "sse"}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listening?.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    this.log.record("headers", { value: request.headers["x-acp-check"]?.toString() ?? "" });
    if (this.#script.failure !== undefined) response.writeHead(500).end(this.#script.failure);
    else if (url.pathname === "/sse" && request.method === "GET") this.#openStream(response);
    else if (url.pathname === "/messages") await this.#postToStream(url, request, response);
    else if (url.pathname === "/mcp") await this.#streamable(request, response);
    else response.writeHead(request.method === "GET" ? 404 : 405).end();
  }

  async #streamable(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "DELETE") {
      this.log.record("session_deleted");
      response.writeHead(200).end();
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(405, { allow: "POST, DELETE" }).end();
      return;
    }
    const parsed = parseJson(await readBody(request));
    const answer = parsed.ok ? await this.#protocol.receive(parsed.value) : undefined;
    if (!answer) {
      response.writeHead(parsed.ok ? 202 : 400).end();
      return;
    }
    const isNew = isInitializeAnswer(answer);
    response.writeHead(200, isNew ? { ...JSON_TYPE, "mcp-session-id": randomUUID() } : JSON_TYPE);
    response.end(JSON.stringify(answer));
  }

  #openStream(response: ServerResponse): void {
    const session = randomUUID();
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.write(`event: endpoint\ndata: /messages?session=${session}\n\n`);
    this.#streams.set(session, response);
    response.once("close", () => {
      this.#streams.delete(session);
      this.log.record("session_deleted");
    });
  }

  async #postToStream(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const stream = this.#streams.get(url.searchParams.get("session") ?? "");
    const parsed = parseJson(await readBody(request));
    response.writeHead(stream && parsed.ok ? 202 : 404).end();
    const answer = stream && parsed.ok ? await this.#protocol.receive(parsed.value) : undefined;
    if (answer) stream?.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
  }
}

function isInitializeAnswer(answer: JsonObject): boolean {
  const { result } = answer;
  return typeof result === "object" && result !== null && "protocolVersion" in result;
}
