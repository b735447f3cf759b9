// Finds the place a JSON pointer leads to in a long JSON text, byte by byte: nothing is parsed on the way, nothing is kept.
import { parseJson } from "../../base/json/json.js";

/** `found`: where the value begins and ends. `missing`: how far the pointer leads, and why no further. */
export type ScanResult =
  | { readonly kind: "found"; readonly start: number; readonly end: number }
  | { readonly kind: "missing"; readonly steps: number; readonly reason: string }
  | { readonly kind: "not_json"; readonly at: number };

type Mode = "value" | "first_key" | "key" | "in_key" | "colon" | "first_element" | "skip" | "after";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A step into a list: RFC 6901 allows no leading zeros, and `-` names what is not there. */
const INDEX = /^(?:0|[1-9]\d{0,9})$/;

/**
 * Feed it the text in parts of any size, then end it. What lies beside the way is only looked at for its quotes and
 * brackets. Of a key that occurs twice the first one counts.
 */
export class PointerScan {
  readonly #steps: readonly string[];
  #mode: Mode = "value";
  /** Of the byte at hand, in the whole text. */
  #at = 0;
  #matched = 0;
  #index = 0;
  #isInList = false;
  #isKeyRight = false;
  #key: number[] = [];
  #isEscaped = false;
  #isInString = false;
  #depth = 0;
  /** A number or a literal is being skipped. */
  #isInPlain = false;
  /** Where the value that is looked for begins. */
  #start: number | undefined;
  #result: ScanResult | undefined;

  constructor(steps: readonly string[]) {
    this.#steps = steps;
  }

  push(bytes: Uint8Array): ScanResult | undefined {
    for (const byte of bytes) {
      if (this.#result) break;
      this.#take(byte);
      this.#at += 1;
    }
    return this.#result;
  }

  end(): ScanResult {
    if (!this.#result && this.#isInPlain && this.#depth === 0) this.#leave();
    return this.#result ?? { kind: "not_json", at: this.#at };
  }

  #take(byte: number): void {
    if (this.#result) return;
    if (this.#mode === "in_key") return this.#takeInKey(byte);
    if (this.#mode === "skip") return this.#takeSkipped(byte);
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return;
    switch (this.#mode) {
      case "value":
        return this.#takeValue(byte);
      case "first_key":
        if (byte === CLOSE_OBJECT) return this.#miss(`it has no key ${this.#wanted}`);
        return this.#takeKey(byte);
      case "key":
        return this.#takeKey(byte);
      case "colon":
        return byte === COLON ? this.#goOn() : this.#refuse();
      case "first_element":
        if (byte === CLOSE_LIST) return this.#miss("it is an empty list");
        this.#goOn();
        return this.#take(byte);
      default:
        return this.#takeAfter(byte);
    }
  }

  get #wanted(): string {
    return JSON.stringify(this.#steps[this.#matched] ?? "");
  }

  /** At the start of a value on the way, or of the one that is looked for. */
  #takeValue(byte: number): void {
    if (this.#matched === this.#steps.length) {
      this.#start = this.#at;
      this.#mode = "skip";
      return this.#takeSkipped(byte);
    }
    this.#isInList = byte === OPEN_LIST;
    if (byte === OPEN_OBJECT) this.#mode = "first_key";
    else if (byte === OPEN_LIST && INDEX.test(this.#steps[this.#matched] ?? "")) {
      this.#mode = "first_element";
      this.#index = 0;
    } else if (byte === OPEN_LIST) this.#miss(`it is a list, and ${this.#wanted} is no index (0, 1, 2…)`);
    else if (isPlainStart(byte)) this.#miss("there is a plain value, with nothing inside");
    else this.#refuse();
  }

  #takeKey(byte: number): void {
    if (byte !== QUOTE) return this.#refuse();
    this.#mode = "in_key";
    this.#key = [QUOTE];
  }

  #takeInKey(byte: number): void {
    // A key longer than the one wanted, however it is escaped, need not be kept.
    if (this.#key.length <= 12 * (this.#wanted.length + 1)) this.#key.push(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) {
      this.#isKeyRight = isText(Buffer.from(this.#key).toString(), this.#steps[this.#matched] ?? "");
      this.#mode = "colon";
    }
  }

  /** Into the next value of the list or object at hand, or past it. */
  #goOn(): void {
    const isRight = this.#isInList ? this.#index === Number(this.#steps[this.#matched]) : this.#isKeyRight;
    if (isRight) this.#matched += 1;
    this.#mode = isRight ? "value" : "skip";
  }

  #takeAfter(byte: number): void {
    if (byte === COMMA && this.#isInList) {
      this.#index += 1;
      this.#goOn();
    } else if (byte === COMMA) this.#mode = "key";
    else if (byte === CLOSE_LIST && this.#isInList) this.#miss(`it is a list of ${this.#index + 1}`);
    else if (byte === CLOSE_OBJECT && !this.#isInList) this.#miss(`it has no key ${this.#wanted}`);
    else this.#refuse();
  }

  #takeSkipped(byte: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isInString = false;
        if (this.#depth === 0) this.#leave(1);
      }
      return;
    }
    if (this.#isInPlain) {
      if (isPlain(byte)) return;
      this.#isInPlain = false;
      if (this.#depth === 0) {
        this.#leave();
        return this.#take(byte);
      }
    }
    if (byte === QUOTE) this.#isInString = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#depth += 1;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (this.#depth === 0) return this.#refuse();
      this.#depth -= 1;
      if (this.#depth === 0) this.#leave(1);
    } else if (isPlainStart(byte)) this.#isInPlain = true;
    else if (this.#depth === 0 && byte > 0x20) this.#refuse();
  }

  /** The value that was skipped is over. */
  #leave(past = 0): void {
    if (this.#start === undefined) this.#mode = "after";
    else this.#result = { kind: "found", start: this.#start, end: this.#at + past };
  }

  #miss(reason: string): void {
    this.#result = { kind: "missing", steps: this.#matched, reason };
  }

  #refuse(): void {
    this.#result = { kind: "not_json", at: this.#at };
  }
}

/** How numbers, texts and literals begin. */
function isPlainStart(byte: number): boolean {
  return byte === QUOTE || isPlain(byte);
}

function isPlain(byte: number): boolean {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isLetter = (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
  return isDigit || isLetter || byte === 0x2d || byte === 0x2b || byte === 0x2e;
}

function isText(json: string, wanted: string): boolean {
  if (!json.includes("\\")) return json.slice(1, -1) === wanted;
  const parsed = parseJson(json);
  return parsed.ok && parsed.value === wanted;
}
