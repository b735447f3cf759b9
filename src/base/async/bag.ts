// A set for what comes and goes with every call.
//
// V8 leaves the table of a Set behind when it makes the next one, with its items and a link to that. Once such a table has
// become old, all that follow it stay until the next full collection, and every call that was ever in them with it.

/** So many are looked through; more are kept in a Set. */
const FEW = 32;

/** Items in the order in which they were added, each once. */
export class Bag<T> implements Iterable<T> {
  readonly #few: T[] = [];
  /** Those that came later, while there are any. */
  #more: Set<T> | undefined;

  get size(): number {
    return this.#few.length + (this.#more?.size ?? 0);
  }

  add(item: T): this {
    const few = this.#few;
    if (few.length > 0 && few.includes(item)) return this;
    if (!this.#more && few.length < FEW) few.push(item);
    else (this.#more ??= new Set()).add(item);
    return this;
  }

  delete(item: T): boolean {
    const few = this.#few;
    const at = few.lastIndexOf(item);
    if (at !== -1) {
      if (at === few.length - 1) few.pop();
      else few.splice(at, 1);
      return true;
    }
    const isDeleted = this.#more?.delete(item) ?? false;
    if (this.#more?.size === 0) this.#more = undefined;
    return isDeleted;
  }

  /** Of those there are now. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#few, ...(this.#more ?? [])].values();
  }
}
