// Reads what comes over the wire: every field is checked where it is used, and every text shows its hidden characters.
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { markHidden } from "../../base/text/marking.js";

export type { JsonObject, JsonValue };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The field as an object; an empty one where it is none. */
export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  let at = value;
  for (const name of path) at = isObject(at) ? at[name] : undefined;
  return isObject(at) ? at : {};
}

export function textAt(value: unknown, name: string): string | undefined {
  const found = isObject(value) ? value[name] : undefined;
  return typeof found === "string" ? found : undefined;
}

export function numberAt(value: unknown, name: string): number | undefined {
  const found = isObject(value) ? value[name] : undefined;
  return typeof found === "number" ? found : undefined;
}

export function listAt(value: unknown, name: string): readonly JsonValue[] {
  const found = isObject(value) ? value[name] : undefined;
  return isList(found) ? found : [];
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export function objectsAt(value: unknown, name: string): readonly JsonObject[] {
  return listAt(value, name).filter(isObject);
}

export function textsAt(value: unknown, name: string): readonly string[] {
  return listAt(value, name).filter((one) => typeof one === "string");
}

/** An entry of a table by a word that somebody else chose: never a member that every object has. */
export function entryOf<T>(table: Readonly<Record<string, T>>, word: string): T | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** Of a message: what Tenon adds. */
export function tenonMeta(value: unknown): JsonObject {
  return objectAt(value, "_meta", "tenon");
}

/** Directories are sent back as they are, so they are marked where they are shown. */
const RAW = new Set(["cwd"]);
const MAX_DEPTH = 200;

/** The same value with every hidden character of every text written as `\u{202E}`: nothing unmarked gets into the page. */
export function withVisibleText(value: JsonValue, depth = 0): JsonValue {
  if (typeof value === "string") return markHidden(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "(nested too deeply)";
  if (Array.isArray(value)) return value.map((one) => withVisibleText(one, depth + 1));
  const marked: [string, JsonValue][] = Object.entries(value).map(([name, field]) => {
    return [markHidden(name), RAW.has(name) ? (field ?? null) : withVisibleText(field ?? null, depth + 1)];
  });
  return Object.fromEntries(marked);
}

export function parse(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** For people: indented, never failing. */
export function written(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
