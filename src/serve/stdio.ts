// One client over stdio, of either era: which one it speaks shows in every message.
import { Wire } from "../acp/index.js";
import { handled } from "../base/async/scope.js";
import type { EndGrace } from "../base/io/process.js";
import { isJsonObject, type JsonObject } from "../base/json/json.js";
import type { World } from "../base/ports/world.js";
import { LegacyPeer, type RequestId } from "./legacy-peer.js";
import { SERVE_LIMITS } from "./limits.js";
import { isModern, ModernRequests } from "./modern-requests.js";
import type { ServedClient } from "./served-client.js";

export interface StdioOptions {
  readonly world: World;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly instructions: string;
  readonly open: (given: {
    readonly isModern: boolean;
    readonly capabilities: JsonObject;
    readonly name: string;
  }) => ServedClient;
}

const OWNER = "stdio";
const INVALID_REQUEST = -32_600;
const SERVER_ERROR = -32_000;

export class StdioServing {
  readonly #wire: Wire;
  readonly #world: World;
  readonly #legacy: LegacyPeer;
  readonly #modern: ModernRequests;
  readonly #requests = new Map<RequestId, AbortController>();

  constructor({ world, input, output, instructions, open }: StdioOptions) {
    this.#world = world;
    this.#wire = new Wire({ world, input, output });
    this.#legacy = new LegacyPeer({
      world,
      instructions,
      send: (message) => this.#wire.post(message),
      onUnanswered: () => {},
      open: (capabilities, name) => open({ isModern: false, capabilities, name }),
    });
    this.#modern = new ModernRequests({
      world,
      instructions,
      open: (_, capabilities, name) => open({ isModern: true, capabilities, name }),
    });
    this.#wire.onMessage = (message) => this.#receive({ ...message });
  }

  /** Resolves when the client is gone. */
  get closed(): Promise<void> {
    return this.#wire.closed;
  }

  /** Writes what waits to be written. */
  flush(): void {
    this.#wire.flush();
  }

  async close(grace: EndGrace): Promise<void> {
    for (const request of this.#requests.values()) request.abort();
    await Promise.all([this.#legacy.close(grace), this.#modern.close()]);
    this.#wire.flush();
  }

  #receive(message: { readonly [key: string]: unknown }): void {
    if (!isJsonObject(message)) return;
    const { id, method, params } = message;
    if (method === "notifications/cancelled" && isJsonObject(params)) this.#cancel(params["requestId"]);
    const isRequest = typeof method === "string" && (typeof id === "string" || typeof id === "number");
    if (!isRequest || !isModern(message)) return this.#legacy.receive(message);
    handled(this.#answer(id, method, isJsonObject(params) ? params : {}), this.#world.log, "request of a client");
  }

  #cancel(id: unknown): void {
    if (typeof id === "string" || typeof id === "number") this.#requests.get(id)?.abort();
  }

  async #answer(id: RequestId, method: string, params: JsonObject): Promise<void> {
    const refuse = (code: number, words: string) =>
      this.#wire.post({ jsonrpc: "2.0", id, error: { code, message: words } });
    if (this.#requests.has(id)) return refuse(INVALID_REQUEST, "Invalid request: this id is under way");
    if (this.#requests.size >= SERVE_LIMITS.requestsAtOnce) {
      return refuse(SERVER_ERROR, `${SERVE_LIMITS.requestsAtOnce} requests of this client are under way`);
    }
    const request = new AbortController();
    this.#requests.set(id, request);
    const { signal } = request;
    const notify = (told: string, about: JsonObject) =>
      this.#wire.post({ jsonrpc: "2.0", method: told, params: about });
    const answer = await this.#modern.answer({ id, method, params, owner: OWNER, signal, notify });
    this.#requests.delete(id);
    if (!signal.aborted) this.#wire.post(answer);
  }
}
