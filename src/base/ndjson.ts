// Splits a byte stream into lines without ever joining what it has not to: linear in the input, with a cap per line.
import { Buffer } from "node:buffer";

export type Line = { readonly kind: "line"; readonly text: string } | { readonly kind: "oversize"; readonly bytes: number };

const NEWLINE = 0x0a;

export class LineSplitter {
  readonly #maxLineBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #isSkipping = false;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The lines that `chunk` completes. A line over the cap is dropped as it comes and reported once, when it ends. */
  push(chunk: Uint8Array): Line[] {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lines: Line[] = [];
    let start = 0;
    for (let end = buffer.indexOf(NEWLINE); end !== -1; end = buffer.indexOf(NEWLINE, start)) {
      this.#keep(buffer.subarray(start, end));
      this.#take(lines);
      start = end + 1;
    }
    if (start < buffer.length) this.#keep(buffer.subarray(start));
    return lines;
  }

  /** What is left without a newline at the end of the stream. */
  flush(): Line[] {
    const lines: Line[] = [];
    if (this.#bytes > 0) this.#take(lines);
    return lines;
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxLineBytes) {
      this.#isSkipping = true;
      this.#parts = [];
    }
    if (!this.#isSkipping && part.length > 0) this.#parts.push(part);
  }

  #take(lines: Line[]): void {
    if (this.#isSkipping) lines.push({ kind: "oversize", bytes: this.#bytes });
    else {
      const [first] = this.#parts;
      const whole = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts, this.#bytes);
      const text = whole.toString("utf8").trim();
      if (text !== "") lines.push({ kind: "line", text });
    }
    this.#parts = [];
    this.#bytes = 0;
    this.#isSkipping = false;
  }
}
