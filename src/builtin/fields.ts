// Arguments of the built-in tools: each field is both the schema for the model and the typed reader of the value.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "../base/json/json.js";

export interface Field<T> {
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  /** Throws `tool.invalid_arguments`. `place` is where the value lies in the arguments: `edits[0].old_text`. */
  readonly read: (value: JsonValue | undefined, place: string) => T;
}

/** By name in camel case; models write the same names in snake case. */
export type Fields = Readonly<Record<string, Field<unknown>>>;
export type Values<F extends Fields> = { readonly [Name in keyof F]: F[Name] extends Field<infer T> ? T : never };

function wireName(name: string): string {
  return name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
}

export function objectSchema(fields: Fields): JsonSchema {
  const all = Object.entries(fields).map(([name, field]) => [wireName(name), field] as const);
  const required = all.flatMap(([name, { isRequired }]) => (isRequired ? [name] : []));
  return {
    type: "object",
    properties: Object.fromEntries(all.map(([name, { schema }]) => [name, schema])),
    ...defined({ required: required.length === 0 ? undefined : required }),
    additionalProperties: false,
  };
}

/** Throws for unknown arguments: a misspelt option must not be taken for an absent one. */
export function readFields<F extends Fields>(fields: F, given: JsonObject, where = ""): Values<F> {
  const prefix = where === "" ? "" : `${where}.`;
  const known = Object.keys(fields).map(wireName);
  const unknown = Object.keys(given).find((name) => !known.includes(name) && given[name] !== undefined);
  if (unknown !== undefined) throw problem(`${prefix}${unknown}`, `is not known; it takes ${known.join(", ")}`);
  const values = Object.entries(fields).map(([name, field]) => {
    const key = wireName(name);
    // Some models write `null` for what they leave out.
    return [name, field.read((Object.hasOwn(given, key) ? given[key] : undefined) ?? undefined, `${prefix}${key}`)];
  });
  const read: object = Object.fromEntries(values);
  if (!hasValues(read, fields)) throw new TenonError("internal", "an argument was not read");
  return read;
}

function hasValues<F extends Fields>(values: object, fields: F): values is Values<F> {
  return Object.keys(fields).every((name) => name in values);
}

function problem(place: string, what: string): TenonError {
  return new TenonError("tool.invalid_arguments", `the argument "${place}" ${what}`);
}

interface TextOptions {
  readonly maxChars?: number;
  readonly mayBeEmpty?: boolean;
}

export function textField(description: string, options: TextOptions = {}): Field<string> {
  const { schema, read } = optionalTextField(description, options);
  const required: Field<string>["read"] = (value, place) => {
    if (value === undefined) throw problem(place, "is missing");
    return read(value, place) ?? "";
  };
  return { schema, isRequired: true, read: required };
}

export function optionalTextField(description: string, options: TextOptions = {}): Field<string | undefined> {
  const { maxChars, mayBeEmpty } = options;
  const bounds = defined({ minLength: mayBeEmpty ? undefined : 1, maxLength: maxChars });
  const read = (value: JsonValue | undefined, place: string): string | undefined => {
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw problem(place, "must be a text");
    if (value === "" && !mayBeEmpty) throw problem(place, "must not be empty");
    if (maxChars === undefined || value.length <= maxChars) return value;
    throw problem(place, `has ${value.length} characters, at most ${maxChars} are taken`);
  };
  return { schema: { type: "string", description, ...bounds }, isRequired: false, read };
}

/** A folder, or a file; the session's directory unless given. */
export function pathField(description: string): Field<string> {
  const { schema, read } = optionalTextField(description);
  return { schema, isRequired: false, read: (value, place) => read(value, place) ?? "." };
}

export function integerField(
  description: string,
  { min, max, fallback }: Readonly<Record<"min" | "max" | "fallback", number>>,
): Field<number> {
  const read = (value: JsonValue = fallback, place: string): number => {
    if (typeof value !== "number" || !Number.isInteger(value)) throw problem(place, "must be a whole number");
    if (value < min || value > max) throw problem(place, `must be from ${min} to ${max}, not ${value}`);
    return value;
  };
  const schema = { type: "integer", description, minimum: min, maximum: max, default: fallback };
  return { schema, isRequired: false, read };
}

export function flagField(description: string): Field<boolean> {
  const read = (value: JsonValue = false, place: string): boolean => {
    if (typeof value !== "boolean") throw problem(place, "must be true or false");
    return value;
  };
  return { schema: { type: "boolean", description, default: false }, isRequired: false, read };
}

/** Required when there is no fallback. */
export function choiceField<const T extends string>(description: string, values: readonly T[], fallback?: T): Field<T> {
  const schema: JsonSchema = { type: "string", enum: values, description, ...defined({ default: fallback }) };
  const read = (value: JsonValue | undefined, place: string): T => {
    const chosen = values.find((candidate) => candidate === (value ?? fallback));
    if (chosen === undefined) throw problem(place, `must be one of ${values.join(", ")}`);
    return chosen;
  };
  return { schema, isRequired: fallback === undefined, read };
}

/** A list of objects; optional when it may be empty. */
export function listField<F extends Fields>(
  description: string,
  { min, max, fields }: { readonly min: number; readonly max: number; readonly fields: F },
): Field<readonly Values<F>[]> {
  const schema = { type: "array", description, items: objectSchema(fields), minItems: min, maxItems: max };
  const read = (given: JsonValue | undefined, place: string): readonly Values<F>[] => {
    const value = given ?? (min === 0 ? [] : undefined);
    if (!Array.isArray(value)) throw problem(place, value === undefined ? "is missing" : "must be a list");
    if (value.length < min || value.length > max) {
      throw problem(place, `must have from ${min} to ${max} entries, not ${value.length}`);
    }
    return value.map((entry: JsonValue, index) => {
      const inner = `${place}[${index}]`;
      if (!isJsonObject(entry)) throw problem(inner, "must be an object");
      return readFields(fields, entry, inner);
    });
  };
  return { schema, isRequired: min > 0, read };
}
