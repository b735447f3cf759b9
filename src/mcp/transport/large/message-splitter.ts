// Splits one long JSON-RPC message as it streams by into a small skeleton, pieces of lists, and long parts. Runs in a worker.
import { Buffer } from "node:buffer";
import { messageOf } from "../../../base/errors.js";
import { MCP_LIMITS } from "../../limits.js";
import { Bytes, type PartFacts, type PartSettings, PartStore, type SplitterFiles } from "./message-parts.js";

type LimitName = "longTextBytes" | "skeletonBytes" | "elementBytes" | "pieceBytes" | "maxValues" | "maxListBytes";

export const SPLITTER_LIMITS: Readonly<Record<LimitName, number>> = {
  longTextBytes: MCP_LIMITS.messageLongTextBytes,
  skeletonBytes: MCP_LIMITS.messagePlainBytes,
  elementBytes: MCP_LIMITS.messagePlainBytes,
  pieceBytes: MCP_LIMITS.messagePieceBytes,
  maxValues: MCP_LIMITS.messageMaxValues,
  maxListBytes: MCP_LIMITS.messageSpillBytes,
};

/** `nonce` is unguessable: placeholders of lists (`L<n>`) and parts (`P<n>`) begin with it. */
type SplitterSettings = typeof SPLITTER_LIMITS & { readonly nonce: string };

export interface SplitterData extends PartSettings {
  readonly settings: SplitterSettings;
  /** Shared memory through which the bytes come. */
  readonly slots: Uint8Array;
  readonly slotBytes: number;
  readonly spillBytes: number;
}

/** The worker's end of the channel between the threads. */
export interface SplitterPort {
  postMessage(message: FromSplitter): void;
  on(event: "message", listener: (message: ToSplitter) => void): unknown;
}

export type ToSplitter =
  | { readonly kind: "chunk"; readonly slot: number; readonly length: number }
  | { readonly kind: "end" }
  /** Asks for one more piece of a list. */
  | { readonly kind: "next" };

export type FromSplitter =
  | { readonly kind: "taken"; readonly slot: number; readonly length: number }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "skeleton"; readonly text: string; readonly parts: readonly PartFacts[] }
  | { readonly kind: "piece"; readonly list: number; readonly text: string; readonly hasParts: boolean }
  | { readonly kind: "over" };

/** Runs in the worker: splits one message, whose chunks the main thread announces over `port`. */
export function runSplitter(port: SplitterPort, data: SplitterData, files: SplitterFiles): void {
  const send = (message: FromSplitter) => port.postMessage(message);
  const pieces: FromSplitter[] = [];
  const parts = new PartStore(data, files);
  const splitter = new MessageSplitter(data.settings, parts, (list, elements, hasParts) => {
    pieces.push({ kind: "piece", list, text: new TextDecoder().decode(elements), hasParts });
  });
  const chunk = new Uint8Array(data.slotBytes);
  let bytes = 0;
  const handle = (message: ToSplitter): void => {
    switch (message.kind) {
      case "chunk": {
        const { slot, length } = message;
        const start = slot * data.slotBytes;
        chunk.set(data.slots.subarray(start, start + length)); // decoders take no shared memory
        send({ kind: "taken", slot, length });
        bytes += length;
        if (bytes > data.spillBytes) parts.spill();
        splitter.push(chunk.subarray(0, length));
        break;
      }
      case "end":
        send({ kind: "skeleton", text: new TextDecoder().decode(splitter.end()), parts: parts.facts() });
        break;
      case "next":
        send(pieces.shift() ?? { kind: "over" });
        break;
    }
  };
  port.on("message", (message: ToSplitter) => {
    try {
      handle(message);
    } catch (thrown) {
      send({ kind: "failed", reason: messageOf(thrown) });
    }
  });
}

/**
 * Where a byte belongs. `outer`: the message and its `result`, up to where a value begins. `value`: a member that is kept
 * whole. `list`: between the elements of an array in the result. `element`: one of those. `rest`: those over the limit.
 */
type Position = "outer" | "value" | "list" | "element" | "rest";

interface OpenString {
  readonly isKey: boolean;
  /** Where it begins in what is held. */
  readonly start: number;
  part: number;
  /** Bytes left of an escape: 0 outside, 1 right after the backslash, more inside of `\uXXXX`. */
  escape: number;
}

/** Elements of a list with commas between them, valid during the call. `hasParts`: with placeholders of parts. */
type OnPiece = (list: number, elements: Uint8Array, hasParts: boolean) => void;

class MessageSplitter {
  readonly #settings: SplitterSettings;
  readonly #parts: PartStore;
  readonly #onPiece: OnPiece;
  readonly #skeleton = new Bytes();
  readonly #held = new Bytes();
  readonly #piece = new Bytes();
  #pieceHasParts = false;
  #position: Position = "outer";
  /** Open containers, 1 for an object; and how many of them. */
  #stack: Uint8Array = new Uint8Array(64);
  #depth = 0;
  #key = "";
  #wantsValue = false;
  #expectsKey = false;
  #isBase64Key = false;
  #isDone = false;
  #values = 0;
  readonly #list = { count: 0, bytes: 0 };
  /** The value in progress: the depth it began at, and the part it is written to once it is too long. */
  readonly #value = { base: 0, part: -1, hasParts: false };
  #string: OpenString | undefined;

  constructor(settings: SplitterSettings, parts: PartStore, onPiece: OnPiece) {
    this.#settings = settings;
    this.#parts = parts;
    this.#onPiece = onPiece;
  }

  /** Throws when it is no JSON object. */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#string) at = this.#inString(chunk, at, this.#string);
      else if (this.#position === "outer" || this.#position === "list") at = this.#outer(chunk, at);
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
    if (this.#position === "list") return this.#betweenElements(byte, at);
    if (this.#wantsValue) return this.#beginMember(byte, at);
    if (this.#depth > 0 && byte === 0x22) {
      this.#string = { isKey: true, start: this.#skeleton.length, part: -1, escape: 0 };
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
      this.#position = "outer";
      return at + 1;
    }
    if (byte === 0x2c) return at + 1;
    if (byte === 0x7d) throw new Error("its brackets do not match");
    const { maxValues, maxListBytes } = this.#settings;
    this.#begin(this.#values > maxValues || this.#list.bytes > maxListBytes ? "rest" : "element");
    return at;
  }

  #beginMember(byte: number, at: number): number {
    this.#wantsValue = false;
    if (this.#depth === 1 && this.#key === "result" && byte === 0x7b) {
      this.#enter(1);
      this.#skeleton.append(Buffer.from("{"));
      return at + 1;
    }
    const isWhole = this.#key === "structuredContent" || this.#key === "_meta";
    if (this.#depth === 2 && byte === 0x5b && !isWhole) {
      this.#enter(0);
      this.#position = "list";
      this.#list.bytes = 0;
      this.#skeleton.append(Buffer.from(`"${this.#settings.nonce}L${this.#list.count++}"`));
      return at + 1;
    }
    this.#begin("value");
    return at;
  }

  #begin(position: "value" | "element" | "rest"): void {
    this.#position = position;
    this.#value.base = this.#depth;
    this.#expectsKey = false;
    this.#held.cut(0);
    this.#value.part = -1;
    this.#value.hasParts = false;
    if (position !== "rest") return;
    this.#value.part = this.#parts.open("json");
    this.#parts.write(this.#value.part, Buffer.from("["));
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
            this.#string = { isKey: this.#expectsKey, start: this.#held.length, part: -1, escape: 0 };
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
          if (this.#depth === this.#value.base) return this.#finish(chunk.subarray(from, at), at);
          this.#leave(byte);
          break;
        case 0x2c:
          if (this.#depth === this.#value.base && this.#position !== "rest")
            return this.#finish(chunk.subarray(from, at), at);
          this.#values++;
          this.#expectsKey = this.#stack[this.#depth - 1] === 1 && this.#depth > this.#value.base;
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

  #inString(chunk: Uint8Array, from: number, string: OpenString): number {
    const end = this.#stringEnd(chunk, from, string);
    const stop = end === -1 ? chunk.length : end;
    if (this.#position === "outer") {
      this.#skeleton.append(chunk.subarray(from, end === -1 ? stop : stop + 1));
      if (this.#skeleton.length - string.start > 1_024) throw new Error("a member has too long a name");
      if (end !== -1) this.#key = new TextDecoder().decode(this.#skeleton.from(string.start + 1).slice(0, -1));
    } else this.#valueString(chunk.subarray(from, stop), end !== -1, string);
    if (end === -1) return stop;
    this.#string = undefined;
    return end + 1;
  }

  #valueString(text: Uint8Array, isOver: boolean, string: OpenString): void {
    const mayMove = this.#position === "element" && !string.isKey && this.#value.part === -1;
    const length = this.#held.length - string.start - 1 + text.length;
    if (string.part === -1 && mayMove && length > this.#settings.longTextBytes) {
      string.part = this.#parts.open(this.#isBase64Key ? "base64" : "text");
      this.#parts.write(string.part, this.#held.from(string.start + 1));
      this.#held.cut(string.start);
    }
    if (string.part === -1) this.#emit(text);
    else this.#parts.write(string.part, text);
    if (!isOver) return;
    if (string.part === -1) {
      if (string.isKey) this.#isBase64Key = this.#isBase64Name(this.#held.from(string.start + 1));
      this.#emit(Buffer.from('"'));
    } else {
      this.#parts.close(string.part);
      this.#value.hasParts = true;
      this.#emit(this.#placeholder(string.part));
    }
  }

  /** The closing quote, or -1 when it is in a later chunk. */
  #stringEnd(chunk: Uint8Array, from: number, string: OpenString): number {
    let quote = chunk.indexOf(0x22, from);
    let slash = chunk.indexOf(0x5c, from);
    for (let at = from; at < chunk.length; ) {
      if (string.escape === 1) {
        string.escape = chunk[at] === 0x75 ? 5 : 0;
        at++;
      } else if (string.escape > 1) {
        string.escape--;
        at++;
        if (string.escape === 1) string.escape = 0;
      } else {
        if (slash !== -1 && slash < at) slash = chunk.indexOf(0x5c, at);
        if (quote !== -1 && quote < at) quote = chunk.indexOf(0x22, at);
        if (slash === -1 || (quote !== -1 && quote < slash)) return quote;
        string.escape = 1;
        at = slash + 1;
      }
    }
    return -1;
  }

  /** To the value under way: held while it is small, to a part of its own beyond that. */
  #emit(bytes: Uint8Array): void {
    if (this.#value.part !== -1) return this.#parts.write(this.#value.part, bytes);
    this.#held.append(bytes);
    const { skeletonBytes, elementBytes } = this.#settings;
    const limit = this.#position === "element" ? elementBytes : Math.max(0, skeletonBytes - this.#skeleton.length);
    if (this.#held.length <= limit) return;
    this.#value.part = this.#parts.open("json");
    this.#parts.write(this.#value.part, this.#withPaths(this.#held.from(0)));
    this.#held.cut(0);
  }

  /** Long parts that were taken out of a value before it turned out to be too long itself: it says where they are. */
  #withPaths(held: Uint8Array): Uint8Array {
    if (!this.#value.hasParts) return held;
    const placeholder = new RegExp(`"${this.#settings.nonce}P(\\d+)"`, "g");
    // Byte by byte: what is held may end in the middle of a character.
    const text = Buffer.from(held).toString("latin1");
    const filled = text.replace(placeholder, (_, part: string) => {
      const note = JSON.stringify(`[kept in the file ${this.#parts.pathOf(Number(part))}]`);
      return Buffer.from(note).toString("latin1");
    });
    return Buffer.from(filled, "latin1");
  }

  #finish(last: Uint8Array, at: number): number {
    this.#emit(last);
    const text = this.#value.part === -1 ? this.#held.from(0) : this.#placeholder(this.#value.part);
    if (this.#position === "rest") this.#parts.write(this.#value.part, Buffer.from("]"));
    if (this.#value.part !== -1) this.#parts.close(this.#value.part);
    if (this.#position === "value") {
      this.#skeleton.append(text);
      this.#position = "outer";
      return at;
    }
    if (this.#piece.length > 0) this.#piece.append(Buffer.from(","));
    this.#piece.append(text);
    this.#list.bytes += text.length;
    if (this.#piece.length >= this.#settings.pieceBytes) this.#flushPiece();
    this.#position = "list";
    return at;
  }

  #flushPiece(): void {
    if (this.#piece.length > 0) this.#onPiece(this.#list.count - 1, this.#piece.from(0), this.#pieceHasParts);
    this.#piece.cut(0);
    this.#pieceHasParts = false;
  }

  #placeholder(part: number): Uint8Array {
    this.#pieceHasParts = true;
    return Buffer.from(`"${this.#settings.nonce}P${part}"`);
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
