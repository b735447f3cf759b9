// Arguments of the built-in tools: each field is its schema for the model and its typed reader in one.

import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "../base/json/json.js";

/** An object being read, and where it lies in the arguments (empty: it is the arguments). */
export interface Given {
  readonly values: JsonObject;
  readonly where: string;
}

export interface Field<T> {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  /** Throws `tool.invalid_arguments`. */
  from(given: Given): T;
}

export function objectSchema(fields: readonly Field<unknown>[]): JsonSchema {
  const required = fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    ...defined({ required: required.length === 0 ? undefined : required }),
    additionalProperties: false,
  };
}

/** Throws for arguments nobody knows: a misspelt option must not be taken for an absent one. */
export function refuseStrangers(given: Given, fields: readonly Field<unknown>[]): void {
  const known = fields.map(({ name }) => name);
  for (const name of Object.keys(given.values)) {
    if (known.includes(name) || given.values[name] === undefined) continue;
    throw problem(given, name, `is not known; it takes ${known.join(", ")}`);
  }
}

function problem(given: Given, name: string, what: string): TenonError {
  const place = given.where === "" ? name : `${given.where}.${name}`;
  return new TenonError("tool.invalid_arguments", `the argument "${place}" ${what}`);
}

interface TextOptions {
  readonly maxChars?: number;
  readonly mayBeEmpty?: boolean;
}

export function textField(name: string, description: string, options: TextOptions = {}): Field<string> {
  const read = (given: Given): string => {
    const text = readText(given, name, options);
    if (text === undefined) throw problem(given, name, "is missing");
    return text;
  };
  return { name, schema: { type: "string", description, ...textBounds(options) }, isRequired: true, from: read };
}

export function optionalTextField(
  name: string,
  description: string,
  options: TextOptions = {},
): Field<string | undefined> {
  const schema = { type: "string", description, ...textBounds(options) };
  return { name, schema, isRequired: false, from: (given) => readText(given, name, options) };
}

function textBounds({ maxChars, mayBeEmpty }: TextOptions): JsonObject {
  return defined({ minLength: mayBeEmpty ? undefined : 1, maxLength: maxChars });
}

function readText(given: Given, name: string, { maxChars, mayBeEmpty }: TextOptions): string | undefined {
  const value = valueOf(given, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw problem(given, name, "must be a text");
  if (value === "" && !mayBeEmpty) throw problem(given, name, "must not be empty");
  if (maxChars !== undefined && value.length > maxChars) {
    throw problem(given, name, `has ${value.length} characters, at most ${maxChars} are taken`);
  }
  return value;
}

export interface IntegerOptions {
  readonly min: number;
  readonly max: number;
  readonly fallback: number;
}

export function integerField(name: string, description: string, options: IntegerOptions): Field<number> {
  const { min, max, fallback } = options;
  const schema: JsonSchema = { type: "integer", description, minimum: min, maximum: max, default: fallback };
  const read = (given: Given): number => {
    const value = valueOf(given, name) ?? fallback;
    if (typeof value !== "number" || !Number.isInteger(value)) throw problem(given, name, "must be a whole number");
    if (value < min || value > max) throw problem(given, name, `must be from ${min} to ${max}, not ${value}`);
    return value;
  };
  return { name, schema, isRequired: false, from: read };
}

export function flagField(name: string, description: string): Field<boolean> {
  const read = (given: Given): boolean => {
    const value = valueOf(given, name) ?? false;
    if (typeof value !== "boolean") throw problem(given, name, "must be true or false");
    return value;
  };
  return { name, schema: { type: "boolean", description, default: false }, isRequired: false, from: read };
}

/** Without a fallback it is required. */
export function choiceField<T extends string>(
  name: string,
  description: string,
  { values, fallback }: { readonly values: readonly T[]; readonly fallback?: T },
): Field<T> {
  const schema: JsonSchema = {
    type: "string",
    enum: values,
    description,
    ...defined({ default: fallback }),
  };
  const read = (given: Given): T => {
    const value = valueOf(given, name) ?? fallback;
    const chosen = values.find((candidate) => candidate === value);
    if (chosen === undefined) throw problem(given, name, `must be one of ${values.join(", ")}`);
    return chosen;
  };
  return { name, schema, isRequired: fallback === undefined, from: read };
}

interface ListOptions<T> {
  readonly min: number;
  readonly max: number;
  readonly fields: readonly Field<unknown>[];
  readonly read: (given: Given) => T;
}

/** A list of objects; it may be left out when it may be empty. */
export function listField<T>(name: string, description: string, options: ListOptions<T>): Field<readonly T[]> {
  const { min, max, fields } = options;
  const items = objectSchema(fields);
  const schema: JsonSchema = { type: "array", description, items, minItems: min, maxItems: max };
  const read = (given: Given): readonly T[] => {
    const value = valueOf(given, name) ?? (min === 0 ? [] : undefined);
    if (!Array.isArray(value)) throw problem(given, name, value === undefined ? "is missing" : "must be a list");
    if (value.length < min || value.length > max) {
      throw problem(given, name, `must have from ${min} to ${max} entries, not ${value.length}`);
    }
    const entries: readonly JsonValue[] = value;
    return entries.map((entry, index) => {
      const place = `${name}[${index}]`;
      if (!isJsonObject(entry)) throw problem(given, place, "must be an object");
      const inner: Given = { values: entry, where: given.where === "" ? place : `${given.where}.${place}` };
      refuseStrangers(inner, fields);
      return options.read(inner);
    });
  };
  return { name, schema, isRequired: min > 0, from: read };
}

/** Some models write `null` for what they leave out. */
function valueOf({ values }: Given, name: string): JsonValue | undefined {
  return (Object.hasOwn(values, name) ? values[name] : undefined) ?? undefined;
}
