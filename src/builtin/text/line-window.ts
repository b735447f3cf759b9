// Some lines out of the middle of a long text that comes in pieces: only those lines are ever held.
import { Buffer } from "node:buffer";
import { BUILTIN_LIMITS } from "../limits.js";

const NEWLINE = 0x0a;
/** A character of UTF-8 takes up to four bytes. */
const MAX_LINE_BYTES = BUILTIN_LIMITS.lineMaxChars * 4;

export interface WindowOptions {
  /** The first line wanted, from 1. */
  readonly first: number;
  readonly maxLines: number;
  readonly maxBytes: number;
}

export class LineWindow {
  readonly #options: WindowOptions;
  readonly #lines: string[] = [];
  #bytes = 0;
  /** Of the line under way: its number, what is kept of it, and its length. */
  #number = 1;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #lineBytes = 0;
  #isFull = false;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  /** Nothing more will be kept; what still comes is only counted. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The lines kept, with their numbers. */
  get text(): string {
    return this.#lines.join("\n");
  }

  get keptLines(): number {
    return this.#lines.length;
  }

  /** Lines so far, an unended last one included. */
  get totalLines(): number {
    return this.#lineBytes > 0 ? this.#number : this.#number - 1;
  }

  push(chunk: Uint8Array): void {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = buffer.indexOf(NEWLINE); end !== -1; end = buffer.indexOf(NEWLINE, start)) {
      this.#hold(buffer.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
    this.#hold(buffer.subarray(start));
  }

  end(): void {
    if (this.#lineBytes > 0) this.#finish();
  }

  #hold(part: Buffer): void {
    this.#lineBytes += part.length;
    const room = MAX_LINE_BYTES - this.#heldBytes;
    if (this.#isFull || this.#number < this.#options.first || room <= 0 || part.length === 0) return;
    this.#held.push(Buffer.from(part.subarray(0, room)));
    this.#heldBytes += Math.min(part.length, room);
  }

  #finish(): void {
    if (this.#number >= this.#options.first && !this.#isFull) this.#keep();
    this.#number += 1;
    this.#held = [];
    this.#heldBytes = 0;
    this.#lineBytes = 0;
  }

  #keep(): void {
    const whole = Buffer.concat(this.#held).toString("utf8").replace(/\r$/u, "");
    const isCut = this.#lineBytes > this.#heldBytes || whole.length > BUILTIN_LIMITS.lineMaxChars;
    const shown = isCut ? `${whole.slice(0, BUILTIN_LIMITS.lineMaxChars)}… [line of ${this.#lineBytes} bytes]` : whole;
    const line = `${this.#number}\t${shown}`;
    const bytes = Buffer.byteLength(line) + 1;
    const isFirst = this.#lines.length === 0;
    if (!isFirst && this.#bytes + bytes > this.#options.maxBytes) {
      this.#isFull = true;
      return;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
    if (this.#lines.length >= this.#options.maxLines) this.#isFull = true;
  }
}
