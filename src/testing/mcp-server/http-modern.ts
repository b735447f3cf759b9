// Modern requests over HTTP: no session, every POST by itself, headers that must say what the body says.
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { Behaviour } from "./behaviour.js";
import type { RequestId } from "./host.js";
import type { ScriptedPeer } from "./peer.js";

const META = "io.modelcontextprotocol/";
const SUBSCRIPTION = `${META}subscriptionId`;
const HEADER_MISMATCH = -32020;
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  [HEADER_MISMATCH]: 400,
  [-32021]: 400,
  [-32022]: 400,
  [-32601]: 404,
};

/** Whether this POST is for the modern side of a server. */
export function isModernPost(behaviour: Behaviour, request: IncomingMessage, message: JsonObject): boolean {
  if (behaviour.era === "modern") return true;
  if (behaviour.era !== "dual" || request.headers["mcp-session-id"] !== undefined) return false;
  return claimOf(message) !== undefined;
}

/**
 * Clients number their requests alike, and here all of them meet at one peer: so each POST gets an id of our own, which
 * is put back in what is sent.
 */
export class ModernPosts {
  readonly #posts = new Map<RequestId, ModernPost>();
  #count = 0;

  /** Where a message of the peer goes; undefined when the client has left, or it belongs to no request. */
  find(replyTo: RequestId | undefined): ModernPost | undefined {
    return replyTo === undefined ? undefined : this.#posts.get(replyTo);
  }

  get all(): readonly ModernPost[] {
    return [...this.#posts.values()];
  }

  receive(request: IncomingMessage, response: ServerResponse, message: JsonObject, peer: ScriptedPeer): void {
    const { id } = message;
    if (id === undefined) {
      response.writeHead(202).end();
      peer.receive(message);
      return;
    }
    const post = new ModernPost(response, id);
    const problem = headerProblem(request, message);
    if (problem !== undefined) {
      post.send({ jsonrpc: "2.0", id, error: { code: HEADER_MISMATCH, message: problem } });
      return;
    }
    const own = `post-${++this.#count}`;
    this.#posts.set(own, post);
    response.on("close", () => {
      this.#posts.delete(own);
      // Leaving is how a modern client cancels.
      if (!response.writableFinished) {
        peer.receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: own } });
      }
    });
    peer.receive({ ...message, id: own });
  }
}

class ModernPost {
  readonly #response: ServerResponse;
  readonly #id: JsonValue;

  constructor(response: ServerResponse, id: JsonValue) {
    this.#response = response;
    this.#id = id;
  }

  send(message: JsonObject): void {
    if (this.#response.writableEnded) return; // a duplicate reply has nowhere to go over HTTP
    const isResponse = message["method"] === undefined;
    const text = JSON.stringify(this.#readdressed(message, isResponse));
    if (isResponse && !this.#response.headersSent) {
      this.#response.writeHead(statusOf(message), { "content-type": "application/json" }).end(text);
      return;
    }
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "text/event-stream" });
    this.#response.write(`event: message\ndata: ${text}\n\n`);
    if (isResponse) this.#response.end();
  }

  garbage(text: string): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "application/json" });
    this.#response.end(text);
  }

  cut(): void {
    this.#response.destroy();
  }

  #readdressed(message: JsonObject, isResponse: boolean): JsonObject {
    const part = isResponse ? "result" : "params";
    const body = message[part];
    const meta = isJsonObject(body) ? body["_meta"] : undefined;
    const isTagged = isJsonObject(meta) && meta[SUBSCRIPTION] !== undefined;
    return {
      ...message,
      ...(isResponse && { id: this.#id }),
      ...(isTagged && isJsonObject(body) && { [part]: { ...body, _meta: { ...meta, [SUBSCRIPTION]: this.#id } } }),
    };
  }
}

function statusOf(message: JsonObject): number {
  const { error } = message;
  if (!isJsonObject(error) || typeof error["code"] !== "number") return 200;
  return STATUS_OF_CODE[error["code"]] ?? 200;
}

/** What the headers say wrongly, or leave out. */
function headerProblem(request: IncomingMessage, message: JsonObject): string | undefined {
  const { headers } = request;
  const params = isJsonObject(message["params"]) ? message["params"] : {};
  const claim = claimOf(message);
  if (claim === undefined) return undefined; // no envelope: the peer says so itself
  const { method } = message;
  const isOfTask = typeof method === "string" && method.startsWith("tasks/");
  const named = isOfTask ? params["taskId"] : method === "resources/read" ? params["uri"] : params["name"];
  const isNamed = isOfTask || ["tools/call", "prompts/get", "resources/read"].some((one) => one === method);
  if (headers["mcp-protocol-version"] !== claim) return "MCP-Protocol-Version does not say what the body says";
  if (headers["mcp-method"] !== method) return "Mcp-Method does not say what the body says";
  if (isNamed && decoded(headers["mcp-name"]) !== named) return "Mcp-Name does not say what the body says";
  return undefined;
}

function claimOf(message: JsonObject): string | undefined {
  const params = isJsonObject(message["params"]) ? message["params"] : {};
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const claim = meta[`${META}protocolVersion`];
  return typeof claim === "string" ? claim : undefined;
}

function decoded(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string") return undefined;
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(header) ?? [];
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString("utf8");
}
