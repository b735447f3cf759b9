// An observable value: read it, set it, hear of every change.

export interface ReadonlyCell<T> {
  readonly value: T;
  /** Calls `listener` after each change, not for the current value; returns the way to stop. */
  subscribe(listener: (value: T) => void): () => void;
  /** Resolves with the first value (the current one included) that passes. Rejects when the signal aborts. */
  until(test: (value: T) => boolean, signal: AbortSignal): Promise<T>;
}

export class Cell<T> implements ReadonlyCell<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  /** Setting an identical value is no change. */
  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener(value);
  }

  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async until(test: (value: T) => boolean, signal: AbortSignal): Promise<T> {
    if (test(this.#value)) return this.#value;
    signal.throwIfAborted();
    return await new Promise<T>((resolve, reject) => {
      const stop = this.subscribe((value) => {
        if (!test(value)) return;
        leave();
        resolve(value);
      });
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const leave = () => {
        stop();
        signal.removeEventListener("abort", onAbort);
      };
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
