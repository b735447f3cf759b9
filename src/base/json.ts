// JSON values and JSON Schema as plain data, with the one canonical form that hashes are taken of.

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

/** Parses without throwing, since what comes from outside is malformed sooner or later. */
export function parseJson(text: string): { ok: true; value: JsonValue } | { ok: false; reason: string } {
  try {
    const value: JsonValue = JSON.parse(text);
    return { ok: true, value };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
