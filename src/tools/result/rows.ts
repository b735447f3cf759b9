// Kept text as rows to search: its lines, and of a very long line pieces that overlap.

export interface Row {
  /** Counts from 1. */
  readonly line: number;
  /** Where the row begins in the kept text. */
  readonly byte: number;
  readonly text: string;
  /** Only a part of its line. */
  readonly isPart: boolean;
}

/** A line up to this is one row. Longer ones are cut into rows of this size that overlap by half. */
export const ROW_CHARS = 4_096;

/** Takes text in pieces cut anywhere between characters, and gives the rows that are complete. */
export class Rows {
  #held = "";
  #line = 1;
  #byte = 0;
  #isPart = false;

  *push(text: string): Generator<Row, void, void> {
    const lines = (this.#held + text).split("\n");
    this.#held = lines.pop() ?? "";
    for (const line of lines) {
      yield* this.#parts(line);
      yield this.#row(this.#rest);
      this.#line += 1;
      this.#byte += Buffer.byteLength(this.#rest) + 1;
      this.#isPart = false;
    }
    yield* this.#parts(this.#held);
    this.#held = this.#rest;
  }

  *end(): Generator<Row, void, void> {
    yield this.#row(this.#held);
  }

  #rest = "";

  /** The parts of a long line but for the last, which is left in `#rest`. */
  *#parts(line: string): Generator<Row, void, void> {
    let start = 0;
    while (line.length - start > ROW_CHARS) {
      this.#isPart = true;
      yield this.#row(line.slice(start, start + ROW_CHARS));
      const step = ROW_CHARS / 2;
      const half = line.slice(start, start + step);
      // Never within a character: the bytes would not add up.
      const size = /[\ud800-\udbff]$/u.test(half) ? step - 1 : step;
      this.#byte += Buffer.byteLength(line.slice(start, start + size));
      start += size;
    }
    this.#rest = start === 0 ? line : line.slice(start);
  }

  #row(text: string): Row {
    return { line: this.#line, byte: this.#byte, text, isPart: this.#isPart };
  }
}
