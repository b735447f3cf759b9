// Scores of few slots among many, in memory that is used again for the next query.

export class SparseScores {
  #values = new Float64Array(0);
  #touched = new Int32Array(0);
  #count = 0;

  /** Forgets all scores; slots below `capacity` may follow. */
  reset(capacity: number): void {
    if (capacity > this.#values.length) {
      const room = Math.ceil(capacity * 1.25);
      this.#values = new Float64Array(room);
      this.#touched = new Int32Array(room);
    } else {
      for (let at = 0; at < this.#count; at++) this.#values[this.#touched[at] ?? 0] = 0;
    }
    this.#count = 0;
  }

  get count(): number {
    return this.#count;
  }

  /** The slot that was the `at`th to get a score. */
  slotAt(at: number): number {
    return this.#touched[at] ?? 0;
  }

  of(slot: number): number {
    return this.#values[slot] ?? 0;
  }

  /** Only values above zero count: a slot with a score of nothing has none. */
  add(slot: number, value: number): void {
    if (!(value > 0)) return;
    const before = this.#values[slot] ?? 0;
    if (before === 0) this.#touched[this.#count++] = slot;
    this.#values[slot] = before + value;
  }

  raise(slot: number, value: number): void {
    if (!(value > 0)) return;
    const before = this.#values[slot] ?? 0;
    if (before === 0) this.#touched[this.#count++] = slot;
    if (value > before) this.#values[slot] = value;
  }

  scale(factor: number): void {
    for (let at = 0; at < this.#count; at++) {
      const slot = this.#touched[at] ?? 0;
      this.#values[slot] = (this.#values[slot] ?? 0) * factor;
    }
  }

  highest(): number {
    let highest = 0;
    for (let at = 0; at < this.#count; at++) highest = Math.max(highest, this.#values[this.#touched[at] ?? 0] ?? 0);
    return highest;
  }
}
