// Splits a byte stream into lines: linear in the input however it is cut up, with a cap on the bytes held for one line.
import { Buffer } from "node:buffer";
import { defined } from "./defined.js";
import { parseJson } from "./json.js";

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

// Finds whose message a JSON-RPC line is that is too long to be kept: its id and method, while the bytes go by.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
/** Of a key, an id or a method: no request of ours has a longer id. */
const MAX_CAPTURED_BYTES = 1_024;

export interface MessageHead {
  readonly id?: string | number;
  /** A message with an id and no method is an answer. */
  readonly hasMethod: boolean;
}

/** Holds no more than one short token. Text that is no JSON gives some head or none, never an error. */
export class MessageHeadFinder {
  #id: string | number | undefined;
  #hasMethod = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The token under way, where it is a key or the id itself. */
  #token: number[] | undefined;
  #key: string | undefined;
  #isValue = false;

  get head(): MessageHead {
    this.#endToken(); // a number at the very end
    return { ...defined({ id: this.#id }), hasMethod: this.#hasMethod };
  }

  feed(bytes: Buffer): void {
    if (this.#id !== undefined && this.#hasMethod) return;
    for (let at = 0; at < bytes.length; at++) {
      if (this.#isInString) at = this.#passString(bytes, at);
      else this.#pass(bytes[at] ?? 0);
    }
  }

  /** Returns the place of the last byte it has dealt with. Long strings are crossed by searching for their end. */
  #passString(bytes: Buffer, at: number): number {
    if (this.#isEscaped) {
      this.#isEscaped = false;
      this.#take(bytes[at] ?? 0);
      return at;
    }
    if (this.#token === undefined) {
      const end = bytes.indexOf(QUOTE, at);
      const last = end === -1 ? bytes.length : end;
      let slashes = 0;
      while (last - slashes > at && bytes[last - slashes - 1] === BACKSLASH) slashes += 1;
      if (end === -1) this.#isEscaped = slashes % 2 === 1;
      else if (slashes % 2 === 0) this.#isInString = false;
      return last;
    }
    const byte = bytes[at] ?? 0;
    this.#take(byte);
    if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) {
      this.#isInString = false;
      this.#endToken();
    }
    return at;
  }

  #pass(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#isInString = true;
        if (this.#depth === 1 && (!this.#isValue || this.#key === "id")) this.#token = [QUOTE];
        break;
      case 0x7b: // {
      case 0x5b: // [
        this.#depth += 1;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        this.#endToken();
        this.#depth -= 1;
        break;
      case COLON:
        if (this.#depth === 1) this.#isValue = true;
        break;
      case COMMA:
        this.#endToken();
        if (this.#depth === 1) this.#isValue = false;
        break;
      default:
        if (this.#depth === 1 && this.#isValue && this.#key === "id") (this.#token ??= []).push(byte);
        this.#cap();
    }
  }

  #take(byte: number): void {
    this.#token?.push(byte);
    this.#cap();
  }

  #cap(): void {
    if (this.#token && this.#token.length > MAX_CAPTURED_BYTES) this.#token = undefined;
  }

  #endToken(): void {
    const token = this.#token;
    this.#token = undefined;
    if (!token) return;
    const read = parseJson(new TextDecoder().decode(Uint8Array.from(token)));
    const value = read.ok ? read.value : undefined;
    if (this.#depth !== 1) return;
    if (!this.#isValue) {
      this.#key = typeof value === "string" ? value : undefined;
      if (value === "method") this.#hasMethod = true;
    } else if (this.#key === "id" && (typeof value === "string" || typeof value === "number")) this.#id ??= value;
  }
}
