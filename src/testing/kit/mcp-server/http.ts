// The scripted MCP server over Streamable HTTP on a loopback port.

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import { Feed, type WaitOptions } from "../feed.js";
import { closeListener, listenOnLoopback, readBody } from "../loopback.js";
import type { HeldCall } from "./answers.js";
import type { Behaviour } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";
import { assertPossible, type HostLimits, type RequestId } from "./host.js";
import { type FaultMatch, type HttpFault, HttpFaults } from "./http-faults.js";
import { InProcessServer, isRequestId, paramsOf, type ScriptedPeer } from "./peer.js";

const LIMITS: HostLimits = {
  place: "over HTTP: it has no process and no stream of lines",
  steps: ["stderr", "stderr_flood", "spawn_children", "huge_line"],
  replies: [],
  fields: ["garbageBetween", "ignoresEof", "ignoresSigterm", "recordFile", "recordEnv", "maxLifetimeMs"],
};

export interface HttpServerOptions {
  /** Answers as event streams even where plain JSON would do. */
  readonly streamsAnswers?: boolean;
  /** Offers a stream for GET; messages that belong to no request go there. Otherwise GET gets 405. */
  readonly hasListenStream?: boolean;
  /** Asks the client on the standing stream only, and drops its questions while there is none, as SDK servers do. */
  readonly asksOnListenStream?: boolean;
  /** Requests without `Authorization: Bearer <this>` get 401. */
  readonly bearer?: string;
  /** Where it listens; 127.0.0.1 when left out. */
  readonly address?: string;
  /** Looks at every request first, and answers those it does not let through: true when it has. */
  readonly gate?: HttpGate;
  /** `sse` is the older HTTP+SSE transport; Streamable HTTP when left out. */
  readonly transport?: "streamable" | "sse";
}

export type HttpGate = (request: IncomingMessage, response: ServerResponse, message: JsonObject | undefined) => boolean;

export interface HttpRequestRecord {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** When it came, on the clock of `performance.now()`. */
  readonly atMs: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly message: JsonObject | undefined;
}

/**
 * A scripted server over HTTP on a loopback port.
 *
 * @example
 * await using server = await scriptedHttpServer({ tools: [echoTool()] });
 */
export class ScriptedHttpServer implements AsyncDisposable {
  /** Where the client under test connects to. */
  readonly url: string;
  readonly #server: Server;
  readonly #behaviour: Behaviour;
  readonly #options: HttpServerOptions;
  readonly #sessions: HttpSessions;
  readonly #requests = new Feed<HttpRequestRecord>("HTTP request");
  readonly #inProcess: InProcessServer;
  readonly #faults = new HttpFaults<HttpRequestRecord>();
  #modern: ModernPosts | undefined;
  #openAnswers = 0;

  private constructor(server: Server, url: string, behaviour: Behaviour, options: HttpServerOptions) {
    this.#server = server;
    this.url = url;
    this.#behaviour = behaviour;
    this.#options = options;
    this.#inProcess = new InProcessServer(behaviour);
    this.#sessions = new HttpSessions(options, this.#inProcess);
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#openAnswers += 1;
      response.on("close", () => (this.#openAnswers -= 1));
      this.#handle(request, response).catch((error: unknown) => {
        this.#inProcess.bug(error);
        response.destroy();
      });
    });
  }

  static async start(behaviour: Behaviour, options: HttpServerOptions = {}): Promise<ScriptedHttpServer> {
    const checked = parseBehaviour(behaviour);
    assertPossible(checked, LIMITS);
    const server = createServer();
    server.on("error", () => {}); // for lack of file descriptors: listening rejects with it
    const origin = await listenOnLoopback(server, options.address);
    return new ScriptedHttpServer(
      server,
      `${origin}${options.transport === "sse" ? "/sse" : "/mcp"}`,
      checked,
      options,
    );
  }

  get requests(): readonly HttpRequestRecord[] {
    return this.#requests.items;
  }

  get sessionCount(): number {
    return this.#sessions.peers.length;
  }

  /** Requests whose answer has not ended, standing streams among them. */
  get openAnswers(): number {
    return this.#openAnswers;
  }

  /** Deals with matching requests in this way instead: each of them, or so many. */
  misbehave({ http, method }: FaultMatch, fault: HttpFault, times?: number): void {
    const fits = ({ method: used, message }: HttpRequestRecord) =>
      (http === undefined || http === used) && (method === undefined || method === message?.["method"]);
    this.#faults.plant(fits, fault, times);
  }

  /** Behaves again. */
  behave(): void {
    this.#faults.clear();
  }

  /** Ends every standing stream; the sessions go on. */
  endStreams(): void {
    for (const stream of this.#sessions.streams) stream.end();
  }

  /** A notification that belongs to no request, in every session. */
  announce(method: string, params?: JsonObject): void {
    for (const peer of this.#sessions.peers) peer.notify(method, params);
  }

  /** Any message, on every standing stream. */
  announceRaw(message: JsonObject): void {
    for (const stream of this.#sessions.streams) stream.write(eventText(message));
  }

  /** The first HTTP request that passes. */
  async awaitRequest(test: (request: HttpRequestRecord) => boolean, options?: WaitOptions): Promise<HttpRequestRecord> {
    return await this.#requests.find(test, options);
  }

  /** The first request whose message has that method. */
  async awaitMessage(method: string, options?: WaitOptions): Promise<HttpRequestRecord> {
    return await this.#requests.find(({ message }) => message?.["method"] === method, options);
  }

  /** The next call of a `held` tool that has not been taken yet. */
  async awaitCall(toolName?: string, options?: WaitOptions): Promise<HeldCall> {
    return await this.#inProcess.awaitCall(toolName, options);
  }

  /** Lets a step `{do: "hold", name}` go on in every session. */
  release(name: string): void {
    this.#modern?.peer.release(name);
    for (const peer of this.#sessions.peers) peer.release(name);
  }

  /** Every session id is unknown from now on, as after a restart: clients get 404. */
  async forgetSessions(): Promise<void> {
    await this.#sessions.forget();
  }

  /** No task is known any more, as after a restart that lost everything. */
  forgetTasks(): void {
    this.#inProcess.tasks.forget();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.forgetSessions();
    await this.#modern?.peer.close();
    this.#faults.stop();
    await closeListener(this.#server);
    this.#inProcess.end(this.#requests);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const parsed = body === "" ? undefined : parseJson(body);
    const message = parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
    const { method = "", headers, url: path = "/" } = request;
    const record = { method, path, atMs: performance.now(), headers, message };
    this.#requests.push(record);
    if (this.#faults.strike(record, response)) return;
    const { bearer, gate } = this.#options;
    if (gate?.(request, response, message)) return;
    if (bearer !== undefined && request.headers.authorization !== `Bearer ${bearer}`) {
      response.setHeader("www-authenticate", "Bearer");
      return refuse(response, 401, "unauthorized");
    }
    const { pathname } = new URL(path, this.url);
    if (this.#options.transport === "sse") return this.#older(pathname, request, response, message);
    if (pathname !== "/mcp") return refuse(response, 404, "no such path");
    if (method === "POST" && message && isModernPost(this.#behaviour, request, message)) {
      this.#modern ??= new ModernPosts(this.#inProcess);
      return this.#modern.receive(request, response, message);
    }
    await this.#sessions.receive(request, response, message);
  }

  /** As servers of that transport do: an unknown place gets a page, not a JSON-RPC error. */
  #older(pathname: string, request: IncomingMessage, response: ServerResponse, message: JsonObject | undefined): void {
    if (pathname === "/sse" && request.method === "GET") this.#sessions.openSse(response);
    else if (pathname === "/message" && message) this.#sessions.receiveSse(request, response, message);
    else response.writeHead(404, { "content-type": "text/html" }).end("<pre>Cannot POST</pre>");
  }
}

/**
 * Listens on 127.0.0.1, on a port of the system's choice.
 *
 * @example
 * await using server = await scriptedHttpServer({ tools: [echoTool()] });
 */
export async function scriptedHttpServer(
  behaviour: Behaviour,
  options?: HttpServerOptions,
): Promise<ScriptedHttpServer> {
  return await ScriptedHttpServer.start(behaviour, options);
}

// The conversations of a scripted HTTP server: sessions of the legacy era, of HTTP+SSE, and the single requests of the modern era.

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
  readonly answers: Map<RequestId | undefined, HttpAnswer>;
  /** The standing stream, while the client has one open. */
  readonly channel: { stream: ServerResponse | undefined };
}

/** Sessions of Streamable HTTP and of the older HTTP+SSE, whose one stream carries everything. */
class HttpSessions {
  readonly #sessions = new Map<string, HttpSession>();
  readonly #options: HttpServerOptions;
  readonly #server: InProcessServer;

  constructor(options: HttpServerOptions, server: InProcessServer) {
    this.#options = options;
    this.#server = server;
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
    const sessionId = sessionIdOf(request) ?? "";
    if (!this.#sessions.has(sessionId)) return refuse(response, 404, "session not found");
    await this.#end(sessionId);
    response.writeHead(200).end();
  }

  /** `sse`: the stream of an HTTP+SSE session. */
  #open(sse?: ServerResponse): readonly [id: string, session: HttpSession] {
    const sessionId = randomUUID();
    const answers: HttpSession["answers"] = new Map();
    const channel: HttpSession["channel"] = { stream: sse };
    const peer = this.#server.openPeer({
      send: (message, replyTo) => {
        const isAsking = message["method"] !== undefined && message["id"] !== undefined;
        const isForStream = sse !== undefined || (isAsking && this.#options.asksOnListenStream === true);
        if (replyTo === undefined || isForStream) channel.stream?.write(eventText(message));
        else answers.get(replyTo)?.send(message);
      },
      garbage: (text, replyTo) => answers.get(replyTo)?.garbage(text),
      crash: () => {
        for (const answer of answers.values()) answer.cut();
        channel.stream?.destroy();
        this.#end(sessionId).catch((error: unknown) => this.#server.bug(error));
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
class ModernPosts {
  readonly #posts = new Map<RequestId | undefined, HttpAnswer>();
  readonly peer: ScriptedPeer;
  #count = 0;

  constructor(server: InProcessServer) {
    const host: Parameters<InProcessServer["openPeer"]>[0] = {
      send: (message, replyTo) => this.#posts.get(replyTo)?.send(message),
      garbage: (text, replyTo) => this.#posts.get(replyTo)?.garbage(text),
      crash: () => {
        for (const post of this.#posts.values()) post.cut();
      },
    };
    this.peer = server.openPeer(host, "modern");
  }

  receive(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const { id } = message;
    if (id === undefined) {
      response.writeHead(202).end();
      this.peer.receive(message);
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
        this.peer.receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: own } });
      }
    });
    this.peer.receive({ ...message, id: own });
  }
}

/** Whether this POST is for the modern side of a server. */
function isModernPost(behaviour: Behaviour, request: IncomingMessage, message: JsonObject): boolean {
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
  const params = paramsOf(message);
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
  const { _meta: meta } = paramsOf(message);
  const claim = isJsonObject(meta) ? meta[`${META}protocolVersion`] : undefined;
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

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } });
  response.writeHead(status, JSON_TYPE).end(body);
}

function eventText(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
