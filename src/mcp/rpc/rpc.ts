// Requests over a transport: each ends exactly once, by its response, error, deadline or cancellation, or the transport's end.

import type { Bag } from "../../base/async/bag.js";
import { abortListeners, contained, handled } from "../../base/async/scope.js";
import type { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { Timer, World } from "../../base/ports/world.js";
import type {
  IncomingMessage,
  MessageEnds,
  RequestLoss,
  RpcErrorBody,
  RpcId,
  SendHint,
  Transport,
  TransportListener,
} from "../transport/transport.js";

export interface ProgressNote {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface RequestOptions {
  readonly signal: AbortSignal;
  /** From sending to the answer; each progress notice starts it anew. */
  readonly timeoutMs: number;
  /** However much progress there is, it ends here. Unless given, `timeoutMs` is the cap too. */
  readonly maxTotalMs?: number;
  readonly onProgress?: (note: ProgressNote) => void;
  readonly hint?: SendHint;
  /** Answers what this very request asks for (modern era), instead of the connection's peer. */
  readonly answer?: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Told the id under which the request goes out; again, when it is sent in rounds. */
  readonly onSent?: (id: RpcId) => void;
  /** Shown the ends of a long answer before it is read, where the transport can: what is sent now goes out first. */
  readonly onPeek?: (ends: MessageEnds) => void;
}

/** How a request ended. `lost` and `timed_out` leave open whether the server acted, unless it never left. */
export type RpcOutcome =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly error: RpcErrorBody }
  | { readonly kind: "cancelled" }
  | { readonly kind: "timed_out"; readonly afterMs: number }
  | { readonly kind: "lost"; readonly loss: RequestLoss };

/** Answers requests of the server and receives its notifications. */
export interface RpcHandler {
  /** Undefined: the request gets no answer at all (the modern era has no requests of servers). */
  onRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject | undefined>;
  /** Everything but progress and the cancellation of what `onRequest` is busy with. */
  onNotification(method: string, params: JsonObject): void;
  onClosed(error: TenonError): void;
}

/** Counts messages that belong to nothing: late, duplicate and unknown responses, garbage. For status, never for control. */
export interface RpcCounters {
  strayAnswers: number;
  strayProgress: number;
  noise: number;
}

interface Pending {
  readonly resolve: (outcome: RpcOutcome) => void;
  readonly options: RequestOptions;
  readonly onAbort: () => void;
  /** From here on they are set once it was sent. */
  startedMs: number;
  /** Of the signal, and ours among them. */
  listeners: Bag<() => void> | undefined;
  timer: Timer | undefined;
}

/** Emptied when the request is over: tables the Map left behind hold nothing of it then, see `Bag`. */
interface Slot {
  pending: Pending | undefined;
}

export class Rpc implements TransportListener {
  readonly counters: RpcCounters = { strayAnswers: 0, strayProgress: 0, noise: 0 };
  readonly #transport: Transport;
  readonly #world: World;
  readonly #handler: RpcHandler;
  readonly #pending = new Map<RpcId, Slot>();
  readonly #serving = new Map<RpcId, AbortController>();
  /** Of requests that were answered with a task: their token holds as long as the task. */
  readonly #lasting = new Map<RpcId, (note: ProgressNote) => void>();
  #nextId = 1;
  #closedBy: TenonError | undefined;

  constructor(transport: Transport, world: World, handler: RpcHandler) {
    this.#transport = transport;
    this.#world = world;
    this.#handler = handler;
  }

  start(): void {
    this.#transport.start(this);
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Never rejects. */
  request(method: string, params: JsonObject, options: RequestOptions): Promise<RpcOutcome> {
    if (options.signal.aborted) return Promise.resolve({ kind: "cancelled" });
    if (this.#closedBy) return Promise.resolve({ kind: "lost", loss: { error: this.#closedBy, wasSent: false } });
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const onAbort = () => this.#giveUp(id, { kind: "cancelled" }, "cancelled by the client");
      const pending: Pending = { resolve, options, onAbort, startedMs: 0, listeners: undefined, timer: undefined };
      this.#pending.set(id, { pending });
      try {
        const sent = options.onProgress ? withProgressToken(params, id) : params;
        options.onSent?.(id);
        // Of several the first waits for the others of its turn; of a lone one the server hears at once.
        const isLone = this.#pending.size === 1;
        this.#transport.send({ jsonrpc: "2.0", id, method, params: sent }, options.hint, isLone);
      } catch (thrown) {
        this.#pending.delete(id); // it could not be written
        throw thrown;
      }
      this.#watch(id, pending);
    });
  }

  /** What ends it without an answer: set up once it was sent, since the server works meanwhile. */
  #watch(id: RpcId, pending: Pending): void {
    if (this.#pending.get(id)?.pending !== pending) return; // answered already
    const { signal, timeoutMs } = pending.options;
    if (signal.aborted) return pending.onAbort();
    pending.startedMs = this.#world.monotonicMs();
    pending.listeners = abortListeners(signal).add(pending.onAbort);
    pending.timer = this.#startTimer(id, timeoutMs);
  }

  /** Progress of a request that has been answered, and whose work goes on. Returns the way to stop listening. */
  followProgress(id: RpcId, listener: (note: ProgressNote) => void): () => void {
    this.#lasting.set(id, listener);
    return () => this.#lasting.delete(id);
  }

  notify(method: string, params: JsonObject): void {
    if (!this.#closedBy) this.#transport.send({ jsonrpc: "2.0", method, params });
  }

  /** Ends everything under way; used when the connection is closed from our side. */
  end(error: TenonError): void {
    this.#closedBy ??= error;
    for (const id of [...this.#pending.keys()]) this.#settle(id, { kind: "lost", loss: { error, wasSent: true } });
    for (const controller of this.#serving.values()) controller.abort(error);
    this.#serving.clear();
  }

  onMessage(message: IncomingMessage): void {
    switch (message.kind) {
      case "result":
        if (!this.#settle(message.id, { kind: "result", result: message.result })) this.counters.strayAnswers++;
        break;
      case "error":
        if (!this.#settle(message.id, { kind: "error", error: message.error })) this.counters.strayAnswers++;
        break;
      case "notification":
        contained(this.#world.log, "notification of a server", () => this.#receive(message.method, message.params));
        break;
      case "request":
        contained(this.#world.log, "request of a server", () =>
          this.#serve(message.id, message.method, message.params),
        );
        break;
    }
  }

  onPeek(id: RpcId, ends: MessageEnds): void {
    this.#pending.get(id)?.pending?.options.onPeek?.(ends);
  }

  onRequestLost(id: RpcId, loss: RequestLoss): void {
    if (!this.#settle(id, { kind: "lost", loss })) this.counters.strayAnswers++;
  }

  onClosed(error: TenonError): void {
    if (this.#closedBy) return;
    this.end(error);
    this.#handler.onClosed(error);
  }

  onNoise(what: string): void {
    this.counters.noise++;
    this.#world.log.debug("mcp.noise", { what });
  }

  #settle(id: RpcId, outcome: RpcOutcome): boolean {
    const slot = this.#pending.get(id);
    const pending = slot?.pending;
    if (!pending) return false;
    this.#pending.delete(id);
    slot.pending = undefined;
    pending.timer?.clear();
    pending.listeners?.delete(pending.onAbort);
    pending.resolve(outcome);
    return true;
  }

  #giveUp(id: RpcId, outcome: RpcOutcome, reason: string): void {
    if (this.#settle(id, outcome)) this.#transport.cancel(id, reason);
  }

  #startTimer(id: RpcId, delayMs: number): Timer {
    return this.#world.after(delayMs, () => {
      const pending = this.#pending.get(id)?.pending;
      if (!pending) return;
      const afterMs = Math.round(this.#world.monotonicMs() - pending.startedMs);
      const { timeoutMs, maxTotalMs = timeoutMs } = pending.options;
      // The server waits for an answer of ours, mostly a person's: that time is not its own.
      if (this.#serving.size > 0 && afterMs < maxTotalMs) {
        pending.timer = this.#startTimer(id, Math.min(timeoutMs, maxTotalMs - afterMs));
        return;
      }
      this.#giveUp(id, { kind: "timed_out", afterMs }, `no answer within ${afterMs} ms`);
    });
  }

  #receive(method: string, params: JsonObject): void {
    if (method === "notifications/progress") this.#progress(params);
    else if (method !== "notifications/cancelled" || !this.#cancelServing(params["requestId"])) {
      this.#handler.onNotification(method, params);
    }
  }

  /** Our progress tokens are our request ids. */
  #progress(params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const id = typeof progressToken === "number" || typeof progressToken === "string" ? progressToken : undefined;
    const pending = id === undefined ? undefined : this.#pending.get(id)?.pending;
    const note = {
      progress: typeof progress === "number" ? progress : 0,
      ...defined({
        total: typeof total === "number" ? total : undefined,
        message: typeof message === "string" ? message : undefined,
      }),
    };
    if (id === undefined || !pending?.options.onProgress) {
      const listener = id === undefined ? undefined : this.#lasting.get(id);
      if (listener) listener(note);
      else this.counters.strayProgress++;
      return;
    }
    const { timeoutMs, maxTotalMs = timeoutMs, onProgress } = pending.options;
    const leftMs = maxTotalMs - (this.#world.monotonicMs() - pending.startedMs);
    pending.timer?.clear();
    pending.timer = this.#startTimer(id, Math.max(0, Math.min(timeoutMs, leftMs)));
    onProgress(note);
  }

  #serve(id: RpcId, method: string, params: JsonObject): void {
    const controller = new AbortController();
    this.#serving.set(id, controller);
    const served = this.#handler
      .onRequest(method, params, controller.signal)
      .then(
        (result) => (result ? this.#reply(id, controller, { result }) : this.#serving.delete(id)),
        (thrown: unknown) => this.#reply(id, controller, { error: toErrorBody(thrown) }),
      )
      .catch((thrown: unknown) => this.#transport.send({ jsonrpc: "2.0", id, error: toErrorBody(thrown) })); // it could not be written
    handled(served, this.#world.log, "answer a server's request");
  }

  #reply(id: RpcId, controller: AbortController, body: { result: JsonObject } | { error: RpcErrorBody }): void {
    if (this.#serving.get(id) !== controller) return; // cancelled by the server, or the connection is over
    this.#serving.delete(id);
    this.#transport.send({ jsonrpc: "2.0", id, ...body });
  }

  #cancelServing(id: JsonValue | undefined): boolean {
    if (typeof id !== "number" && typeof id !== "string") return false;
    this.#serving.get(id)?.abort(new DOMException("cancelled by the server", "AbortError"));
    return this.#serving.delete(id);
  }
}

/** Thrown by a request handler to answer with a code of its own. */
export class RpcRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = "RpcRefusal";
    this.code = code;
  }
}

function toErrorBody(thrown: unknown): RpcErrorBody {
  if (thrown instanceof RpcRefusal) return { code: thrown.code, message: thrown.message };
  return { code: -32603, message: thrown instanceof Error ? thrown.message : String(thrown) };
}

/** Whether there is nothing but these two. */
function isCallOnly(params: JsonObject): boolean {
  for (const key in params) if (key !== "name" && key !== "arguments") return false;
  return true;
}

function withProgressToken(params: JsonObject, id: RpcId): JsonObject {
  const { name, arguments: given, _meta: meta } = params;
  const token = { progressToken: id };
  // Calls are what there is most of, and written out they cost a fraction of a copy.
  if (meta === undefined && given !== undefined && isCallOnly(params)) return { name, arguments: given, _meta: token };
  const withToken = typeof meta === "object" && meta !== null ? Object.assign({}, meta, token) : token;
  // Not `{ ...params, _meta }`: Node 20 makes that slow and long-lived, which costs every call a third.
  return Object.assign({}, params, { _meta: withToken });
}
