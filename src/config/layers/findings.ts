// What was found wrong with a part of a configuration file, and the words and paths that such findings use.
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { isJsonObject } from "../../base/json/json.js";
import { emptyRecord, type KeyPath } from "./document.js";

export interface Finding {
  readonly severity: "error" | "warning";
  readonly path: KeyPath;
  /** Whether the key or the value is to be pointed at. */
  readonly at: "key" | "value";
  readonly message: string;
  readonly suggestion?: string;
}

export interface Checked<T> {
  /** Undefined when there is an error. */
  readonly value: T | undefined;
  /** What was given, without the unknown keys. */
  readonly kept?: JsonObject;
  readonly findings: readonly Finding[];
}

/** Other clients' names for keys: no slips, so they are ignored like any unknown key, but not without a word. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  serverUrl: "url",
  httpUrl: "url",
  cmd: "command",
  arguments: "args",
  environment: "env",
  timeout: "timeouts",
  alwaysAllow: "allow",
  includeTools: "allow",
  excludeTools: "deny",
  toolInclude: "include",
};

/** What another client's key is called here. */
export function foreignKey(key: string, known: readonly string[]): string | undefined {
  const name = Object.hasOwn(OTHER_NAMES, key) ? OTHER_NAMES[key] : undefined;
  return name !== undefined && known.includes(name) ? name : undefined;
}

export function kindOf(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return value.trim() === "" ? "an empty text" : "a text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** A key that has its value in it, such as `Authorization: Bearer …`, is cut before the value. */
export function shownKey(key: string): string {
  const [name = ""] = /^[\w.-]{0,64}/u.exec(key) ?? [];
  return name === key ? JSON.stringify(key) : `"${name}…"`;
}

/** `tools.read_file.timeoutMs`, `args[1]`. */
export function pathText(path: KeyPath): string {
  return path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : `${index > 0 ? "." : ""}${step}`))
    .join("");
}

/** The object without the values at these paths, in one pass; the parts on the way are copied, nothing is changed in place. */
export function without(value: JsonObject, paths: readonly KeyPath[]): JsonObject {
  if (paths.length === 0) return value;
  const below = byFirstStep(paths);
  const copy: Record<string, JsonValue> = emptyRecord();
  for (const [key, field] of Object.entries(value)) {
    const rest = below.get(key);
    if (field === undefined || rest?.some((path) => path.length === 0)) continue;
    copy[key] = rest ? withoutIn(field, rest) : field;
  }
  return copy;
}

function withoutIn(value: JsonValue, paths: readonly KeyPath[]): JsonValue {
  if (isJsonObject(value)) return without(value, paths);
  if (!Array.isArray(value)) return value;
  const list: readonly JsonValue[] = value;
  const below = byFirstStep(paths);
  return list.map((part, at) => withoutIn(part, below.get(at) ?? []));
}

/** What is left of the paths behind their first step. */
function byFirstStep(paths: readonly KeyPath[]): ReadonlyMap<string | number, readonly KeyPath[]> {
  const below = new Map<string | number, KeyPath[]>();
  for (const [first, ...rest] of paths) {
    if (first === undefined) continue;
    const known = below.get(first);
    if (known) known.push(rest);
    else below.set(first, [rest]);
  }
  return below;
}

/** Undefined where the path leads to nothing. */
export function valueAt(value: JsonValue | undefined, path: KeyPath): JsonValue | undefined {
  let current = value;
  for (const step of path) {
    if (Array.isArray(current)) current = typeof step === "number" ? current[step] : undefined;
    else current = isJsonObject(current) && Object.hasOwn(current, step) ? current[String(step)] : undefined;
  }
  return current;
}
