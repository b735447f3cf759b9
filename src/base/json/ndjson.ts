// Splits a byte stream into lines: linear in the input however it is cut up, with a cap on the bytes held for one line.

import { Buffer } from "node:buffer";
import { defined } from "./defined.js";
import { type MessageHead, MessageHeadFinder } from "./message-head.js";

export type Line =
  | { readonly kind: "line"; readonly text: string }
  | {
      readonly kind: "oversize";
      readonly bytes: number;
      /** Where the splitter looks for it. */
      readonly head?: MessageHead;
    };

const NEWLINE = 0x0a;
const NOTHING: Buffer = Buffer.alloc(0);
/** First size of the buffer, and the size up to which it is kept for the next line. */
const FIRST_BYTES = 4_096;
const KEPT_BYTES = 65_536;

export class LineSplitter {
  readonly #maxLineBytes: number;
  /** The start of a line whose end has not come. Copied, since a list of tiny chunks would cost far more than their bytes. */
  #held: Buffer = NOTHING;
  /** Bytes of that line so far, the dropped ones included. */
  #bytes = 0;
  readonly #findsHeads: boolean;
  /** There while a line over the cap goes by. */
  #finder: MessageHeadFinder | undefined;

  /** `findsHeads`: the lines are JSON-RPC messages, and of one over the cap its id is to be known. */
  constructor(maxLineBytes: number, { findsHeads = false }: { readonly findsHeads?: boolean } = {}) {
    this.#maxLineBytes = maxLineBytes;
    this.#findsHeads = findsHeads;
  }

  /** The lines that `chunk` completes. A line over the cap is dropped as it comes and reported once, when it ends. */
  push(chunk: Uint8Array): Line[] {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lines: Line[] = [];
    let start = 0;
    for (let end = buffer.indexOf(NEWLINE); end !== -1; end = buffer.indexOf(NEWLINE, start)) {
      this.#finish(buffer.subarray(start, end), lines);
      start = end + 1;
    }
    this.#hold(buffer.subarray(start));
    return lines;
  }

  /** What is left without a newline at the end of the stream. */
  flush(): Line[] {
    const lines: Line[] = [];
    this.#finish(NOTHING, lines);
    return lines;
  }

  #finish(rest: Buffer, lines: Line[]): void {
    let whole = rest;
    if (this.#bytes > 0) {
      this.#hold(rest);
      whole = this.#held.subarray(0, this.#bytes);
    }
    const bytes = Math.max(this.#bytes, rest.length);
    if (bytes > this.#maxLineBytes) {
      if (this.#bytes === 0) this.#pass(NOTHING, rest); // it came in one piece
      const head = this.#finder?.head;
      lines.push({ kind: "oversize", bytes, ...defined({ head }) });
      this.#finder = undefined;
    } else {
      const text = whole.toString("utf8").trim();
      if (text !== "") lines.push({ kind: "line", text });
    }
    this.#bytes = 0;
    if (this.#held.length > KEPT_BYTES) this.#held = NOTHING;
  }

  #hold(part: Buffer): void {
    const before = this.#bytes;
    this.#bytes += part.length;
    if (this.#bytes > this.#maxLineBytes) {
      this.#pass(this.#held.subarray(0, before), part);
      this.#held = NOTHING;
      return;
    }
    if (this.#bytes > this.#held.length) {
      const wanted = Math.max(this.#bytes, this.#held.length * 2, FIRST_BYTES);
      const grown = Buffer.allocUnsafeSlow(Math.min(wanted, this.#maxLineBytes));
      this.#held.copy(grown, 0, 0, before);
      this.#held = grown;
    }
    part.copy(this.#held, before);
  }

  /** `held`: what was kept of the line before it went over the cap. */
  #pass(held: Buffer, part: Buffer): void {
    if (!this.#findsHeads) return;
    if (!this.#finder) {
      this.#finder = new MessageHeadFinder();
      this.#finder.feed(held);
    }
    this.#finder.feed(part);
  }
}
