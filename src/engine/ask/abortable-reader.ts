// Reads a stream of events no longer than a signal allows, whether or not what makes them heeds the signal.
import { abortListeners } from "../../base/async/scope.js";

export class AbortableReader<T> {
  readonly #iterator: AsyncIterator<T>;
  readonly #signal: AbortSignal;
  readonly #onAbort: () => void;
  #fail: (reason: unknown) => void = () => {};

  constructor(events: AsyncIterable<T>, signal: AbortSignal) {
    this.#iterator = events[Symbol.asyncIterator]();
    this.#signal = signal;
    this.#onAbort = () => this.#fail(signal.reason);
    abortListeners(signal).add(this.#onAbort);
  }

  /** Rejects with the signal's reason as soon as it fires; what comes of the event then is nobody's concern any more. */
  next(): Promise<IteratorResult<T>> {
    return new Promise((resolve, reject) => {
      if (this.#signal.aborted) return reject(this.#signal.reason);
      this.#fail = reject;
      this.#iterator.next().then(resolve, reject);
    });
  }

  /** Lets go of the stream. After an abort nobody waits for it: it may be stuck, which is why one aborted. */
  async close(): Promise<void> {
    abortListeners(this.#signal).delete(this.#onAbort);
    const ended = this.#end();
    if (!this.#signal.aborted) await ended;
  }

  /** What goes wrong in letting go has no consequence: what there was to say has been said. */
  async #end(): Promise<void> {
    try {
      await this.#iterator.return?.();
    } catch {
      // it had failed before
    }
  }
}
