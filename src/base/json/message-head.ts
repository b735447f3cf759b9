// Finds whose message a JSON-RPC line is that is too long to be kept: its id and method, while the bytes go by.

import type { Buffer } from "node:buffer";
import { defined } from "./defined.js";
import { parseJson } from "./json.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
/** Of a key, an id or a method: longer ones are no id that anybody waits under. */
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
