// The scripted MCP server over Streamable HTTP on a loopback port.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { Feed, type WaitOptions } from "../feed.js";
import { closeListener, listenOnLoopback, readBody } from "../loopback.js";
import type { HeldCall } from "./answers.js";
import type { Behaviour } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";
import { assertPossible, type HostLimits } from "./host.js";
import { type FaultMatch, type HttpFault, HttpFaults } from "./http-faults.js";
import {
  eventText,
  type HttpSessionOptions,
  HttpSessions,
  isModernPost,
  ModernPosts,
  refuse,
} from "./http-sessions.js";
import { InProcessServer } from "./in-process-server.js";

const LIMITS: HostLimits = {
  place: "over HTTP: it has no process and no stream of lines",
  steps: ["stderr", "stderr_flood", "spawn_children", "huge_line"],
  replies: [],
  fields: ["garbageBetween", "ignoresEof", "ignoresSigterm", "recordFile", "recordEnv", "maxLifetimeMs"],
};

export interface HttpServerOptions extends HttpSessionOptions {
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
    this.#sessions = new HttpSessions(
      options,
      (host) => this.#inProcess.openPeer(host),
      (error) => this.#inProcess.bug(error),
    );
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
    return this.#sessions.count;
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
      this.#modern ??= new ModernPosts((host) => this.#inProcess.openPeer(host, "modern"));
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

/** Listens on 127.0.0.1, on a port of the system's choice. */
export async function scriptedHttpServer(
  behaviour: Behaviour,
  options?: HttpServerOptions,
): Promise<ScriptedHttpServer> {
  return await ScriptedHttpServer.start(behaviour, options);
}
