// How large and how deep a JSON value is, counted no further than somebody cares.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.js";

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

/**
 * Recursive, but never deeper than `maxDepth`, since `JSON.parse` takes nesting far deeper than the call stack; what
 * passes may safely be walked recursively by whoever comes after.
 */
export function measure(value: JsonValue | undefined, extent: Extent): Measured {
  const ruler = new Ruler(extent);
  ruler.add(value, 0);
  const { nodes, bytes, heapBytes, over } = ruler;
  return over === undefined ? { nodes, bytes, heapBytes } : { nodes, bytes, heapBytes, over };
}

class Ruler {
  nodes = 0;
  bytes = 0;
  heapBytes = 0;
  over: string | undefined;
  readonly #extent: Extent;

  constructor(extent: Extent) {
    this.#extent = extent;
  }

  /** False when it is time to stop. */
  add(value: JsonValue | undefined, depth: number): boolean {
    this.nodes += 1;
    this.bytes += NODE_BYTES;
    if (typeof value === "string") {
      this.bytes += value.length;
      this.heapBytes += HEAP_BYTES.text + value.length;
    } else if (typeof value !== "object" || value === null) this.heapBytes += HEAP_BYTES.literal;
    else if (!this.#addAll(value, depth)) return false;
    const { maxNodes, maxBytes } = this.#extent;
    if (this.nodes > maxNodes) this.over = `more than ${maxNodes} values`;
    else if (this.bytes > maxBytes) this.over = `more than ${maxBytes} bytes`;
    return this.over === undefined;
  }

  #addAll(value: readonly JsonValue[] | JsonObject, depth: number): boolean {
    if (depth >= this.#extent.maxDepth) {
      this.over = `nested more than ${this.#extent.maxDepth} deep`;
      return false;
    }
    if (!isJsonObject(value)) {
      this.heapBytes += HEAP_BYTES.array;
      return value.every((item) => this.add(item, depth + 1));
    }
    this.heapBytes += HEAP_BYTES.object;
    for (const key in value) {
      this.bytes += key.length + NODE_BYTES;
      if (!this.add(value[key], depth + 1)) return false;
    }
    return true;
  }
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
