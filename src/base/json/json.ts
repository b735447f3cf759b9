// JSON values and JSON Schema as plain data, with the one canonical form that hashes are taken of.

import { createHash } from "node:crypto";
import { LIMITS } from "../limits.js";

export type JsonPrimitive = string | number | boolean | null;
/**
 * A value as JSON has it.
 *
 * @example
 * const value: JsonValue = [1, "two", null];
 */
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
/**
 * An object as JSON has it.
 *
 * @example
 * const args: JsonObject = { path: "README.md" };
 */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/**
 * A JSON Schema kept as data: never compiled, never converted, until the first call needs it.
 *
 * @example
 * const schema: JsonSchema = { type: "object", properties: { path: { type: "string" } } };
 */
export type JsonSchema = JsonObject;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isEmpty(fields: JsonObject): boolean {
  for (const _ in fields) return false;
  return true;
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

/**
 * What `JSON.parse(JSON.stringify(given))` gives, without the detour, of an object that holds nothing but texts, numbers,
 * booleans and nulls, as most arguments do. Undefined for all others.
 */
export function flatCopy(given: JsonObject): JsonObject | undefined {
  const copy: Record<string, JsonValue> = {};
  if (!isJsonObject(given) || Object.getPrototypeOf(given) !== Object.prototype) return undefined;
  for (const key in given) {
    const value = given[key];
    const isFlat = typeof value === "string" || typeof value === "boolean" || value === null || isPlainNumber(value);
    if (!isFlat || key === "__proto__" || !Object.hasOwn(given, key)) return undefined;
    copy[key] = value;
  }
  return copy;
}

/** One that JSON keeps: neither infinite nor minus zero. */
function isPlainNumber(value: unknown): value is number {
  return Number.isFinite(value) && !Object.is(value, -0);
}

/** The same where only an object will do; undefined for anything else. */
export function parseObject(text: string, maxDepth?: number): JsonObject | undefined {
  const parsed = parseJson(text, maxDepth);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
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

/** sha256 of bytes, in hex. */
export function hashBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** sha256 of the canonical form, in hex. */
export function hashJson(value: JsonValue): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

interface Extent {
  readonly maxNodes: number;
  readonly maxBytes: number;
  readonly maxDepth: number;
}

interface Measured {
  readonly nodes: number;
  /** About what the value takes as JSON: texts by their length, everything else by a guess. */
  readonly bytes: number;
  /** About what it takes in memory, which for empty objects is thirty times the JSON. */
  readonly heapBytes: number;
  /** What it has too much of, in words; counting stopped there. */
  readonly over?: string;
}

/** What a number, a literal, a comma or a pair of quotes takes on average: the cap is a bound, not an invoice. */
const NODE_BYTES = 4;

/**
 * Measured on V8, on millions of each as `JSON.parse` makes them. An object takes 64 without keys, or with keys that
 * others have too, and 160 with keys of its own.
 */
const HEAP_BYTES = { object: 88, array: 40, text: 24, literal: 8 } as const;

/** What the walk under way has counted. Outside of it: 10,000 tools have half a million values, and this halves the time. */
let nodes = 0;
let bytes = 0;
let heapBytes = 0;

/**
 * Recursive, but never deeper than `maxDepth`, since `JSON.parse` takes nesting far deeper than the call stack; what
 * passes may safely be walked recursively afterwards.
 */
export function measure(value: JsonValue | undefined, extent: Extent): Measured {
  nodes = 0;
  bytes = 0;
  heapBytes = 0;
  const over = add(value, extent, 0);
  return over === undefined ? { nodes, bytes, heapBytes } : { nodes, bytes, heapBytes, over };
}

/** Says what there is too much of, which is when to stop. */
function add(value: JsonValue | undefined, extent: Extent, depth: number): string | undefined {
  if (typeof value === "object" && value !== null) return addAll(value, extent, depth);
  addLeaf(value);
  return excess(extent);
}

/** Most values are leaves, and most leaves texts: they are counted where they stand, without a call for each. */
function addAll(value: readonly JsonValue[] | JsonObject, extent: Extent, depth: number): string | undefined {
  if (depth >= extent.maxDepth) return `nested more than ${extent.maxDepth} deep`;
  nodes += 1;
  bytes += NODE_BYTES;
  if (!isJsonObject(value)) {
    heapBytes += HEAP_BYTES.array;
    for (const item of value) {
      const over = add(item, extent, depth + 1);
      if (over !== undefined) return over;
    }
    return excess(extent);
  }
  heapBytes += HEAP_BYTES.object;
  for (const key in value) {
    bytes += key.length + NODE_BYTES;
    const field = value[key];
    if (typeof field === "object" && field !== null) {
      const over = addAll(field, extent, depth + 1);
      if (over !== undefined) return over;
    } else addLeaf(field);
  }
  return excess(extent);
}

function addLeaf(value: string | number | boolean | null | undefined): void {
  nodes += 1;
  bytes += NODE_BYTES;
  if (typeof value === "string") {
    bytes += value.length;
    heapBytes += HEAP_BYTES.text + value.length;
  } else heapBytes += HEAP_BYTES.literal;
}

function excess({ maxNodes, maxBytes }: Extent): string | undefined {
  if (nodes > maxNodes) return `more than ${maxNodes} values`;
  return bytes > maxBytes ? `more than ${maxBytes} bytes` : undefined;
}

/** Looks for nesting beyond a depth in values of any size, a bounded number of steps at a time. */
export class DepthProbe {
  readonly #maxDepth: number;
  readonly #open: (readonly (JsonValue | undefined)[])[] = [];
  readonly #at: number[] = [];

  constructor(value: JsonValue, maxDepth: number) {
    this.#maxDepth = maxDepth;
    this.#open.push([value]);
    this.#at.push(0);
  }

  step(count: number): "fine" | "too deep" | "more" {
    for (let step = 0; step < count; step++) {
      const top = this.#open.length - 1;
      const list = this.#open[top];
      const index = this.#at[top];
      if (list === undefined || index === undefined) return "fine";
      if (index === list.length) {
        this.#open.pop();
        this.#at.pop();
        continue;
      }
      this.#at[top] = index + 1;
      const value = list[index];
      if (typeof value !== "object" || value === null) continue;
      if (top >= this.#maxDepth) return "too deep";
      this.#open.push(isJsonObject(value) ? Object.values(value) : value);
      this.#at.push(0);
    }
    return "more";
  }
}
