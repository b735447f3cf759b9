// An append-only record that tests can wait on: what was seen so far, and the first item that fits, now or later.

export interface WaitOptions {
  /** Only items at this index or later count. */
  readonly from?: number;
  /** Real time, whatever clock the code under test has: a test that waits in vain must end with a reason. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;

interface Waiter<T> {
  readonly from: number;
  readonly test: (item: T) => boolean;
  readonly resolve: (item: T) => void;
  readonly reject: (error: Error) => void;
}

export class Feed<T> {
  /** What the items are, for the message of a wait in vain. */
  readonly #what: string;
  readonly #items: T[] = [];
  readonly #waiters = new Set<Waiter<T>>();
  #ended: Error | undefined;

  constructor(what: string) {
    this.#what = what;
  }

  get items(): readonly T[] {
    return this.#items;
  }

  push(item: T): void {
    const index = this.#items.push(item) - 1;
    for (const waiter of [...this.#waiters]) {
      if (index >= waiter.from && waiter.test(item)) waiter.resolve(item);
    }
  }

  /** Nothing more will come: pending waits reject with the reason. */
  end(reason: Error): void {
    this.#ended ??= reason;
    for (const waiter of [...this.#waiters]) waiter.reject(reason);
  }

  /** The first item that passes, from those recorded or those to come. */
  async find(test: (item: T) => boolean, options: WaitOptions = {}): Promise<T> {
    const from = options.from ?? 0;
    const index = this.#items.findIndex((item, position) => position >= from && test(item));
    const [seen] = index === -1 ? [] : this.#items.slice(index, index + 1);
    if (seen !== undefined) return seen;
    if (this.#ended) throw this.#ended;
    return await this.#wait(test, from, options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  }

  #wait(test: (item: T) => boolean, from: number, timeoutMs: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter<T> = {
        from,
        test,
        resolve: (item) => {
          leave();
          resolve(item);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      const timer = setTimeout(() => waiter.reject(new Error(this.#inVain(timeoutMs))), timeoutMs);
      this.#waiters.add(waiter);
    });
  }

  #inVain(timeoutMs: number): string {
    const last = this.#items.slice(-3).map((item) => clip(JSON.stringify(item) ?? String(item)));
    const seen = last.length === 0 ? "none came" : `${this.#items.length} came, the last: ${last.join(" | ")}`;
    return `no such ${this.#what} within ${timeoutMs} ms; ${seen}`;
  }
}

function clip(text: string): string {
  return text.length <= 300 ? text : `${text.slice(0, 300)}…`;
}
