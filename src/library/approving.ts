// Which calls are made from inside an `approve` callback: the questions about them cannot wait for that callback's own answer.
import { AsyncLocalStorage } from "node:async_hooks";

export class Approving {
  readonly #storage = new AsyncLocalStorage<true>();
  #running = 0;

  /** Whether the caller of this runs in a callback, or in work that one has begun. */
  get isInside(): boolean {
    return this.#running > 0 && this.#storage.getStore() === true;
  }

  async run<T>(approve: () => T | Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await this.#storage.run(true, approve);
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#storage.disable(); // in use it costs every promise of the process
    }
  }
}
