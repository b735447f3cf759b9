// A bounded async queue between one producer side and one consumer: the producer waits while it is full.

export class Channel<T> implements AsyncIterable<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  readonly #waitingSenders: (() => void)[] = [];
  #waitingReader: (() => void) | undefined;
  #isClosed = false;

  constructor(capacity: number) {
    if (!(capacity >= 1)) throw new RangeError(`channel capacity must be at least 1, got ${capacity}`);
    this.#capacity = capacity;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Resolves true once the item is queued, false when the channel is closed and nobody will read it. */
  async send(item: T): Promise<boolean> {
    while (!this.#isClosed && this.#items.length >= this.#capacity) {
      await new Promise<void>((resolve) => this.#waitingSenders.push(resolve));
    }
    return this.offer(item);
  }

  /** Queues without waiting, over the capacity if need be: for what must keep its order and cannot wait. */
  offer(item: T): boolean {
    if (this.#isClosed) return false;
    this.#items.push(item);
    this.#wakeReader();
    return true;
  }

  /** Ends the channel. What is queued is still read. */
  close(): void {
    this.#isClosed = true;
    this.#wakeReader();
    for (const wake of this.#waitingSenders.splice(0)) wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    try {
      for (;;) {
        if (this.#items.length > 0) {
          const [item] = this.#items.splice(0, 1);
          this.#waitingSenders.shift()?.();
          if (item !== undefined) yield item;
        } else if (this.#isClosed) return;
        else await new Promise<void>((resolve) => (this.#waitingReader = resolve));
      }
    } finally {
      this.close();
      this.#items.length = 0;
    }
  }

  #wakeReader(): void {
    this.#waitingReader?.();
    this.#waitingReader = undefined;
  }
}
