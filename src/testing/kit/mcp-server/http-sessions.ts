// The conversations of a scripted HTTP server: sessions of the legacy era, of HTTP+SSE, and the single requests of the modern era.
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import type { Behaviour } from "./behaviour.js";
import type { Host, RequestId } from "./host.js";
import { isRequestId, type ScriptedPeer } from "./peer.js";

const META = "io.modelcontextprotocol/";
const SUBSCRIPTION = `${META}subscriptionId`;
const HEADER_MISMATCH = -32020;
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  [HEADER_MISMATCH]: 400,
  [-32021]: 400,
  [-32022]: 400,
  [-32601]: 404,
};
const EVENT_STREAM = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };

export interface HttpSessionOptions {
  /** Answers as event streams even where plain JSON would do. */
  readonly streamsAnswers?: boolean;
  /** Offers a stream for GET; messages that belong to no request go there. Otherwise GET gets 405. */
  readonly hasListenStream?: boolean;
  /** Asks the client on the standing stream only, and drops its questions while there is none, as SDK servers do. */
  readonly asksOnListenStream?: boolean;
}

export type OpenPeer = (host: Pick<Host, "send" | "garbage" | "crash">) => ScriptedPeer;

/** The HTTP response to one JSON-RPC request: plain JSON, or an event stream once another message goes before the answer. */
class HttpAnswer {
  readonly #response: ServerResponse;
  /** The id that the peer knows the request by, and the client's own. */
  readonly #peerId: RequestId;
  readonly #clientId: JsonValue;

  constructor(response: ServerResponse, peerId: RequestId, clientId: JsonValue = peerId) {
    this.#response = response;
    this.#peerId = peerId;
    this.#clientId = clientId;
  }

  send(message: JsonObject): void {
    const response = this.#response;
    if (response.writableEnded) return; // a duplicate reply has nowhere to go over HTTP
    const isAnswer = message["id"] === this.#peerId && message["method"] === undefined;
    const isModern = this.#clientId !== this.#peerId;
    const readdressed = isModern ? this.#readdressed(message, isAnswer) : message;
    if (isAnswer && !response.headersSent) {
      const status = isModern ? statusOf(message) : 200;
      response.writeHead(status, JSON_TYPE).end(JSON.stringify(readdressed));
      return;
    }
    if (!response.headersSent) response.writeHead(200, EVENT_STREAM);
    response.write(eventText(readdressed));
    if (isAnswer) response.end();
  }

  /** As events even where plain JSON would do, with a first event that only sets an id. */
  beginStream(): void {
    this.#response.writeHead(200, EVENT_STREAM).write(`id: ${this.#peerId}_0\ndata:\n\n`);
  }

  /** A gateway that answers with its own page: 200, and a body that is no message. */
  garbage(text: string): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, JSON_TYPE);
    this.#response.end(text);
  }

  cut(): void {
    this.#response.destroy();
  }

  #readdressed(message: JsonObject, isAnswer: boolean): JsonObject {
    const part = isAnswer ? "result" : "params";
    const body = message[part];
    const meta = isJsonObject(body) ? body["_meta"] : undefined;
    const isTagged = isJsonObject(meta) && meta[SUBSCRIPTION] !== undefined;
    return {
      ...message,
      ...(isAnswer && { id: this.#clientId }),
      ...(isTagged &&
        isJsonObject(body) && { [part]: { ...body, _meta: { ...meta, [SUBSCRIPTION]: this.#clientId } } }),
    };
  }
}

interface HttpSession {
  readonly peer: ScriptedPeer;
  readonly answers: Map<RequestId, HttpAnswer>;
  /** The standing stream, while the client has one open. */
  readonly channel: { stream: ServerResponse | undefined };
}

/** Sessions of Streamable HTTP and of the older HTTP+SSE, whose one stream carries everything. */
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
    return [...this.#sessions.values()].flatMap(({ channel: { stream } }) => stream ?? []);
  }

  async receive(request: IncomingMessage, response: ServerResponse, message: JsonObject | undefined): Promise<void> {
    if (request.method === "GET" && this.#options.hasListenStream) return this.#openListenStream(request, response);
    if (request.method === "DELETE") return await this.#delete(request, response);
    if (request.method !== "POST") return refuse(response, 405, "only POST and DELETE");
    if (!message) return refuse(response, 400, "the body is no JSON-RPC message");
    this.#post(request, response, message);
  }

  /** HTTP+SSE: the stream names the endpoint for the client's messages. */
  openSse(response: ServerResponse): void {
    response.writeHead(200, EVENT_STREAM);
    const [sessionId] = this.#open(response);
    response.write(`event: endpoint\ndata: /message?sessionId=${sessionId}\n\n`);
    response.on("close", () => this.#sessions.delete(sessionId));
  }

  receiveSse(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const sessionId = new URL(request.url ?? "/", "http://localhost").searchParams.get("sessionId") ?? "";
    const session = this.#sessions.get(sessionId);
    if (!session) {
      response.writeHead(404, { "content-type": "text/plain" }).end("Session not found");
      return;
    }
    response.writeHead(202).end("Accepted");
    session.peer.receive(message);
  }

  async forget(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  #post(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const { id, method } = message;
    const sessionId = method === "initialize" ? this.#open()[0] : sessionIdOf(request);
    if (sessionId === undefined) return refuse(response, 400, "Mcp-Session-Id is missing");
    const session = this.#sessions.get(sessionId);
    if (!session) return refuse(response, 404, "session not found");
    if (method === "initialize") response.setHeader("mcp-session-id", sessionId);
    if (typeof method === "string" && isRequestId(id)) {
      const answer = new HttpAnswer(response, id);
      if (this.#options.streamsAnswers) answer.beginStream();
      session.answers.set(id, answer);
      response.on("close", () => session.answers.delete(id));
    } else response.writeHead(202).end();
    session.peer.receive(message);
  }

  #openListenStream(request: IncomingMessage, response: ServerResponse): void {
    const session = this.#sessions.get(sessionIdOf(request) ?? "");
    if (!session) return refuse(response, 404, "session not found");
    if (session.channel.stream) return refuse(response, 409, "only one stream a session");
    session.channel.stream = response;
    response.on("close", () => {
      if (session.channel.stream === response) session.channel.stream = undefined;
    });
    response.writeHead(200, EVENT_STREAM).write(": open\n\n");
  }

  async #delete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sessionId = sessionIdOf(request);
    if (sessionId === undefined || !this.#sessions.has(sessionId)) return refuse(response, 404, "session not found");
    await this.#end(sessionId);
    response.writeHead(200).end();
  }

  /** `sse`: the stream of an HTTP+SSE session. */
  #open(sse?: ServerResponse): readonly [id: string, session: HttpSession] {
    const sessionId = randomUUID();
    const answers = new Map<RequestId, HttpAnswer>();
    const channel: HttpSession["channel"] = { stream: sse };
    const peer = this.#openPeer({
      send: (message, replyTo) => {
        const isAsking = message["method"] !== undefined && message["id"] !== undefined;
        const isForStream = sse !== undefined || (isAsking && this.#options.asksOnListenStream === true);
        if (replyTo === undefined || isForStream) channel.stream?.write(eventText(message));
        else answers.get(replyTo)?.send(message);
      },
      garbage: (text, replyTo) => replyTo !== undefined && answers.get(replyTo)?.garbage(text),
      crash: () => {
        for (const answer of answers.values()) answer.cut();
        channel.stream?.destroy();
        this.#end(sessionId).catch(this.#bug);
      },
    });
    const session = { peer, answers, channel };
    this.#sessions.set(sessionId, session);
    return [sessionId, session];
  }

  async #end(sessionId: string): Promise<void> {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    session?.channel.stream?.end();
    await session?.peer.close();
  }
}

/**
 * Requests of the modern era. Clients number their requests alike, and here all of them meet at one peer: so each POST
 * gets an id of our own, which is put back in what is sent.
 */
export class ModernPosts {
  readonly #posts = new Map<RequestId, HttpAnswer>();
  readonly #peer: ScriptedPeer;
  #count = 0;

  constructor(openPeer: OpenPeer) {
    const find = (replyTo: RequestId | undefined) => (replyTo === undefined ? undefined : this.#posts.get(replyTo));
    this.#peer = openPeer({
      send: (message, replyTo) => find(replyTo)?.send(message),
      garbage: (text, replyTo) => find(replyTo)?.garbage(text),
      crash: () => {
        for (const post of this.#posts.values()) post.cut();
      },
    });
  }

  get peer(): ScriptedPeer {
    return this.#peer;
  }

  receive(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const { id } = message;
    if (id === undefined) {
      response.writeHead(202).end();
      this.#peer.receive(message);
      return;
    }
    const own = `post-${++this.#count}`;
    const post = new HttpAnswer(response, own, id);
    const problem = headerProblem(request, message);
    if (problem !== undefined) {
      post.send({ jsonrpc: "2.0", id: own, error: { code: HEADER_MISMATCH, message: problem } });
      return;
    }
    this.#posts.set(own, post);
    response.on("close", () => {
      this.#posts.delete(own);
      // Leaving is how a modern client cancels.
      if (!response.writableFinished) {
        this.#peer.receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: own } });
      }
    });
    this.#peer.receive({ ...message, id: own });
  }
}

/** Whether this POST is for the modern side of a server. */
export function isModernPost(behaviour: Behaviour, request: IncomingMessage, message: JsonObject): boolean {
  if (behaviour.era === "modern") return true;
  if (behaviour.era !== "dual" || request.headers["mcp-session-id"] !== undefined) return false;
  return claimOf(message) !== undefined;
}

function statusOf({ error }: JsonObject): number {
  if (!isJsonObject(error) || typeof error["code"] !== "number") return 200;
  return STATUS_OF_CODE[error["code"]] ?? 200;
}

/** Which header does not match the body, or is missing. */
function headerProblem({ headers }: IncomingMessage, message: JsonObject): string | undefined {
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

function sessionIdOf(request: IncomingMessage): string | undefined {
  const header = request.headers["mcp-session-id"];
  return typeof header === "string" ? header : undefined;
}

export function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } });
  response.writeHead(status, JSON_TYPE).end(body);
}

export function eventText(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
