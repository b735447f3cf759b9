// Clients over Streamable HTTP: who gets in, sessions of the older versions, and single requests of 2026-07-28.
import type { IncomingMessage, ServerResponse } from "node:http";
import { handled } from "../base/async/scope.js";
import { TenonError } from "../base/errors.js";
import { isJsonObject, type JsonObject, parseJson } from "../base/json/json.js";
import type { Timer, World } from "../base/ports/world.js";
import { SERVING, SERVING_HEADER } from "../base/serving.js";
import {
  addressOf,
  answer as answerText,
  type Entrance,
  Guard,
  isRefusal,
  type ListenAt,
  type ListeningPlace,
  type LiveTokens,
  preparePlace,
  readBody,
  refuse,
} from "../gateway/index.js";
import { LEGACY_VERSIONS, META, MODERN_VERSION } from "../mcp/index.js";
import { EventAnswer } from "./event-answer.js";
import { LegacyPeer, type RequestId } from "./legacy-peer.js";
import { SERVE_LIMITS } from "./limits.js";
import { isModern, ModernRequests } from "./modern-requests.js";
import type { ServedClient } from "./served-client.js";

export interface HttpServingOptions {
  readonly world: World;
  readonly listen: ListenAt;
  readonly tokens: LiveTokens;
  /** Names by which it is reached besides its address. */
  readonly hosts: readonly string[];
  readonly instructions: string;
  readonly open: (given: {
    readonly isModern: boolean;
    readonly capabilities: JsonObject;
    readonly name: string;
  }) => ServedClient;
}

/** A session of an older version. */
interface HttpSession {
  readonly id: string;
  readonly owner: string;
  readonly peer: LegacyPeer;
  readonly answers: Map<RequestId, EventAnswer>;
  /** The standing stream, while the client has one open. */
  stream: EventAnswer | undefined;
  idle: Timer | undefined;
}

const SESSION = "mcp-session-id";
const HEADER_MISMATCH = -32_020;
const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

export class HttpServing {
  readonly #options: HttpServingOptions;
  readonly #guard: Guard;
  readonly #modern: ModernRequests;
  readonly #sessions = new Map<string, HttpSession>();
  /** Sessions whose servers still end, with the token they were of. */
  readonly #closing = new Map<Promise<void>, string>();
  /** Requests of the modern era that are under way. */
  readonly #requests = new Map<AbortController, string>();
  #place: ListeningPlace | undefined;

  constructor(options: HttpServingOptions) {
    this.#options = options;
    const { world, tokens, hosts, instructions, open } = options;
    const audit = { write: (event: string, fields: object) => world.log.warn(`serve.${event}`, { ...fields }) };
    this.#guard = new Guard({ world, tokens, audit, hosts, onRefused: () => {} });
    this.#modern = new ModernRequests({
      world,
      instructions,
      open: (owner, capabilities, name) => {
        this.#takePlace(owner);
        return open({ isModern: true, capabilities, name });
      },
    });
    tokens.onGone((tokenId) => this.#forget(tokenId));
  }

  /** Resolves once it listens, with the address. */
  async start(): Promise<string> {
    const { world, listen } = this.#options;
    const prepared = await preparePlace(world, listen);
    this.#place = await prepared.listen((entrance) => ({
      onRequest: (request, response) => {
        handled(this.#receive(request, response, entrance), world.log, "request over HTTP");
      },
      onUpgrade: (_, socket) => socket.destroy(),
      onRefused: (reason, remote) => this.#guard.refuse(reason, remote),
    }));
    return this.#place.address;
  }

  async close(): Promise<void> {
    for (const request of this.#requests.keys()) request.abort();
    for (const session of this.#sessions.values()) this.#end(session);
    await this.#modern.close();
    await Promise.all(this.#closing.keys());
    await this.#place?.[Symbol.asyncDispose]();
  }

  async #receive(request: IncomingMessage, response: ServerResponse, entrance: Entrance): Promise<void> {
    response.on("error", () => {}); // the client is gone
    const path = (request.url ?? "/").split("?", 1)[0];
    const principal = this.#guard.admit(request, entrance);
    if (isRefusal(principal)) return refuse(response, principal);
    if (path !== "/mcp") return refuse(response, this.#guard.refuse("unknown_path", addressOf(request)));
    if (!principal.scopes.has("tools")) {
      return answerText(
        response,
        403,
        'This token lacks the scope "tools": tenon gateway token create NAME --scopes tools',
      );
    }
    const owner = principal.tokenId ?? principal.account;
    if (request.method === "POST") return await this.#post(request, response, owner);
    if (request.method !== "GET" && request.method !== "DELETE") {
      return answerText(response, 405, "Method Not Allowed", { allow: "POST, GET, DELETE" });
    }
    const session = this.#sessionOf(request, owner);
    if (!session) return refuseMessage(response, request.headers[SESSION] === undefined ? 400 : 404, null);
    if (request.method === "GET") return this.#openStream(response, session);
    this.#end(session);
    response.writeHead(204).end();
  }

  /** An entry with its own address among its servers: each client would be the next one's client. */
  #isAskedByItself({ headers }: IncomingMessage): boolean {
    const own = this.#options.world.env[SERVING]?.split(",").at(-1);
    const above = String(headers[SERVING_HEADER] ?? "").split(",");
    return own !== undefined && above.includes(own);
  }

  async #post(request: IncomingMessage, response: ServerResponse, owner: string): Promise<void> {
    const { bodyMaxBytes } = SERVE_LIMITS;
    const isAnnounced = Number(request.headers["content-length"] ?? 0) > bodyMaxBytes;
    if (request.headers.expect !== undefined && !isAnnounced) response.writeContinue();
    const body = isAnnounced ? undefined : await readBody(request, bodyMaxBytes);
    if (body === undefined) return answerText(response, 413, `A message has at most ${bodyMaxBytes} bytes`);
    const parsed = parseJson(body);
    if (!parsed.ok) {
      const [code, what] = parsed.isDeep ? [-32_600, "Invalid request"] : [-32_700, "Parse error"];
      return sendError(response, 400, { id: null, code, message: `${what}: ${parsed.reason}` });
    }
    const message = parsed.value;
    if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") {
      const words = "Invalid request: a message is one JSON-RPC 2.0 object; batches are not supported";
      return sendError(response, 400, { id: null, code: -32_600, message: words });
    }
    if (this.#isAskedByItself(request)) {
      this.#options.world.log.warn("serve.itself", { hint: "Its own address is among its servers." });
      const words = "this is asked by a `tenon mcp serve` of the same servers: take its own address out of them";
      return sendError(response, 400, { id: idOf(message), code: -32_000, message: words });
    }
    const version = request.headers["mcp-protocol-version"];
    const takesEvents = request.headers.accept === undefined || /event-stream|\*\/\*/u.test(request.headers.accept);
    const given = { message, owner, takesEvents };
    const isOfSession = request.headers[SESSION] !== undefined;
    if (!isOfSession && (isModern(message) || version === MODERN_VERSION)) {
      return await this.#single(request, response, given);
    }
    if (typeof version === "string" && !LEGACY_VERSIONS.includes(version)) {
      const words = `Unsupported protocol version: ${version.slice(0, 100)}`;
      return sendError(response, 400, { id: idOf(message), code: -32_000, message: words });
    }
    this.#sessionPost(request, response, given);
  }

  /** Of the modern era. Leaving is how its clients cancel. */
  async #single(request: IncomingMessage, response: ServerResponse, given: Posted): Promise<void> {
    const { world } = this.#options;
    const { message, owner, takesEvents } = given;
    const { id, method, params } = message;
    if (typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) {
      response.writeHead(method === undefined ? 400 : 202).end(); // notifications: nothing is known of any
      return;
    }
    const about = isJsonObject(params) ? params : {};
    const problem = headerProblem(request, method, about);
    if (problem !== undefined) return sendError(response, 400, { id, code: HEADER_MISMATCH, message: problem });
    const leaving = new AbortController();
    this.#requests.set(leaving, owner);
    const events = new EventAnswer(world, response, takesEvents);
    response.once("close", () => leaving.abort());
    if (method === "subscriptions/listen") events.begin();
    const notify = (told: string, body: JsonObject) => events.send({ jsonrpc: "2.0", method: told, params: body });
    const answer = await this.#modern.answer({ id, method, params: about, owner, signal: leaving.signal, notify });
    this.#requests.delete(leaving);
    events.answer(answer, true);
  }

  #sessionPost(request: IncomingMessage, response: ServerResponse, { message, owner, takesEvents }: Posted): void {
    const { id, method } = message;
    // Without an id nobody would hear the id of the session, and nothing would end it.
    const isBeginning = method === "initialize" && idOf(message) !== null && request.headers[SESSION] === undefined;
    const session = isBeginning ? this.#begin(owner) : this.#sessionOf(request, owner);
    if (!session) return refuseMessage(response, request.headers[SESSION] === undefined ? 400 : 404, idOf(message));
    session.idle?.clear();
    response.once("close", () => this.#rest(session));
    if (typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) {
      session.peer.receive(message);
      response.writeHead(202).end();
      return;
    }
    if (session.answers.has(id)) {
      return sendError(response, 400, { id, code: -32_600, message: "Invalid request: this id is under way" });
    }
    if (isBeginning) response.setHeader(SESSION, session.id);
    const events = new EventAnswer(this.#options.world, response, takesEvents);
    session.answers.set(id, events);
    session.peer.receive(message);
  }

  #begin(owner: string): HttpSession {
    const { world, instructions, open } = this.#options;
    const id = Buffer.from(world.randomBytes(24)).toString("base64url");
    const answers: HttpSession["answers"] = new Map();
    const peer = new LegacyPeer({
      world,
      instructions,
      send: (message, about) => {
        const events = about === undefined ? session.stream : answers.get(about);
        const isAnswer = about !== undefined && message["method"] === undefined;
        if (!isAnswer) return events?.send(message);
        answers.delete(about);
        events?.answer(message, false);
        if (peer.isOpen)
          this.#rest(session); // its client may have left before
        else this.#end(session); // it could not begin
      },
      onUnanswered: (about) => {
        answers.get(about)?.finish();
        answers.delete(about);
        this.#rest(session);
      },
      open: (capabilities, name) => {
        this.#takePlace(owner, session);
        return open({ isModern: false, capabilities, name });
      },
    });
    const session: HttpSession = { id, owner, peer, answers, stream: undefined, idle: undefined };
    this.#sessions.set(id, session);
    return session;
  }

  /** Throws where there are too many clients: those that are open or whose servers still end, and those that asked before `asking`. */
  #takePlace(owner: string, asking?: HttpSession): void {
    const { inAll, perToken } = SERVE_LIMITS.clients;
    const all = [...this.#sessions.values()];
    const before = asking ? all.indexOf(asking) : all.length;
    const open = all.filter((session, index) => session !== asking && (index < before || session.peer.isOpen));
    const owners = [...open.map((session) => session.owner), ...this.#closing.values(), ...this.#modern.owners];
    const own = owners.filter((one) => one === owner).length;
    if (own < perToken && owners.length < inAll) return;
    const words = `there are ${own < perToken ? inAll : perToken} clients already, which is the most there may be`;
    throw new TenonError("access.limited", words);
  }

  #openStream(response: ServerResponse, session: HttpSession): void {
    if (session.stream) return answerText(response, 409, "This session has a stream already");
    const stream = new EventAnswer(this.#options.world, response, true);
    session.idle?.clear();
    session.stream = stream;
    response.once("close", () => {
      session.stream = undefined;
      this.#rest(session);
    });
    stream.begin();
  }

  /** Another token's session is one that nobody knows. */
  #sessionOf(request: IncomingMessage, owner: string): HttpSession | undefined {
    const id = request.headers[SESSION];
    const session = typeof id === "string" ? this.#sessions.get(id) : undefined;
    return session?.owner === owner ? session : undefined;
  }

  #rest(session: HttpSession): void {
    session.idle?.clear();
    if (!this.#sessions.has(session.id) || session.stream || session.peer.underWay > 0) return;
    session.idle = this.#options.world.after(SERVE_LIMITS.idleMs, () => this.#end(session));
  }

  #forget(tokenId: string): void {
    for (const session of this.#sessions.values()) if (session.owner === tokenId) this.#end(session);
    for (const [request, owner] of this.#requests) if (owner === tokenId) request.abort();
    this.#modern.forget(tokenId);
  }

  #end(session: HttpSession): void {
    if (!this.#sessions.delete(session.id)) return;
    session.idle?.clear();
    const closing = session.peer.close().finally(() => this.#closing.delete(closing));
    if (session.peer.isOpen) this.#closing.set(closing, session.owner);
    handled(closing, this.#options.world.log, "end of a client");
    session.stream?.finish();
    for (const events of session.answers.values()) events.finish();
  }
}

interface Posted {
  readonly message: JsonObject;
  readonly owner: string;
  readonly takesEvents: boolean;
}

/** Which header does not say what the body says, or is missing. */
function headerProblem({ headers }: IncomingMessage, method: string, params: JsonObject): string | undefined {
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const claim = meta[META.protocolVersion];
  if (typeof claim !== "string") return undefined; // the envelope itself is what is wrong
  if (headers["mcp-protocol-version"] !== claim) return "MCP-Protocol-Version does not say what the body says";
  if (headers["mcp-method"] !== method) return "Mcp-Method does not say what the body says";
  const field = NAMED[method];
  const named = field === undefined ? undefined : params[field];
  if (typeof named === "string" && decoded(headers["mcp-name"]) !== named)
    return "Mcp-Name does not say what the body says";
  return undefined;
}

function decoded(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string") return undefined;
  const [, encoded] = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/u.exec(header) ?? [];
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString("utf8");
}

function idOf({ id }: JsonObject): RequestId | null {
  return typeof id === "string" || typeof id === "number" ? id : null;
}

function refuseMessage(response: ServerResponse, status: 400 | 404, id: RequestId | null): void {
  const message =
    status === 400 ? "Mcp-Session-Id is missing: initialize comes first" : "Session not found: initialize again";
  sendError(response, status, { id, code: status === 400 ? -32_000 : -32_001, message });
}

function sendError(
  response: ServerResponse,
  status: number,
  { id, code, message }: { readonly id: RequestId | null; readonly code: number | undefined; readonly message: string },
): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
}
