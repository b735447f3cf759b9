// Takes one long JSON-RPC message apart as it streams by: a small skeleton, lists in pieces, and long parts on their own.
import { Bytes, type SlimSettings, type SlimSink } from "./slim-parts.js";

/**
 * Where a byte belongs. `outer`: the message and its `result`, up to where a value begins. `value`: a member that is kept
 * whole. `list`: between the elements of an array in the result. `element`: one of those. `rest`: those over the limit.
 */
type Place = "outer" | "value" | "list" | "element" | "rest";

export class MessageSplitter {
  readonly #settings: SlimSettings;
  readonly #sink: SlimSink;
  readonly #skeleton = new Bytes();
  readonly #held = new Bytes();
  readonly #piece = new Bytes();
  readonly #encoder: InstanceType<typeof TextEncoder> = new TextEncoder();
  #place: Place = "outer";
  /** Open containers, 1 for an object; and how many of them. */
  #stack: Uint8Array = new Uint8Array(64);
  #depth = 0;
  #base = 0;
  #key = "";
  #wantsValue = false;
  #expectsKey = false;
  #isBase64Key = false;
  #isDone = false;
  #lists = 0;
  #listBytes = 0;
  #values = 0;
  #pieceHasParts = false;
  /** The part that the whole value goes to, once it is too long. */
  #valuePart = -1;
  #valueHasParts = false;
  #isInString = false;
  #isKeyString = false;
  #stringStart = 0;
  #stringPart = -1;
  /** Bytes left of an escape: 0 outside, 1 right after the backslash, more inside of `\uXXXX`. */
  #escape = 0;

  constructor(settings: SlimSettings, sink: SlimSink) {
    this.#settings = settings;
    this.#sink = sink;
  }

  /** Throws when it is no JSON object. */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#isInString) at = this.#string(chunk, at);
      else if (this.#place === "outer" || this.#place === "list") at = this.#outer(chunk, at);
      else at = this.#inner(chunk, at);
    }
  }

  /** The skeleton: the message, with placeholders where lists and long parts were. */
  end(): Uint8Array {
    if (!this.#isDone) throw new Error("it ends in the middle of a message");
    return this.#skeleton.from(0);
  }

  /** One byte between values, where white space does not matter. */
  #outer(chunk: Uint8Array, at: number): number {
    const byte = chunk[at] ?? 0;
    if (byte <= 0x20) return at + 1;
    if (this.#isDone) throw new Error("something follows the message");
    if (this.#place === "list") return this.#betweenElements(byte, at);
    if (this.#wantsValue) return this.#beginMember(byte, at);
    if (this.#depth > 0 && byte === 0x22) {
      this.#isInString = true;
      this.#isKeyString = true;
      this.#stringStart = this.#skeleton.length;
    } else if (this.#depth === 0 && byte === 0x7b) this.#enter(1);
    else if (byte === 0x7d) this.#leave(byte);
    else if (byte === 0x3a) this.#wantsValue = true;
    else if (byte !== 0x2c) throw new Error("it is no JSON object");
    this.#skeleton.append(chunk.subarray(at, at + 1));
    if (this.#skeleton.length > this.#settings.skeletonBytes * 2) throw new Error("it has too many members");
    return at + 1;
  }

  #betweenElements(byte: number, at: number): number {
    if (byte === 0x5d) {
      this.#leave(byte);
      this.#flushPiece();
      this.#place = "outer";
      return at + 1;
    }
    if (byte === 0x2c) return at + 1;
    if (byte === 0x7d) throw new Error("its brackets do not match");
    const { maxValues, maxListBytes } = this.#settings;
    this.#begin(this.#values > maxValues || this.#listBytes > maxListBytes ? "rest" : "element");
    return at;
  }

  #beginMember(byte: number, at: number): number {
    this.#wantsValue = false;
    if (this.#depth === 1 && this.#key === "result" && byte === 0x7b) {
      this.#enter(1);
      this.#skeleton.append(this.#encoder.encode("{"));
      return at + 1;
    }
    const isWhole = this.#key === "structuredContent" || this.#key === "_meta";
    if (this.#depth === 2 && byte === 0x5b && !isWhole) {
      this.#enter(0);
      this.#place = "list";
      this.#listBytes = 0;
      this.#skeleton.append(this.#encoder.encode(`"${this.#settings.nonce}L${this.#lists++}"`));
      return at + 1;
    }
    this.#begin("value");
    return at;
  }

  #begin(place: "value" | "element" | "rest"): void {
    this.#place = place;
    this.#base = this.#depth;
    this.#expectsKey = false;
    this.#held.cut(0);
    this.#valuePart = -1;
    this.#valueHasParts = false;
    if (place !== "rest") return;
    this.#valuePart = this.#sink.open("json");
    this.#sink.write(this.#valuePart, this.#encoder.encode("["));
  }

  /** Inside a value: to its end, to a string that needs care, or to the end of the chunk. */
  #inner(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      switch (byte) {
        case 0x22: {
          const end = this.#shortStringEnd(chunk, at);
          if (end === -1) {
            this.#emit(chunk.subarray(from, at));
            this.#isInString = true;
            this.#isKeyString = this.#expectsKey;
            this.#stringStart = this.#held.length;
            this.#emit(chunk.subarray(at, at + 1));
            return at + 1;
          }
          at = end;
          break;
        }
        case 0x5b:
        case 0x7b:
          this.#values++;
          this.#enter(byte === 0x7b ? 1 : 0);
          break;
        case 0x5d:
        case 0x7d:
          if (this.#depth === this.#base) return this.#finish(chunk.subarray(from, at), at);
          this.#leave(byte);
          break;
        case 0x2c:
          if (this.#depth === this.#base && this.#place !== "rest") return this.#finish(chunk.subarray(from, at), at);
          this.#values++;
          this.#expectsKey = this.#stack[this.#depth - 1] === 1 && this.#depth > this.#base;
          break;
        case 0x3a:
          this.#expectsKey = false;
          break;
        default:
      }
    }
    this.#emit(chunk.subarray(from));
    return chunk.length;
  }

  /** Where a string ends that is short, whole and free of escapes at its end: nearly all of them. Otherwise -1. */
  #shortStringEnd(chunk: Uint8Array, at: number): number {
    const end = chunk.indexOf(0x22, at + 1);
    if (end === -1 || end - at > this.#settings.longTextBytes || chunk[end - 1] === 0x5c) return -1;
    if (this.#expectsKey) this.#isBase64Key = end - at === 5 && this.#isBase64Name(chunk.subarray(at + 1, end));
    return end;
  }

  /** `data` or `blob`: what the protocol calls the members that hold base64. */
  #isBase64Name([a, b, c, d, ...more]: Uint8Array): boolean {
    const isData = a === 0x64 && b === 0x61 && c === 0x74 && d === 0x61;
    const isBlob = a === 0x62 && b === 0x6c && c === 0x6f && d === 0x62;
    return more.length === 0 && (isData || isBlob);
  }

  #string(chunk: Uint8Array, from: number): number {
    const end = this.#stringEnd(chunk, from);
    const stop = end === -1 ? chunk.length : end;
    const text = chunk.subarray(from, stop);
    if (this.#place === "outer") {
      this.#skeleton.append(chunk.subarray(from, end === -1 ? stop : stop + 1));
      if (this.#skeleton.length - this.#stringStart > 1_024) throw new Error("a member has too long a name");
      if (end !== -1) this.#key = new TextDecoder().decode(this.#skeleton.from(this.#stringStart + 1).slice(0, -1));
    } else this.#valueString(text, end !== -1);
    if (end === -1) return stop;
    this.#isInString = false;
    return end + 1;
  }

  #valueString(text: Uint8Array, isOver: boolean): void {
    const mayMove = this.#place === "element" && !this.#isKeyString && this.#valuePart === -1;
    const length = this.#held.length - this.#stringStart - 1 + text.length;
    if (this.#stringPart === -1 && mayMove && length > this.#settings.longTextBytes) {
      this.#stringPart = this.#sink.open(this.#isBase64Key ? "base64" : "text");
      this.#sink.write(this.#stringPart, this.#held.from(this.#stringStart + 1));
      this.#held.cut(this.#stringStart);
    }
    if (this.#stringPart === -1) this.#emit(text);
    else this.#sink.write(this.#stringPart, text);
    if (!isOver) return;
    if (this.#stringPart === -1) {
      if (this.#isKeyString) this.#isBase64Key = this.#isBase64Name(this.#held.from(this.#stringStart + 1));
      this.#emit(this.#encoder.encode('"'));
    } else {
      this.#sink.close(this.#stringPart);
      this.#valueHasParts = true;
      this.#emit(this.#placeholder(this.#stringPart));
      this.#stringPart = -1;
    }
  }

  /** The closing quote, or -1 when it is in a later chunk. */
  #stringEnd(chunk: Uint8Array, from: number): number {
    let quote = chunk.indexOf(0x22, from);
    let slash = chunk.indexOf(0x5c, from);
    for (let at = from; at < chunk.length; ) {
      if (this.#escape === 1) {
        this.#escape = chunk[at] === 0x75 ? 5 : 0;
        at++;
      } else if (this.#escape > 1) {
        this.#escape--;
        at++;
        if (this.#escape === 1) this.#escape = 0;
      } else {
        if (slash !== -1 && slash < at) slash = chunk.indexOf(0x5c, at);
        if (quote !== -1 && quote < at) quote = chunk.indexOf(0x22, at);
        if (slash === -1 || (quote !== -1 && quote < slash)) return quote;
        this.#escape = 1;
        at = slash + 1;
      }
    }
    return -1;
  }

  /** To the value under way: held while it is small, to a part of its own beyond that. */
  #emit(bytes: Uint8Array): void {
    if (this.#valuePart !== -1) {
      this.#sink.write(this.#valuePart, bytes);
      return;
    }
    this.#held.append(bytes);
    const { skeletonBytes, elementBytes } = this.#settings;
    const limit = this.#place === "element" ? elementBytes : Math.max(0, skeletonBytes - this.#skeleton.length);
    if (this.#held.length <= limit) return;
    this.#valuePart = this.#sink.open("json");
    this.#sink.write(this.#valuePart, this.#withPaths(this.#held.from(0)));
    this.#held.cut(0);
  }

  /** Long parts that were taken out of a value before it turned out to be too long itself: it says where they are. */
  #withPaths(held: Uint8Array): Uint8Array {
    if (!this.#valueHasParts) return held;
    const placeholder = new RegExp(`"${this.#settings.nonce}P(\\d+)"`, "g");
    // Byte by byte: what is held may end in the middle of a character.
    const text = Buffer.from(held).toString("latin1");
    const filled = text.replace(placeholder, (_, part: string) => {
      const note = JSON.stringify(`[kept in the file ${this.#sink.pathOf(Number(part))}]`);
      return Buffer.from(note).toString("latin1");
    });
    return Buffer.from(filled, "latin1");
  }

  #finish(last: Uint8Array, at: number): number {
    this.#emit(last);
    const text = this.#valuePart === -1 ? this.#held.from(0) : this.#placeholder(this.#valuePart);
    if (this.#place === "rest") this.#sink.write(this.#valuePart, this.#encoder.encode("]"));
    if (this.#valuePart !== -1) this.#sink.close(this.#valuePart);
    if (this.#place === "value") {
      this.#skeleton.append(text);
      this.#place = "outer";
      return at;
    }
    if (this.#piece.length > 0) this.#piece.append(this.#encoder.encode(","));
    this.#piece.append(text);
    this.#listBytes += text.length;
    if (this.#piece.length >= this.#settings.pieceBytes) this.#flushPiece();
    this.#place = "list";
    return at;
  }

  #flushPiece(): void {
    if (this.#piece.length > 0) this.#sink.piece(this.#lists - 1, this.#piece.from(0), this.#pieceHasParts);
    this.#piece.cut(0);
    this.#pieceHasParts = false;
  }

  #placeholder(part: number): Uint8Array {
    this.#pieceHasParts = true;
    return this.#encoder.encode(`"${this.#settings.nonce}P${part}"`);
  }

  #enter(isObject: number): void {
    if (this.#depth === this.#stack.length) {
      const grown = new Uint8Array(this.#depth * 2);
      grown.set(this.#stack);
      this.#stack = grown;
    }
    this.#stack[this.#depth++] = isObject;
    this.#expectsKey = isObject === 1;
  }

  #leave(closing: number): void {
    const wanted = this.#stack[this.#depth - 1] === 1 ? 0x7d : 0x5d;
    if (this.#depth === 0 || closing !== wanted) throw new Error("its brackets do not match");
    this.#depth--;
    this.#expectsKey = false;
    if (this.#depth === 0) this.#isDone = true;
  }
}
