// Bytes that come in pieces, joined in linear time and capped.
import { Buffer } from "node:buffer";

const NOTHING: Buffer = Buffer.alloc(0);

/** The first piece is kept as it is; with a second one they are copied into a growing buffer. */
export class Gathered {
  droppedBytes = 0;
  readonly #maxBytes: number;
  #bytes: Buffer = NOTHING;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  get isEmpty(): boolean {
    return this.#length === 0 && this.droppedBytes === 0;
  }

  add(piece: Buffer): void {
    if (this.droppedBytes > 0 || this.#length + piece.length > this.#maxBytes) {
      this.droppedBytes += this.#length + piece.length;
      this.#bytes = NOTHING;
      this.#length = 0;
      return;
    }
    if (this.#length === 0) this.#bytes = piece;
    else this.#append(piece);
    this.#length += piece.length;
  }

  /** All of it, with this last piece. */
  with(last: Buffer): Buffer {
    if (last.length > 0) this.add(last);
    return this.peek();
  }

  /** What is there so far. */
  peek(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** All of it, and nothing is kept. */
  take(): Buffer {
    const all = this.with(NOTHING);
    this.clear();
    return all;
  }

  clear(): void {
    this.#bytes = NOTHING;
    this.#length = 0;
    this.droppedBytes = 0;
  }

  #append(piece: Buffer): void {
    const wanted = this.#length + piece.length;
    // Always so after the first piece, whose memory belongs to somebody else and is not written to.
    if (wanted > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(wanted, this.#length * 2), this.#maxBytes));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    piece.copy(this.#bytes, this.#length);
  }
}
