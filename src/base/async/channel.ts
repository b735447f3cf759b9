// A bounded async queue between producers and one consumer: a producer waits while it is full.

interface Entry<T> {
  readonly item: T;
  next: Entry<T> | undefined;
}

/** First in, first out, each step in constant time; entries rather than items, because `undefined` is an item too. */
class Queue<T> {
  #first: Entry<T> | undefined;
  #last: Entry<T> | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    const entry: Entry<T> = { item, next: undefined };
    if (this.#last) this.#last.next = entry;
    else this.#first = entry;
    this.#last = entry;
    this.#length += 1;
  }

  shift(): Entry<T> | undefined {
    const entry = this.#first;
    if (!entry) return undefined;
    this.#first = entry.next;
    if (!this.#first) this.#last = undefined;
    this.#length -= 1;
    return entry;
  }

  clear(): void {
    this.#first = undefined;
    this.#last = undefined;
    this.#length = 0;
  }
}

interface Sender<T> {
  readonly item: T;
  readonly settle: (isQueued: boolean) => void;
}

export class Channel<T> implements AsyncIterable<T> {
  readonly #capacity: number;
  readonly #items = new Queue<T>();
  readonly #senders = new Queue<Sender<T>>();
  readonly #readers = new Queue<(result: IteratorResult<T, void>) => void>();
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

  /** Resolves true once the item is queued, false when the channel is closed. Order is kept. */
  async send(item: T): Promise<boolean> {
    if (this.#isClosed) return false;
    if (this.#items.length < this.#capacity) return this.offer(item);
    return await new Promise<boolean>((settle) => this.#senders.push({ item, settle }));
  }

  /**
   * Queues without waiting, over the capacity if need be: for what must keep its order and cannot wait. Items whose
   * senders wait were sent before it, so they are queued before it.
   */
  offer(item: T): boolean {
    if (this.#isClosed) return false;
    this.#admitSenders(Number.POSITIVE_INFINITY);
    const reader = this.#readers.shift();
    if (reader) reader.item({ done: false, value: item });
    else this.#items.push(item);
    return true;
  }

  /** Ends the channel. What is queued is still read. */
  close(): void {
    this.#isClosed = true;
    for (let reader = this.#readers.shift(); reader; reader = this.#readers.shift()) {
      reader.item({ done: true, value: undefined });
    }
    for (let sender = this.#senders.shift(); sender; sender = this.#senders.shift()) sender.item.settle(false);
  }

  /**
   * Leaving the loop, or `return()` at any moment, closes the channel and frees its senders. Not a generator: that one
   * would keep `return()` waiting behind a `next()` that waits for an item, and ignore it before the first `next()`.
   */
  [Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    const abandon = (): void => {
      this.close();
      this.#items.clear();
    };
    return {
      next: () => this.#take(),
      return: async () => {
        abandon();
        return { done: true, value: undefined };
      },
      throw: async (error: unknown) => {
        abandon();
        throw error;
      },
      [Symbol.asyncIterator]() {
        return this;
      },
      [Symbol.asyncDispose]: async () => abandon(),
    };
  }

  async #take(): Promise<IteratorResult<T, void>> {
    const entry = this.#items.shift();
    if (entry) {
      this.#admitSenders(this.#capacity);
      return { done: false, value: entry.item };
    }
    if (this.#isClosed) return { done: true, value: undefined };
    return await new Promise<IteratorResult<T, void>>((resolve) => this.#readers.push(resolve));
  }

  /** Queues the items of waiting senders, longest waiting first, while there is room for them. */
  #admitSenders(capacity: number): void {
    while (this.#items.length < capacity) {
      const sender = this.#senders.shift();
      if (!sender) return;
      this.#items.push(sender.item.item);
      sender.item.settle(true);
    }
  }
}
