// How large and how deep a JSON value is, counted up to given limits.
import { isJsonObject, type JsonObject, type JsonValue } from "./json.js";

export interface Extent {
  readonly maxNodes: number;
  readonly maxBytes: number;
  readonly maxDepth: number;
}

export interface Measured {
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
