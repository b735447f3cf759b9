// Checks a value against a schema and says what is wrong in plain words, with the path of each fault and what was probably meant.

import * as z from "zod/v4";
import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { nearest } from "../../base/text/nearest.js";
import type { KeyPath } from "./document.js";
import { type Checked, type Finding, foreignKey, kindOf, pathText, valueAt, without } from "./findings.js";

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
