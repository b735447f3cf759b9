// The HTTP answer to one JSON-RPC request: plain JSON, or an event stream once another message goes before the response.
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import type { Behaviour } from "./behaviour.js";
import type { Host, RequestId } from "./host.js";
import { isRequestId, type ScriptedPeer } from "./peer.js";

class HttpAnswer {
  readonly #response: ServerResponse;
  readonly #id: RequestId;

  /** `isStream`: as events even where plain JSON would do, with a first event that only sets an id. */
  constructor(response: ServerResponse, id: RequestId, isStream = false) {
    this.#response = response;
    this.#id = id;
    if (!isStream) return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`id: ${String(id)}_0\ndata:\n\n`);
  }

  send(message: JsonObject): void {
    if (this.#response.writableEnded) return; // a duplicate reply has nowhere to go over HTTP
    const isResponse = message["id"] === this.#id && message["method"] === undefined;
    if (isResponse && !this.#response.headersSent) {
      this.#response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
      return;
    }
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "text/event-stream" });
    this.#response.write(eventText(message));
    if (isResponse) this.#response.end();
  }

  /** A gateway that answers with its own page: 200, and a body that is no message. */
  garbage(text: string): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "application/json" });
    this.#response.end(text);
  }

  cut(): void {
    this.#response.destroy();
  }
}

export function eventText(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

export interface HttpSessionOptions {
  /** Answers as event streams even where plain JSON would do. */
  readonly streamsAnswers?: boolean;
  /** Offers a stream for GET; what belongs to no request goes there. Otherwise GET gets 405. */
  readonly hasListenStream?: boolean;
  /** Asks the client on the standing stream only, and drops what it would ask while there is none, as SDK servers do. */
  readonly asksOnListenStream?: boolean;
}

export type OpenPeer = (send: Host["send"], cut: () => void, garbage?: Host["garbage"]) => ScriptedPeer;

interface HttpSession {
  readonly peer: ScriptedPeer;
  readonly answers: Map<RequestId, HttpAnswer>;
  stream: ServerResponse | undefined;
}

export class HttpSessions {
  readonly #sessions = new Map<string, HttpSession>();
  readonly #options: HttpSessionOptions;
  readonly #openPeer: OpenPeer;
  readonly #bug: (error: unknown) => void;

  constructor(options: HttpSessionOptions, openPeer: OpenPeer, bug: (error: unknown) => void) {
    this.#options = options;
    this.#openPeer = openPeer;
    this.#bug = bug;
  }

  get count(): number {
    return this.#sessions.size;
  }

  get peers(): readonly ScriptedPeer[] {
    return [...this.#sessions.values()].map(({ peer }) => peer);
  }

  get streams(): readonly ServerResponse[] {
    return [...this.#sessions.values()].flatMap(({ stream }) => (stream ? [stream] : []));
  }

  async receive(request: IncomingMessage, response: ServerResponse, message: JsonObject | undefined): Promise<void> {
    if (request.method === "GET" && this.#options.hasListenStream) return this.#openStream(request, response);
    if (request.method === "DELETE") return await this.#delete(request, response);
    if (request.method !== "POST") return refuse(response, 405, "only POST and DELETE");
    if (!message) return refuse(response, 400, "the body is no JSON-RPC message");
    this.#post(request, response, message);
  }

  async forget(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  #post(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const { id, method } = message;
    const sessionId = method === "initialize" ? this.#open() : sessionIdOf(request);
    if (sessionId === undefined) return refuse(response, 400, "Mcp-Session-Id is missing");
    const session = this.#sessions.get(sessionId);
    if (!session) return refuse(response, 404, "session not found");
    if (method === "initialize") response.setHeader("mcp-session-id", sessionId);
    if (typeof method === "string" && isRequestId(id)) {
      session.answers.set(id, new HttpAnswer(response, id, this.#options.streamsAnswers));
      response.on("close", () => session.answers.delete(id));
    } else response.writeHead(202).end();
    session.peer.receive(message);
  }

  #openStream(request: IncomingMessage, response: ServerResponse): void {
    const session = this.#sessions.get(sessionIdOf(request) ?? "");
    if (!session) return refuse(response, 404, "session not found");
    if (session.stream) return refuse(response, 409, "only one stream a session");
    session.stream = response;
    response.on("close", () => {
      if (session.stream === response) session.stream = undefined;
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": open\n\n");
  }

  async #delete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sessionId = sessionIdOf(request);
    if (sessionId === undefined || !this.#sessions.has(sessionId)) return refuse(response, 404, "session not found");
    await this.#end(sessionId);
    response.writeHead(200).end();
  }

  #open(): string {
    const sessionId = randomUUID();
    const answers = new Map<RequestId, HttpAnswer>();
    const send: Host["send"] = (message, replyTo) => {
      const isAsking = message["method"] !== undefined && message["id"] !== undefined;
      const isForStream = replyTo === undefined || (isAsking && this.#options.asksOnListenStream === true);
      if (isForStream) session.stream?.write(eventText(message));
      else answers.get(replyTo)?.send(message);
    };
    const garbage: Host["garbage"] = (text, replyTo) =>
      replyTo === undefined ? undefined : answers.get(replyTo)?.garbage(text);
    const cut = () => {
      for (const answer of answers.values()) answer.cut();
      session.stream?.destroy();
      this.#end(sessionId).catch(this.#bug);
    };
    const session: HttpSession = { peer: this.#openPeer(send, cut, garbage), answers, stream: undefined };
    this.#sessions.set(sessionId, session);
    return sessionId;
  }

  async #end(sessionId: string): Promise<void> {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    session?.stream?.end();
    await session?.peer.close();
  }
}

function sessionIdOf(request: IncomingMessage): string | undefined {
  const header = request.headers["mcp-session-id"];
  return typeof header === "string" ? header : undefined;
}

export function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

interface SseSession {
  readonly peer: ScriptedPeer;
  readonly stream: ServerResponse;
}

/** What sends on a session's stream. */
export type SseSend = (message: JsonObject) => void;

export class SseSessions {
  readonly #sessions = new Map<string, SseSession>();
  readonly #openPeer: (send: SseSend, cut: () => void) => ScriptedPeer;

  constructor(openPeer: (send: SseSend, cut: () => void) => ScriptedPeer) {
    this.#openPeer = openPeer;
  }

  get count(): number {
    return this.#sessions.size;
  }

  open(response: ServerResponse): void {
    const sessionId = randomUUID();
    const send = (message: JsonObject) => response.write(eventText(message));
    const peer = this.#openPeer(send, () => response.destroy());
    this.#sessions.set(sessionId, { peer, stream: response });
    response.on("close", () => this.#sessions.delete(sessionId));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`event: endpoint\ndata: /message?sessionId=${sessionId}\n\n`);
  }

  receive(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const sessionId = new URL(request.url ?? "/", "http://localhost").searchParams.get("sessionId") ?? "";
    const session = this.#sessions.get(sessionId);
    if (!session) {
      response.writeHead(404, { "content-type": "text/plain" }).end("Session not found");
      return;
    }
    response.writeHead(202).end("Accepted");
    session.peer.receive(message);
  }

  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const { stream } of sessions) stream.end();
    await Promise.all(sessions.map(({ peer }) => peer.close()));
  }
}

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
