// JSON values and JSON Schema as plain data, with the one canonical form that hashes are taken of.
import { LIMITS } from "../limits.js";

export type JsonPrimitive = string | number | boolean | null;
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** A JSON Schema kept as data: never compiled, never converted, until the first call needs it. */
export type JsonSchema = JsonObject;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An array or object under way: what comes before each value, the values, and how many have been written. */
interface Frame {
  readonly labels?: readonly string[];
  readonly values: readonly JsonValue[];
  readonly end: "]" | "}";
  written: number;
}

/**
 * Sorted-key JSON: equal values give equal text whatever order their keys came in. Without recursion: `JSON.parse` takes
 * nesting far deeper than the call stack, and a hostile definition must not be the one that cannot be hashed.
 */
export function canonicalJson(value: JsonValue): string {
  const frames: Frame[] = [];
  let text = "";
  let current = value;
  for (;;) {
    if (typeof current === "object" && current !== null) {
      const frame = frameOf(current);
      text += frame.end === "]" ? "[" : "{";
      frames.push(frame);
    } else text += JSON.stringify(current);
    let frame = frames.at(-1);
    while (frame && frame.written === frame.values.length) {
      text += frame.end;
      frames.pop();
      frame = frames.at(-1);
    }
    if (!frame) return text;
    if (frame.written > 0) text += ",";
    text += frame.labels?.[frame.written] ?? "";
    current = frame.values[frame.written] ?? null;
    frame.written += 1;
  }
}

function frameOf(value: readonly JsonValue[] | JsonObject): Frame {
  if (!isJsonObject(value)) return { values: value, end: "]", written: 0 };
  const labels: string[] = [];
  const values: JsonValue[] = [];
  for (const key of Object.keys(value).sort()) {
    const field = value[key];
    if (field === undefined) continue;
    labels.push(`${JSON.stringify(key)}:`);
    values.push(field);
  }
  return { labels, values, end: "}", written: 0 };
}

export type ParsedJson =
  | { readonly ok: true; readonly value: JsonValue }
  /** `isDeep`: it is JSON, but nested too deep. */
  | { readonly ok: false; readonly reason: string; readonly isDeep: boolean };

/** Text from this length on is scanned before it is parsed: a value of millions of nested arrays would fill the heap. */
const SCANNED_CHARS = 1_048_576;

/**
 * Parses without throwing, since what comes from outside is malformed sooner or later. `JSON.parse` takes any depth, but
 * `JSON.stringify` and every recursive function do not: what is nested deeper than `maxDepth` is refused.
 */
export function parseJson(text: string, maxDepth: number = LIMITS.jsonMaxDepth): ParsedJson {
  if (text.length > SCANNED_CHARS && Number.isFinite(maxDepth) && isDeepText(text, maxDepth))
    return { ok: false, reason: tooDeepReason(maxDepth), isDeep: true };
  try {
    const value: JsonValue = JSON.parse(text);
    return mayBeDeep(text.length, maxDepth) && isTooDeep(value, maxDepth)
      ? { ok: false, reason: tooDeepReason(maxDepth), isDeep: true }
      : { ok: true, value };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error), isDeep: false };
  }
}

export function tooDeepReason(maxDepth: number = LIMITS.jsonMaxDepth): string {
  return `the JSON is nested more than ${maxDepth} levels deep, which is the limit`;
}

/** False for texts too short to nest so deep: each level takes two brackets. */
export function mayBeDeep(chars: number, maxDepth: number = LIMITS.jsonMaxDepth): boolean {
  return chars > 2 * maxDepth;
}

/** Whether arrays and objects are nested deeper than the limit. Never recurses deeper than that; cyclic values count as deep. */
export function isTooDeep(value: unknown, maxDepth: number = LIMITS.jsonMaxDepth): boolean {
  if (Array.isArray(value)) {
    if (maxDepth === 0) return true;
    for (const item of value) if (typeof item === "object" && isTooDeep(item, maxDepth - 1)) return true;
    return false;
  }
  if (!isJsonObject(value)) return false;
  if (maxDepth === 0) return true;
  // `for in` is twice as fast as a list of the values; parsed JSON inherits nothing that can be enumerated.
  for (const key in value) {
    const field = value[key];
    if (typeof field === "object" && isTooDeep(field, maxDepth - 1)) return true;
  }
  return false;
}

/** The same for text, without parsing it. Only meaningful for valid JSON. */
function isDeepText(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text, at);
      if (at === -1) return false; // malformed: the parser says how
    } else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) depth -= 1;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Where the string that begins at `start` ends; -1 when it does not. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return -1;
}

// Whether two JSON values are equal. For values whose depth has been checked: it walks recursively.

/** Key order does not matter. `onStep` is called for every value looked at, so that a caller can bound the work. */
export function sameJson(one: JsonValue | undefined, other: JsonValue | undefined, onStep?: () => void): boolean {
  onStep?.();
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item: JsonValue, index) => sameJson(item, other[index], onStep));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  for (const key in one) if (!Object.hasOwn(other, key) || !sameJson(one[key], other[key], onStep)) return false;
  for (const key in other) if (!Object.hasOwn(one, key)) return false;
  return true;
}

// JSON pointers (RFC 6901): reading one value out of another. Total: a pointer that leads nowhere gives nothing.

/** Undefined for a text that is no JSON pointer. The empty pointer means the whole value. */
export function pointerSteps(pointer: string): readonly string[] | undefined {
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/u.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Undefined when there is nothing at that place: JSON itself has no undefined. Only own keys count, so `__proto__` is no way out. */
export function valueAtPointer(value: JsonValue, pointer: string): JsonValue | undefined {
  const steps = pointerSteps(pointer);
  if (!steps) return undefined;
  let current: JsonValue | undefined = value;
  for (const step of steps) {
    if (isJsonObject(current)) current = Object.hasOwn(current, step) ? current[step] : undefined;
    else if (Array.isArray(current))
      current = /^(?:0|[1-9][0-9]{0,9})$/u.test(step) ? current[Number(step)] : undefined;
    else return undefined;
  }
  return current;
}
