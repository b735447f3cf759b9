// Checks a value against a schema and says what is wrong in plain words, with the path of each fault and what was probably meant.

import * as z from "zod/v4";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { nearest } from "../../base/text/nearest.js";
import { emptyRecord, type KeyPath } from "./document.js";

/** An unknown key that looks like a slip is an error: a misspelt `deny` must not silently allow. Others are ignored. */
export function check<T>(schema: z.ZodType<T>, value: JsonObject): Checked<T> {
  const findings: Finding[] = [];
  const unknown: KeyPath[] = [];
  for (const issue of (schema.safeParse(value).error?.issues ?? []).flatMap(ofOneForm)) {
    const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    if (issue.code !== "unrecognized_keys") {
      findings.push(findingOf(issue, path, valueAt(value, path)));
      continue;
    }
    for (const key of issue.keys) {
      unknown.push([...path, key]);
      findings.push(unknownKey(key, path, keysAt(schema, path)));
    }
  }
  if (findings.some(({ severity }) => severity === "error")) return { value: undefined, findings };
  const kept = unknown.reduce(without, value);
  return { value: schema.parse(kept), kept, findings };
}

/** Of a value that may have several forms: what is wrong with the form it comes nearest to. */
function ofOneForm(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const isOther = ({ path, code }: z.core.$ZodIssue) => path.length === 0 && code !== "unrecognized_keys";
  const form = issue.errors.find((issues) => !issues.some(isOther)) ?? issue.errors[0] ?? [];
  return form.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

function unknownKey(key: string, path: KeyPath, known: readonly string[]): Finding {
  const foreign = foreignKey(key, known);
  const suggestion = foreign ?? nearest(key, known);
  const isSlip = foreign === undefined && suggestion !== undefined;
  return {
    severity: isSlip ? "error" : "warning",
    path: [...path, key],
    at: "key",
    message: `unknown key ${JSON.stringify(key)}${isSlip ? "" : " is ignored"}`,
    ...defined({ suggestion }),
  };
}

function findingOf(issue: z.core.$ZodIssue, path: KeyPath, found: JsonValue | undefined): Finding {
  const name = pathText(path);
  const base = { severity: "error", path, at: "value" } as const;
  switch (issue.code) {
    case "invalid_type":
      return {
        ...base,
        message: `${name} must be ${EXPECTED[issue.expected] ?? issue.expected}, got ${kindOf(found)}`,
      };
    case "invalid_value": {
      const words = issue.values.map((value) => JSON.stringify(value));
      const suggestion = typeof found === "string" ? nearest(found, issue.values.map(String)) : undefined;
      return {
        ...base,
        message: `${name} must be ${listed(words)}, got ${shortly(found)}`,
        ...defined({ suggestion }),
      };
    }
    case "too_small":
      if (issue.origin === "string") return { ...base, message: `${name} must be a text that is not empty` };
      return { ...base, message: `${name} must be at least ${issue.minimum}, got ${shortly(found)}` };
    case "too_big":
      return { ...base, message: `${name} must be at most ${issue.maximum}, got ${shortly(found)}` };
    default:
      return { ...base, message: `${name} ${issue.message}` };
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** `a`, `a or b`, `a, b or c`. */
function listed(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? "nothing") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** Short values as they are; what is longer may be a secret in the wrong place. */
function shortly(value: JsonValue | undefined): string {
  const text = value === undefined ? undefined : JSON.stringify(value);
  return text === undefined || text.length > 24 || typeof value === "object" ? kindOf(value) : text;
}

/** The keys an object may have at a path, for suggestions; empty where anything may be. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const found = path.reduce<z.core.$ZodType | undefined>((current, step) => childOf(current, step), schema);
  const object = unwrap(found);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

function childOf(schema: z.core.$ZodType | undefined, step: PropertyKey): z.core.$ZodType | undefined {
  const parent = unwrap(schema);
  if (parent instanceof z.ZodObject) {
    const shape: Readonly<Record<string, z.core.$ZodType>> = parent.shape;
    return Object.hasOwn(shape, step) ? shape[String(step)] : undefined;
  }
  if (parent instanceof z.ZodRecord) return parent.valueType;
  return parent instanceof z.ZodArray ? parent.element : undefined;
}

/** Of several forms, the one that has keys. */
function unwrap(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodUnion) return schema.options.find((option) => option instanceof z.ZodObject) ?? schema;
  return schema instanceof z.ZodOptional ? unwrap(schema.unwrap()) : schema;
}

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

/** `tools.read_file.timeoutMs`, `args[1]`. */
export function pathText(path: KeyPath): string {
  return path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : `${index > 0 ? "." : ""}${step}`))
    .join("");
}

/** The object without the value at a path; the parts on the way are copied, nothing is changed in place. */
export function without(value: JsonObject, path: KeyPath): JsonObject {
  const [first, ...rest] = path;
  const copy: Record<string, JsonValue> = emptyRecord();
  for (const [key, field] of Object.entries(value)) {
    if (field === undefined || (key === first && rest.length === 0)) continue;
    copy[key] = key === first ? withoutIn(field, rest) : field;
  }
  return copy;
}

function withoutIn(value: JsonValue, path: KeyPath): JsonValue {
  if (isJsonObject(value)) return without(value, path);
  if (!Array.isArray(value)) return value;
  const list: readonly JsonValue[] = value;
  const [index, ...rest] = path;
  return list.map((part, at) => (at === index ? withoutIn(part, rest) : part));
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
