// JSON values and JSON Schema as plain data, with the one canonical form that hashes are taken of.
import { createHash } from "node:crypto";

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

/** Sorted-key JSON: equal values give equal text whatever order their keys came in. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value)
    .sort()
    .flatMap((key) => {
      const field = value[key];
      return field === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(field)}`];
    });
  return `{${fields.join(",")}}`;
}

/** sha256 of the canonical form, in hex. */
export function hashJson(value: JsonValue): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
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
