// A session of another node as a client of this one follows it: records from the store, everything else from its owner, in order.
import { type NumberedRelay, tenonMeta } from "../../acp/index.js";
import { Cell } from "../../base/async/cell.js";
import { handled } from "../../base/async/scope.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { Log } from "../../base/ports/world.js";
import { GATEWAY_LIMITS } from "../limits.js";
import { sessionOf } from "./link.js";
import type { UsedLog } from "./node-links.js";

type RelayOptions = ConstructorParameters<typeof NumberedRelay>[0];

export interface FollowedSessionOptions {
  readonly id: string;
  readonly log: Log;
  /** Which records the client has, and how it is shown the others. */
  readonly shown: Pick<RelayOptions, "after" | "showsOwn" | "abilities" | "client">;
  readonly Relay: typeof NumberedRelay;
  readonly open: () => Promise<UsedLog>;
  /** A record of that number is in the store. */
  readonly advance: (seq: number) => void;
  readonly send: (message: JsonObject) => Promise<void> | undefined;
  readonly sendShared: RelayOptions["send"];
  /** It cannot be shown any more, or the client does not keep up: the connection is to end. */
  readonly onLost: (reason: string) => void;
}

interface Waiting {
  readonly message: JsonObject;
  readonly seq: number;
  readonly bytes: number;
}

const NEVER = new AbortController().signal;
/** Calls whose last record is remembered: more are never under way. */
const CALLS = 256;

export class FollowedSession {
  readonly #options: FollowedSessionOptions;
  readonly #stop = new AbortController();
  /** Of the last record that the client has. */
  readonly #relayed = new Cell(-1);
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #isSending = false;
  readonly #joins = new Cell(0);
  /** By call, the last record about it. */
  readonly #calls = new Map<string, number>();

  constructor(options: FollowedSessionOptions) {
    this.#options = options;
  }

  /** `waiting`: of the one before it, for the same client. */
  begin(waiting: readonly Waiting[] = []): void {
    for (const { message, seq } of waiting) this.deliver(message, seq);
    handled(this.#run(), this.#options.log, `follow ${this.#options.id}`);
  }

  /** After the record of that number. */
  deliver(message: JsonObject, seq: number): void {
    const { messages, bytes: most } = GATEWAY_LIMITS.links.waiting;
    const isBehind = this.#waiting.length >= messages / 2;
    if (isBehind && toolCallOf(message) !== undefined) return; // of the moment
    const bytes = this.#waiting.length === 0 ? 0 : JSON.stringify(message).length;
    this.#waiting.push({ message, seq, bytes });
    this.#bytes += bytes;
    if (this.#waiting.length > messages || this.#bytes > most) {
      return this.#options.onLost("the client does not keep up with a session at another node");
    }
    if (!this.#isSending) handled(this.#sendWaiting(), this.#options.log, "messages of another node");
  }

  /** The client joins once more; returns what to call if it could not. */
  hold(): () => void {
    this.#joins.set(this.#joins.value + 1);
    return () => this.#joins.set(this.#joins.value - 1);
  }

  /** No update goes out any more; what waits for one goes out now. */
  end(): void {
    this.#stop.abort(new DOMException("the client left", "AbortError"));
    this.#relayed.set(Number.POSITIVE_INFINITY);
  }

  /** No update goes out any more; what waits for one is for the next one of this client. */
  replaced(): readonly Waiting[] {
    const waiting = this.#waiting.splice(0);
    this.end();
    return waiting;
  }

  async #run(): Promise<void> {
    const { id, shown, Relay, open, sendShared, log, onLost } = this.#options;
    const { signal } = this.#stop;
    let used: UsedLog | undefined;
    try {
      used = await open();
      if (signal.aborted) return;
      const relay = new Relay({
        ...shown,
        session: { id, log: used.stored.log },
        joins: this.#joins,
        send: (update) => {
          this.#note(update.message.params);
          return sendShared(update);
        },
        onLost: (event, error) =>
          log.error("links.event_lost", { session: id, kind: event.kind, error: String(error) }),
      });
      this.#relayed.set(shown.after);
      relay.relayed.subscribe((seq) => this.#relayed.set(seq));
      await relay.run(signal, async () => {});
    } catch (error) {
      log.warn("links.log_lost", { session: id, error: String(error) });
      if (!signal.aborted) onLost("updates of a session at another node cannot be read");
    } finally {
      this.#relayed.set(Number.POSITIVE_INFINITY);
      used?.release();
    }
  }

  async #sendWaiting(): Promise<void> {
    this.#isSending = true;
    try {
      for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
        const { message, seq, bytes } = next;
        if (this.#relayed.value < seq) {
          this.#options.advance(seq);
          await this.#relayed.until((relayed) => relayed >= seq, NEVER);
          if (this.#waiting[0] !== next) continue; // it is for the one after this
        }
        this.#waiting.shift();
        this.#bytes -= bytes;
        if (this.#isStale(message, seq)) continue;
        const held = this.#options.send(message);
        if (held) await held;
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** What was said of a call between two records must not come after the second: a call that ended would run again. */
  #isStale(message: JsonObject, seq: number): boolean {
    const call = toolCallOf(message);
    return call !== undefined && (this.#calls.get(call) ?? 0) > seq;
  }

  #note(params: object): void {
    const call = isJsonObject(params) ? toolCallOf({ params }) : undefined;
    const { seq, partOf = seq } = tenonMeta(params);
    if (call === undefined || typeof partOf !== "number") return;
    this.#calls.delete(call);
    this.#calls.set(call, partOf);
    const [oldest] = this.#calls.keys();
    if (this.#calls.size > CALLS && oldest !== undefined) this.#calls.delete(oldest);
  }
}

/** Of an update about a call. */
function toolCallOf(message: JsonObject): string | undefined {
  const { params, id } = message;
  if (id !== undefined || sessionOf(message) === undefined || !isJsonObject(params)) return undefined;
  const { update } = params;
  const call = isJsonObject(update) ? update["toolCallId"] : undefined;
  return typeof call === "string" ? call : undefined;
}
