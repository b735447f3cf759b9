// Ctrl-C, once and again: the first one stops what runs, a second one within a moment quits.
import { CLI_LIMITS } from "../limits.js";
import type { Clock } from "../terminal/stream.js";

export class Interrupts {
  readonly #clock: Clock;
  readonly #quit = new AbortController();
  #onFirst: (() => void) | undefined;
  #armedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborts when the person quits. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  /** Where nothing can be stopped, the first interrupt quits already. */
  raise(): void {
    if (this.isArmed || !this.#onFirst) return this.#quit.abort();
    this.arm();
    this.#onFirst();
  }

  /** The first one did something else: one that follows at once quits. True when this was such a one. */
  arm(): boolean {
    if (this.isArmed) {
      this.#quit.abort();
      return true;
    }
    this.#armedMs = this.#clock.now();
    return false;
  }

  /** Quits at once, without a first interrupt. */
  leave(): void {
    this.#quit.abort();
  }

  /** The person has done something else since: the next interrupt is a first one again. */
  disarm(): void {
    this.#armedMs = Number.NEGATIVE_INFINITY;
  }

  /** Runs `work`, during which the first interrupt is `onFirst`. */
  async during<T>(onFirst: () => void, work: () => Promise<T>): Promise<T> {
    const outer = this.#onFirst;
    this.#onFirst = onFirst;
    try {
      return await work();
    } finally {
      this.#onFirst = outer;
    }
  }

  /** A further interrupt quits. */
  get isArmed(): boolean {
    return this.#clock.now() - this.#armedMs <= CLI_LIMITS.quitMs;
  }
}

/** Resolves with the value, or with undefined once the signal aborts; a later value or failure is dropped. */
export async function unlessAborted<T extends {} | null>(
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  let onAbort = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
