// A JSON value as text, a piece at a time: a large one is never written down in one go, nor copied whole.
import { isJsonObject, type JsonValue } from "../../base/json/json.js";

interface Frame {
  readonly keys?: readonly string[];
  readonly values: readonly (JsonValue | undefined)[];
  at: number;
}

/** A text inside the value that is longer is cut into parts of this many characters. */
const STRING_CHARS = 65_536;

/** The start of the value's JSON, and whether that is all of it. */
export function jsonStart(value: JsonValue, maxChars: number): { readonly text: string; readonly isWhole: boolean } {
  let text = "";
  for (const token of jsonTokens(value)) {
    text += token;
    if (text.length > maxChars) return { text: text.slice(0, maxChars), isWhole: false };
  }
  return { text, isWhole: true };
}

/**
 * The text `JSON.stringify` gives, token by token. Keeps no stack of calls, so no value is too deep; keys without a value are
 * left out.
 */
export function* jsonTokens(value: JsonValue): Generator<string, void, void> {
  const frames: Frame[] = [];
  let current: JsonValue = value;
  for (;;) {
    if (typeof current === "string") yield* stringTokens(current);
    else if (typeof current !== "object" || current === null) yield JSON.stringify(current);
    else {
      const frame = frameOf(current);
      yield frame.keys ? "{" : "[";
      frames.push(frame);
    }
    let frame = frames.at(-1);
    while (frame && frame.at === frame.values.length) {
      yield frame.keys ? "}" : "]";
      frames.pop();
      frame = frames.at(-1);
    }
    if (!frame) return;
    const comma = frame.at > 0 ? "," : "";
    const key = frame.keys?.[frame.at];
    yield key === undefined ? comma : `${comma}${JSON.stringify(key)}:`;
    current = frame.values[frame.at] ?? null;
    frame.at += 1;
  }
}

function frameOf(value: readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined }): Frame {
  if (!isJsonObject(value)) return { values: value, at: 0 };
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return { keys, values: keys.map((key) => value[key]), at: 0 };
}

function* stringTokens(text: string): Generator<string, void, void> {
  if (text.length <= STRING_CHARS) {
    yield JSON.stringify(text);
    return;
  }
  yield '"';
  for (const part of textParts(text, STRING_CHARS)) yield JSON.stringify(part).slice(1, -1);
  yield '"';
}

/** A text in parts of about `chars`, none of which ends within a character. */
export function* textParts(text: string, chars: number): Generator<string, void, void> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + chars);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1] ?? "")) end += 1;
    yield text.slice(start, end);
    start = end;
  }
}
