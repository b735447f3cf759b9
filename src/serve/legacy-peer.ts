// A client of the versions before 2026-07-28: its handshake, its requests, and what it is asked in between.
import { abortListeners, handled } from "../base/async/scope.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import { LEGACY_VERSIONS, type ProvidedAnswer, RpcRefusal, refusal } from "../mcp/index.js";
import { SERVE_LIMITS } from "./limits.js";
import type { ServedClient } from "./served-client.js";

export type RequestId = string | number;

export const SERVER_INFO: JsonObject = { name: "tenon", title: "Tenon", version: VERSION };

/** Of both eras. */
export const CAPABILITIES: JsonObject = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
};

const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const SERVER_ERROR = -32_000;
/** What a level of `logging/setLevel` may be. */
const LEVEL = /^(?:debug|info|notice|warning|error|critical|alert|emergency)$/u;

export interface LegacyPeerOptions {
  readonly world: World;
  /** `about`: the request that the message belongs to; without it the message stands for itself. */
  send(message: JsonObject, about?: RequestId): void;
  /** A request that was cancelled gets no answer. */
  onUnanswered(id: RequestId): void;
  /** Opens the client's session once it has said what it can do. May throw: then the client hears why. */
  open(capabilities: JsonObject, name: string): ServedClient;
  readonly instructions: string;
}

interface Question {
  readonly about: RequestId;
  settle(answer: JsonObject | RpcRefusal): void;
}

export class LegacyPeer {
  readonly #options: LegacyPeerOptions;
  readonly #requests = new Map<RequestId, AbortController>();
  readonly #questions = new Map<RequestId, Question>();
  #client: ServedClient | undefined;
  #version = LEGACY_VERSIONS[0] ?? "";
  #logLevel = "info";
  #asked = 0;
  #isClosed = false;

  constructor(options: LegacyPeerOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#client !== undefined;
  }

  /** How many requests are under way. */
  get underWay(): number {
    return this.#requests.size;
  }

  /** One JSON-RPC message that is an object. */
  receive(message: JsonObject): void {
    const { id, method, params } = message;
    if (this.#isClosed) return;
    if (method === undefined) return this.#answered(message);
    const given = isJsonObject(params) ? params : {};
    if (typeof method !== "string" || message["jsonrpc"] !== "2.0") {
      return this.#refuse(id, INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0" and "method" a text');
    }
    if (id === undefined) return this.#hear(method, given);
    if (typeof id !== "string" && typeof id !== "number") {
      return this.#refuse(id, INVALID_REQUEST, 'Invalid request: "id" must be a text or a number');
    }
    if (this.#requests.has(id)) return this.#refuse(id, INVALID_REQUEST, "Invalid request: this id is under way");
    if (this.#requests.size >= SERVE_LIMITS.requestsAtOnce) {
      const words = `${SERVE_LIMITS.requestsAtOnce} requests of this client are under way: wait for one to be answered`;
      return this.#refuse(id, SERVER_ERROR, words);
    }
    handled(this.#serve(id, method, given), this.#options.world.log, "request of a client");
  }

  cancel(id: RequestId): void {
    this.#requests.get(id)?.abort(new DOMException("cancelled by the client", "AbortError"));
  }

  async close(grace?: Parameters<ServedClient["close"]>[0]): Promise<void> {
    this.#isClosed = true;
    const reason = new DOMException("the client is gone", "AbortError");
    for (const request of this.#requests.values()) request.abort(reason);
    for (const question of [...this.#questions.values()]) question.settle(new RpcRefusal(SERVER_ERROR, reason.message));
    await this.#client?.close(grace);
  }

  async #serve(id: RequestId, method: string, params: JsonObject): Promise<void> {
    const request = new AbortController();
    this.#requests.set(id, request);
    const answer = await this.#answer(id, { method, params, signal: request.signal });
    this.#requests.delete(id);
    // Nobody waits for the answer to a request that was cancelled; over HTTP its stream ends all the same.
    if (request.signal.aborted && !this.#isClosed) return this.#options.onUnanswered(id);
    if (answer.kind === "result") this.#options.send({ jsonrpc: "2.0", id, result: answer.result }, id);
    else this.#options.send({ jsonrpc: "2.0", id, error: { ...errorOf(answer) } }, id);
  }

  async #answer(
    id: RequestId,
    { method, params, signal }: { readonly method: string; readonly params: JsonObject; readonly signal: AbortSignal },
  ): Promise<ProvidedAnswer> {
    if (method === "ping") return { kind: "result", result: {} };
    if (method === "initialize") return this.#initialize(params);
    const client = this.#client;
    if (!client) return refusal(INVALID_REQUEST, "Invalid request: initialize comes first");
    if (method === "logging/setLevel") {
      const { level } = params;
      if (typeof level !== "string" || !LEVEL.test(level)) return refusal(INVALID_PARAMS, "there is no such level");
      this.#logLevel = level;
      return { kind: "result", result: {} };
    }
    if (method === "server/discover") return refusal(METHOD_NOT_FOUND, "Method not found: server/discover");
    return await client.request({
      method,
      params,
      signal,
      logLevel: this.#logLevel,
      notify: (name, about) => this.#options.send({ jsonrpc: "2.0", method: name, params: about }, id),
      ask: (name, about, until) => this.#ask(id, { method: name, params: about, signal: until }),
    });
  }

  #initialize({ protocolVersion, capabilities, clientInfo }: JsonObject): ProvidedAnswer {
    if (this.#client) return refusal(INVALID_REQUEST, "Invalid request: the client is initialized already");
    if (typeof protocolVersion !== "string") return refusal(INVALID_PARAMS, "initialize needs a protocolVersion");
    if (LEGACY_VERSIONS.includes(protocolVersion)) this.#version = protocolVersion;
    const { name } = isJsonObject(clientInfo) ? clientInfo : {};
    try {
      const given = isJsonObject(capabilities) ? capabilities : {};
      this.#client = this.#options.open(given, typeof name === "string" ? name.slice(0, 100) : "a client");
    } catch (error) {
      return refusal(SERVER_ERROR, error instanceof Error ? error.message : String(error));
    }
    this.#client.onNotice((method, params) => this.#options.send({ jsonrpc: "2.0", method, params }));
    const { instructions } = this.#options;
    const result = {
      protocolVersion: this.#version,
      capabilities: { ...CAPABILITIES, logging: {} },
      serverInfo: SERVER_INFO,
    };
    return { kind: "result", result: { ...result, instructions } };
  }

  #hear(method: string, { requestId }: JsonObject): void {
    const isId = typeof requestId === "string" || typeof requestId === "number";
    if (method === "notifications/cancelled" && isId) this.cancel(requestId);
  }

  /** Over the stream of the request it is asked for. */
  #ask(
    about: RequestId,
    { method, params, signal }: { readonly method: string; readonly params: JsonObject; readonly signal: AbortSignal },
  ): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new RpcRefusal(SERVER_ERROR, "the client is gone"));
      this.#asked += 1;
      const id = `tenon-${this.#asked}`;
      const onAbort = () => {
        const cancelled = { requestId: id, reason: "it is not needed any more" };
        this.#options.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: cancelled }, about);
        settle(new RpcRefusal(SERVER_ERROR, "the question was taken back"));
      };
      const timer = this.#options.world.after(SERVE_LIMITS.askMs, onAbort);
      const settle = (answer: JsonObject | RpcRefusal) => {
        timer.clear();
        this.#questions.delete(id);
        abortListeners(signal).delete(onAbort);
        if (answer instanceof RpcRefusal) reject(answer);
        else resolve(answer);
      };
      this.#questions.set(id, { about, settle });
      abortListeners(signal).add(onAbort);
      this.#options.send({ jsonrpc: "2.0", id, method, params: inVersion(params, this.#version) }, about);
    });
  }

  /** An answer to nothing that was asked is left alone. */
  #answered({ id, result, error }: JsonObject): void {
    const question = typeof id === "string" || typeof id === "number" ? this.#questions.get(id) : undefined;
    if (!question) return;
    if (isJsonObject(result)) return question.settle(result);
    const { code, message } = isJsonObject(error) ? error : {};
    const words = typeof message === "string" ? message : "the client gave no answer";
    question.settle(new RpcRefusal(typeof code === "number" ? code : SERVER_ERROR, words));
  }

  #refuse(id: unknown, code: number, message: string): void {
    const known = typeof id === "string" || typeof id === "number" ? id : null;
    this.#options.send({ jsonrpc: "2.0", id: known, error: { code, message } }, known ?? undefined);
  }
}

export function errorOf(answer: Exclude<ProvidedAnswer, { readonly kind: "result" }>): {
  readonly code: number;
  readonly message: string;
} {
  return answer.kind === "error" ? answer.error : { code: answer.code, message: answer.message };
}

/** Before 2025-11-25 there were forms only, and no word for the mode. */
function inVersion(params: JsonObject, version: string): JsonObject {
  const { mode, ...rest } = params;
  return mode === "form" && version < "2025-11-25" ? rest : params;
}
