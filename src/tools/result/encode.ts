// Texts on their way into a store: encoded piece by piece, with bytes and lines counted in passing.
import { TOOL_LIMITS } from "../limits.js";
import { textParts } from "./json-pieces.js";

export function tooLarge(maxBytes: number): string {
  return `it is over the ${maxBytes} bytes that a session keeps`;
}

export class ByteCount {
  readonly #maxBytes: number;
  bytes: number = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  *watch(parts: Iterable<Uint8Array>): Generator<Uint8Array, void, void> {
    for (const part of parts) {
      this.bytes += part.length;
      if (this.bytes > this.#maxBytes) throw new Error(tooLarge(this.#maxBytes));
      yield part;
    }
  }
}

const NEWLINE = 0x0a;

export class LineCount {
  lines: number = 1;

  *watch(parts: Iterable<Uint8Array>): Generator<Uint8Array, void, void> {
    this.lines = 1;
    for (const part of parts) {
      for (const byte of part) if (byte === NEWLINE) this.lines += 1;
      yield part;
    }
  }
}

/** Texts one below the other. */
export function* parted(texts: readonly string[]): Generator<string, void, void> {
  for (const [index, text] of texts.entries()) {
    if (index > 0) yield "\n";
    yield* textParts(text, TOOL_LIMITS.resultPieceBytes);
  }
}

/** Short pieces go together: a thousand small blocks are no thousand writes. */
export function* encoded(pieces: Iterable<string>): Generator<Uint8Array, void, void> {
  let held = "";
  for (const piece of pieces) {
    held += piece;
    if (held.length < TOOL_LIMITS.resultPieceBytes) continue;
    yield Buffer.from(held);
    held = "";
  }
  if (held !== "") yield Buffer.from(held);
}
