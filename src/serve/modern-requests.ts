// Requests of the version 2026-07-28: each stands for itself, and what is asked meanwhile travels as `input_required`.
import { orAborted } from "../base/async/deadline.js";
import { handled } from "../base/async/scope.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { Timer, World } from "../base/ports/world.js";
import { HeldCalls, META, MODERN_VERSION, type ProvidedAnswer, ProvidedCall, refusal } from "../mcp/index.js";
import { CAPABILITIES, errorOf, type RequestId, SERVER_INFO } from "./legacy-peer.js";
import { SERVE_LIMITS } from "./limits.js";
import { elicitModes, type ServedClient } from "./served-client.js";

const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const SERVER_ERROR = -32_000;
const UNSUPPORTED_VERSION = -32_022;

/** During these a question may come; what each of them names. */
const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};
/** Their results say how long they hold. */
const LISTS = ["tools/list", "resources/list", "resources/templates/list", "prompts/list", "resources/read"];
const PLAIN = [...LISTS, "completion/complete", "prompts/get", "tools/call"];

export interface ModernOptions {
  readonly world: World;
  /** Opens a client's session; may throw. `owner`: whose it is, for its limits. */
  open(owner: string, capabilities: JsonObject, name: string): ServedClient;
  readonly instructions: string;
}

export interface ModernRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  /** Whose it is: requests of different owners never meet. */
  readonly owner: string;
  readonly signal: AbortSignal;
  readonly notify: (method: string, params: JsonObject) => void;
}

/** A client stays while it has requests or streams, and for a while after. */
interface KeptClient {
  readonly owner: string;
  readonly client: ServedClient;
  underWay: number;
  listeners: number;
  /** Resources that its streams follow, each with how many of them do. */
  readonly followed: Map<string, number>;
  idle: Timer | undefined;
}

/** Whether a message is of this era: it says so itself. */
export function isModern({ method, params }: JsonObject): boolean {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return method === "server/discover" || (isJsonObject(meta) && meta[META.protocolVersion] !== undefined);
}

export class ModernRequests {
  readonly #options: ModernOptions;
  readonly #clients = new Map<string, KeptClient>();
  readonly #held: HeldCalls;
  /** Clients whose servers still end, with whose they were. */
  readonly #closing = new Map<Promise<void>, string>();

  constructor(options: ModernOptions) {
    this.#options = options;
    this.#held = new HeldCalls(options.world, { asksAgain: true });
  }

  /** Whose the clients are, one entry for each: also of those whose servers still end. */
  get owners(): readonly string[] {
    return [...[...this.#clients.values()].map(({ owner }) => owner), ...this.#closing.values()];
  }

  /** The JSON-RPC answer. Never rejects. */
  async answer(request: ModernRequest): Promise<JsonObject> {
    const { id, method } = request;
    const answer = this.#envelopeProblem(request.params) ?? (await this.#serve(request));
    if (answer.kind !== "result") return { jsonrpc: "2.0", id, error: { ...errorOf(answer) } };
    const { _meta, ...result } = answer.result;
    const holds = LISTS.includes(method) && answer.result["resultType"] === undefined;
    const ttlMs = method === "resources/read" ? 0 : SERVE_LIMITS.listTtlMs;
    const meta = { ...(isJsonObject(_meta) ? _meta : {}), [META.serverInfo]: SERVER_INFO };
    const caching = holds ? { ttlMs, cacheScope: "private" } : {};
    return { jsonrpc: "2.0", id, result: { resultType: "complete", ...caching, ...result, _meta: meta } };
  }

  /** The clients of an owner that may not come any more. */
  forget(owner: string): void {
    for (const [key, kept] of this.#clients) if (kept.owner === owner) this.#end(key, kept);
  }

  async close(): Promise<void> {
    this.#held.releaseAll("Tenon is ending");
    for (const [key, kept] of this.#clients) this.#end(key, kept);
    await Promise.all(this.#closing.keys());
  }

  #envelopeProblem(params: JsonObject): ProvidedAnswer | undefined {
    const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    const { [META.protocolVersion]: requested, [META.clientCapabilities]: capabilities } = meta;
    if (typeof requested !== "string")
      return refusal(INVALID_PARAMS, `Invalid params: _meta has no ${META.protocolVersion}`);
    if (requested !== MODERN_VERSION) {
      const message = `Unsupported protocol version: ${requested.slice(0, 100)}`;
      const data = { supported: [MODERN_VERSION], requested: requested.slice(0, 100) };
      return { kind: "error", error: { code: UNSUPPORTED_VERSION, message, data } };
    }
    if (isJsonObject(capabilities)) return undefined;
    return refusal(INVALID_PARAMS, `Invalid params: _meta has no ${META.clientCapabilities}`);
  }

  async #serve(request: ModernRequest): Promise<ProvidedAnswer> {
    const { method } = request;
    if (method === "server/discover") return this.#discover();
    if (method !== "subscriptions/listen" && !PLAIN.includes(method)) {
      return refusal(METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 200)}`);
    }
    const kept = this.#keptOf(request);
    if (!("client" in kept)) return kept;
    if (kept.underWay >= SERVE_LIMITS.requestsAtOnce) {
      return refusal(SERVER_ERROR, `${SERVE_LIMITS.requestsAtOnce} requests of this client are under way`);
    }
    kept.idle?.clear();
    kept.underWay += 1;
    try {
      if (method === "subscriptions/listen") return await this.#listen(kept, request);
      return NAMED[method] === undefined
        ? await kept.client.request({ ...request, logLevel: logLevelOf(request), ask: unasked })
        : await this.#round(kept, request);
    } finally {
      kept.underWay -= 1;
      this.#rest(kept);
    }
  }

  #discover(): ProvidedAnswer {
    const { instructions } = this.#options;
    const result = { supportedVersions: [MODERN_VERSION], capabilities: CAPABILITIES, instructions };
    return { kind: "result", result: { ...result, ttlMs: SERVE_LIMITS.listTtlMs, cacheScope: "private" } };
  }

  /** One round of a request: to its end, or to what is asked first. */
  async #round({ client, owner }: KeptClient, request: ModernRequest): Promise<ProvidedAnswer> {
    const { method, params, signal } = request;
    const named = params[NAMED[method] ?? ""];
    if (typeof named !== "string") return refusal(INVALID_PARAMS, `${method} needs a ${NAMED[method]}`);
    const about = `${owner}\0${method}\0${named}`;
    const begin = () =>
      new ProvidedCall(about, (call, work) => {
        const ask = (asked: string, given: JsonObject, until: AbortSignal) => call.ask(asked, given, until);
        const notify = (told: string, given: JsonObject) => this.#rounds.get(call)?.(told, given);
        return client.request({ ...request, signal: work, logLevel: logLevelOf(request), ask, notify });
      });
    const call = params["requestState"] === undefined ? begin() : this.#held.take(about, params);
    if (!(call instanceof ProvidedCall)) return call;
    this.#rounds.set(call, inRound(request));
    const next = await call.next(signal);
    this.#rounds.delete(call);
    if (next === "asks") return this.#held.hold(call);
    if (next !== undefined) return next;
    call.cancel("cancelled by the client");
    return refusal(SERVER_ERROR, "the request was cancelled");
  }

  /** How the client is told of a call, while a round of it is under way. */
  readonly #rounds = new WeakMap<ProvidedCall, ModernRequest["notify"]>();

  async #listen(kept: KeptClient, { id, params, signal, notify }: ModernRequest): Promise<ProvidedAnswer> {
    if (kept.listeners >= SERVE_LIMITS.listeners) {
      return refusal(SERVER_ERROR, `${SERVE_LIMITS.listeners} streams of this client are open`);
    }
    const wanted = isJsonObject(params["notifications"]) ? params["notifications"] : {};
    const lists = Object.keys(CHANGES).filter((name) => wanted[name] === true);
    const uris = [...new Set(textsOf(wanted["resourceSubscriptions"]))].slice(0, SERVE_LIMITS.followedResources);
    const methods = new Set(lists.map((name) => CHANGES[name]));
    const _meta = { [META.subscriptionId]: id };
    const notifications = {
      ...Object.fromEntries(lists.map((name) => [name, true])),
      ...defined({ resourceSubscriptions: uris.length > 0 ? uris : undefined }),
    };
    notify("notifications/subscriptions/acknowledged", { notifications, _meta });
    const stop = kept.client.onNotice((method, about) => {
      const isFollowed = method === "notifications/resources/updated" && uris.some((uri) => uri === about["uri"]);
      if (methods.has(method) || isFollowed) notify(method, { ...about, _meta });
    });
    kept.listeners += 1;
    for (const uri of uris) kept.followed.set(uri, (kept.followed.get(uri) ?? 0) + 1);
    const about = (uri: string) => ({ params: { uri }, signal, ask: unasked, notify });
    await Promise.all(uris.map((uri) => kept.client.request({ method: "resources/subscribe", ...about(uri) })));
    await orAborted(new Promise<never>(() => {}), signal).catch(() => undefined);
    kept.listeners -= 1;
    stop();
    for (const uri of uris) {
      const others = (kept.followed.get(uri) ?? 0) - 1;
      if (others > 0) kept.followed.set(uri, others);
      else {
        kept.followed.delete(uri);
        await kept.client.request({ method: "resources/unsubscribe", ...about(uri) });
      }
    }
    return { kind: "result", result: { _meta } };
  }

  /** Clients that can be asked different things have sessions of their own: servers are told what they may ask. */
  #keptOf({ owner, params }: ModernRequest): KeptClient | ProvidedAnswer {
    const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    const { [META.clientCapabilities]: declared, [META.clientInfo]: info } = meta;
    const capabilities = isJsonObject(declared) ? declared : {};
    const abilities = [elicitModes(capabilities["elicitation"]), isJsonObject(capabilities["sampling"])];
    const key = JSON.stringify([owner, ...abilities]);
    const known = this.#clients.get(key);
    if (known) return known;
    const { name } = isJsonObject(info) ? info : {};
    try {
      const client = this.#options.open(
        owner,
        capabilities,
        typeof name === "string" ? name.slice(0, 100) : "a client",
      );
      const kept: KeptClient = { owner, client, underWay: 0, listeners: 0, followed: new Map(), idle: undefined };
      this.#clients.set(key, kept);
      return kept;
    } catch (error) {
      return refusal(SERVER_ERROR, error instanceof Error ? error.message : String(error));
    }
  }

  #rest(kept: KeptClient): void {
    kept.idle?.clear();
    if (kept.underWay > 0) return;
    kept.idle = this.#options.world.after(SERVE_LIMITS.idleMs, () => {
      for (const [key, one] of this.#clients) if (one === kept) this.#end(key, kept);
    });
  }

  #end(key: string, kept: KeptClient): void {
    this.#clients.delete(key);
    kept.idle?.clear();
    const closing = kept.client.close().finally(() => this.#closing.delete(closing));
    this.#closing.set(closing, kept.owner);
    handled(closing, this.#options.world.log, "end of a client");
  }
}

/** By the name in the filter. */
const CHANGES: Readonly<Record<string, string>> = {
  toolsListChanged: "notifications/tools/list_changed",
  promptsListChanged: "notifications/prompts/list_changed",
  resourcesListChanged: "notifications/resources/list_changed",
};

function logLevelOf({ params }: ModernRequest): string | undefined {
  const level = isJsonObject(params["_meta"]) ? params["_meta"][META.logLevel] : undefined;
  return typeof level === "string" ? level : undefined;
}

/** Each round is a request of its own, and has a token of its own for progress. */
function inRound({ params, notify }: ModernRequest): ModernRequest["notify"] {
  const token = isJsonObject(params["_meta"]) ? params["_meta"]["progressToken"] : undefined;
  return (method, about) => {
    if (method !== "notifications/progress") notify(method, about);
    else if (token !== undefined) notify(method, { ...about, progressToken: token });
  };
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** A list asks nothing. */
function unasked(): Promise<JsonObject> {
  return Promise.reject(new Error("nothing can be asked during this request"));
}
