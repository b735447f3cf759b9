// Ctrl-C, once and again: the first one stops what runs, the next one quits.

export class Interrupts {
  readonly #quit = new AbortController();
  #onFirst: (() => void) | undefined;
  #isArmed = false;

  /** Aborts when the person quits. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  /** Where nothing can be stopped, the first interrupt quits already. */
  raise(): void {
    if (this.#isArmed || !this.#onFirst) {
      this.#quit.abort();
      return;
    }
    this.#isArmed = true;
    this.#onFirst();
  }

  /** Quits at once, without a first interrupt. */
  leave(): void {
    this.#quit.abort();
  }

  /** The person has done something else since: the next interrupt is a first one again. */
  disarm(): void {
    this.#isArmed = false;
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
}

/** Resolves with the value, or with undefined once the signal aborts; what comes later is dropped, failures included. */
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
