// A clock that moves only when a test moves it.
import { setImmediate as realSetImmediate } from "node:timers";
import type { Timer } from "../../../base/ports/world.js";

/** Turns of the event loop given to code between timers: streams and web streams need more than one to pass data on. */
const SETTLE_TURNS = 5;

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * A clock that only the test moves.
 *
 * @example
 * const clock = new FakeClock();
 */
export class FakeClock {
  #elapsedMs = 0;
  #order = 0;
  readonly #startMs: number;
  readonly #entries = new Set<Entry>();

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  get nowMs(): number {
    return this.#startMs + this.#elapsedMs;
  }

  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** Timers set and neither run nor cleared: none should be left when what set them is closed. */
  get pendingTimers(): number {
    return this.#entries.size;
  }

  /** How long until the next timer falls due; undefined when none is set. */
  get nextDelayMs(): number | undefined {
    const next = this.#next(Number.POSITIVE_INFINITY);
    return next && Math.max(0, next.atMs - this.#elapsedMs);
  }

  after(delayMs: number, run: () => void): Timer {
    const entry: Entry = { atMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, run };
    this.#entries.add(entry);
    return { clear: () => this.#entries.delete(entry) };
  }

  /** Moves time on, running what falls due in order, also what is set on the way; code settles before and after each. */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#elapsedMs + ms;
    await settle();
    for (let entry = this.#next(targetMs); entry; entry = this.#next(targetMs)) {
      this.#entries.delete(entry);
      this.#elapsedMs = Math.max(this.#elapsedMs, entry.atMs);
      entry.run();
      await settle();
    }
    this.#elapsedMs = targetMs;
  }

  #next(untilMs: number): Entry | undefined {
    return [...this.#entries]
      .filter(({ atMs }) => atMs <= untilMs)
      .sort((one, other) => one.atMs - other.atMs || one.order - other.order)[0];
  }
}

/**
 * Lets promises, ticks and stream events that are under way run out; no time passes on any fake clock.
 *
 * @example
 * await settle();
 */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) await new Promise<void>((resolve) => realSetImmediate(resolve));
}
