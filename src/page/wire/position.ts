// Where a client is in the records of a session: which updates it has, so that none is missing or shown twice.

/** `_meta.tenon` of a `session/update`: `seq` on the last part of a record, `partOf` and `part` on those before it. */
export interface UpdatePlace {
  readonly seq?: number;
  readonly partOf?: number;
  readonly part?: number;
}

/** Updates without a number are of the moment: they are always taken. */
export class Position {
  #last = 0;
  #partOf = 0;
  /** Parts of the record after the last whole one. */
  #parts = 0;

  /** Of the last record that is there as a whole: what to resume after. */
  get last(): number {
    return this.#last;
  }

  /** False for what is there already. */
  take({ seq, partOf, part = 0 }: UpdatePlace): boolean {
    if (seq !== undefined) {
      if (seq <= this.#last) return false;
      this.#last = seq;
      return true;
    }
    if (partOf === undefined) return true;
    if (partOf <= this.#last) return false;
    if (partOf !== this.#partOf) [this.#partOf, this.#parts] = [partOf, 0];
    if (part < this.#parts) return false;
    this.#parts = part + 1;
    return true;
  }

  /** It is loaded from its beginning. */
  reset(): void {
    [this.#last, this.#partOf, this.#parts] = [0, 0, 0];
  }
}
