// The scripted MCP server over Streamable HTTP on a loopback port.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.js";
import { Feed, type WaitOptions } from "../feed.js";
import { closeListener, listenOnLoopback, readBody } from "../loopback.js";
import type { Behaviour } from "./behaviour.js";
import { parseBehaviour } from "./check-behaviour.js";
import type { HeldCall } from "./held-call.js";
import { assertPossible, type HostLimits, type RequestId } from "./host.js";
import { HttpAnswer } from "./http-answer.js";
import { impossibleHere, ownFacts, realAfter } from "./in-process-host.js";
import { isRequestId, ScriptedPeer } from "./peer.js";

const LIMITS: HostLimits = {
  place: "over HTTP: it has no process and no stream of lines",
  steps: ["stderr", "stderr_flood", "spawn_children", "huge_line"],
  replies: [],
  fields: ["garbageBetween", "ignoresEof", "ignoresSigterm", "recordFile", "maxLifetimeMs"],
};

export interface HttpServerOptions {
  /** Requests without `Authorization: Bearer <this>` get 401. */
  readonly bearer?: string;
}

export interface HttpRequestRecord {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly message: JsonObject | undefined;
}

interface HttpSession {
  readonly peer: ScriptedPeer;
  readonly answers: Map<RequestId, HttpAnswer>;
}

export class ScriptedHttpServer implements AsyncDisposable {
  /** Where the client under test connects to. */
  readonly url: string;
  readonly #server: Server;
  readonly #behaviour: Behaviour;
  readonly #options: HttpServerOptions;
  readonly #sessions = new Map<string, HttpSession>();
  readonly #requests = new Feed<HttpRequestRecord>("HTTP request");
  readonly #calls = new Feed<HeldCall>("call of a held tool");
  readonly #taken = new Set<HeldCall>();
  readonly #bugs: unknown[] = [];

  private constructor(server: Server, url: string, behaviour: Behaviour, options: HttpServerOptions) {
    this.#server = server;
    this.url = url;
    this.#behaviour = behaviour;
    this.#options = options;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#handle(request, response).catch((error: unknown) => {
        this.#bugs.push(error);
        response.destroy();
      });
    });
  }

  static async start(behaviour: Behaviour, options: HttpServerOptions = {}): Promise<ScriptedHttpServer> {
    const checked = parseBehaviour(behaviour);
    assertPossible(checked, LIMITS);
    const server = createServer();
    const origin = await listenOnLoopback(server);
    return new ScriptedHttpServer(server, `${origin}/mcp`, checked, options);
  }

  get requests(): readonly HttpRequestRecord[] {
    return this.#requests.items;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** The first request whose message has that method. */
  async awaitMessage(method: string, options?: WaitOptions): Promise<HttpRequestRecord> {
    return await this.#requests.find(({ message }) => message?.["method"] === method, options);
  }

  /** The next call of a `held` tool that nobody has taken yet. */
  async awaitCall(toolName?: string, options?: WaitOptions): Promise<HeldCall> {
    const isNext = (call: HeldCall) => !this.#taken.has(call) && (toolName === undefined || call.name === toolName);
    const call = await this.#calls.find(isNext, options);
    this.#taken.add(call);
    return call;
  }

  /** Lets a step `{do: "hold", name}` go on in every session. */
  release(name: string): void {
    for (const { peer } of this.#sessions.values()) peer.release(name);
  }

  /** Every session id is unknown from now on, as after a restart: clients get 404. */
  async forgetSessions(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#endSession(id)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.forgetSessions();
    await closeListener(this.#server);
    const ended = new Error("the scripted server is closed");
    this.#requests.end(ended);
    this.#calls.end(ended);
    if (this.#bugs.length > 0) throw new AggregateError(this.#bugs, "the scripted server failed");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const parsed = body === "" ? undefined : parseJson(body);
    const message = parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
    this.#requests.push({ method: request.method ?? "", headers: request.headers, message });
    const { bearer } = this.#options;
    if (bearer !== undefined && request.headers.authorization !== `Bearer ${bearer}`) {
      response.setHeader("www-authenticate", "Bearer");
      return refuse(response, 401, "unauthorized");
    }
    if (new URL(request.url ?? "/", this.url).pathname !== "/mcp") return refuse(response, 404, "no such path");
    if (request.method === "DELETE") return await this.#delete(request, response);
    if (request.method !== "POST") return refuse(response, 405, "only POST and DELETE");
    if (!message) return refuse(response, 400, "the body is no JSON-RPC message");
    this.#post(request, response, message);
  }

  #post(request: IncomingMessage, response: ServerResponse, message: JsonObject): void {
    const { id, method } = message;
    const sessionId = method === "initialize" ? this.#openSession() : sessionIdOf(request);
    if (sessionId === undefined) return refuse(response, 400, "Mcp-Session-Id is missing");
    const session = this.#sessions.get(sessionId);
    if (!session) return refuse(response, 404, "session not found");
    if (method === "initialize") response.setHeader("mcp-session-id", sessionId);
    if (typeof method === "string" && isRequestId(id)) {
      session.answers.set(id, new HttpAnswer(response, id));
      response.on("close", () => session.answers.delete(id));
    } else response.writeHead(202).end();
    session.peer.receive(message);
  }

  async #delete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sessionId = sessionIdOf(request);
    if (sessionId === undefined || !this.#sessions.has(sessionId)) return refuse(response, 404, "session not found");
    await this.#endSession(sessionId);
    response.writeHead(200).end();
  }

  #openSession(): string {
    const sessionId = randomUUID();
    const answers = new Map<RequestId, HttpAnswer>();
    const peer = new ScriptedPeer(this.#behaviour, {
      ...impossibleHere,
      // Without a request there is no stream to send on: this server offers none for GET.
      send: (message, replyTo) => (replyTo === undefined ? undefined : answers.get(replyTo)?.send(message)),
      garbage: (text, replyTo) => (replyTo === undefined ? undefined : answers.get(replyTo)?.garbage(text)),
      after: realAfter,
      crash: () => {
        for (const answer of answers.values()) answer.cut();
        this.#endSession(sessionId).catch((error: unknown) => this.#bugs.push(error));
      },
      facts: ownFacts,
      hold: (call) => this.#calls.push(call),
      bug: (error) => this.#bugs.push(error),
    });
    this.#sessions.set(sessionId, { peer, answers });
    return sessionId;
  }

  async #endSession(sessionId: string): Promise<void> {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    await session?.peer.close();
  }
}

/** Listens on 127.0.0.1, on a port of the system's choice. */
export async function scriptedHttpServer(
  behaviour: Behaviour,
  options?: HttpServerOptions,
): Promise<ScriptedHttpServer> {
  return await ScriptedHttpServer.start(behaviour, options);
}

function sessionIdOf(request: IncomingMessage): string | undefined {
  const header = request.headers["mcp-session-id"];
  return typeof header === "string" ? header : undefined;
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
