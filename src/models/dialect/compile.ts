// One tool's JSON Schema, as the form a provider takes. Total: any value gives a form or a reason, in bounded time.

import { unreachable } from "../../base/brand.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonSchema } from "../../base/json/json.js";
import { MODEL_LIMITS } from "../limits.js";
import { foldObject } from "./alternatives.js";
import type { CompiledSchema, DialectName, DialectOptions } from "./dialect.js";
import { Fuel, OutOfFuel } from "./fuel.js";
import { readSchema } from "./read.js";
import { restorer } from "./restore.js";
import { NoForm, type Rules, rulesOf } from "./rules.js";
import { ANY, mayBe, type Shape, saying, wordsAlone } from "./shape.js";
import { extentOf, overAnthropic, overOpenAi } from "./strict-limits.js";
import { optionsWords, shapeWords } from "./words.js";
import { type Written, writeSchema } from "./write.js";

/** Definitions do not change, so each is compiled once per form. */
const compiled = new WeakMap<JsonSchema, Map<string, CompiledSchema>>();

/** The schema itself is left untouched: arguments are checked against it, not against the form. */
export function compileSchema(raw: JsonSchema, dialect: DialectName, options: DialectOptions = {}): CompiledSchema {
  if (!isJsonObject(raw)) return { ok: false, reason: "its schema is no object" };
  const forms = compiled.get(raw) ?? new Map<string, CompiledSchema>();
  compiled.set(raw, forms);
  const key = `${dialect} ${String(options.strict ?? false)}`;
  const known = forms.get(key);
  if (known !== undefined) return known;
  const fresh = compile(raw, dialect, options.strict ?? false);
  forms.set(key, fresh);
  return fresh;
}

function compile(raw: JsonSchema, dialect: DialectName, strict: boolean | "required"): CompiledSchema {
  if (dialect === "plain" && isPlain(raw)) return { ok: true, schema: raw, notes: [] };
  const strictRules = strict === false ? undefined : rulesOf(dialect, true);
  if (strictRules === undefined) return ordinary(raw, dialect, []);
  const form = attempt(raw, strictRules, strictLimit(dialect));
  if (typeof form !== "string") return finished(form, true, form.notes);
  if (strict === "required") return { ok: false, reason: `it has no strict form: ${form}` };
  return ordinary(raw, dialect, [`It is offered without strict decoding: ${form}.`]);
}

function ordinary(raw: JsonSchema, dialect: DialectName, notes: readonly string[]): CompiledSchema {
  const rules = rulesOf(dialect, false);
  const form = rules === undefined ? "there is no such form" : attempt(raw, rules, () => undefined);
  if (typeof form === "string") return { ok: false, reason: form };
  return finished(form, saysStrict(dialect) ? false : undefined, [...notes, ...form.notes]);
}

/** The Responses API decodes strictly unless told otherwise, and refuses schemas that are not made for it. */
function saysStrict(dialect: DialectName): boolean {
  return dialect === "openai-chat" || dialect === "openai-responses";
}

function finished(written: Written, strict: boolean | undefined, notes: readonly string[]): CompiledSchema {
  const restore = restorer(written);
  return {
    ok: true,
    schema: written.schema,
    ...defined({ strict }),
    notes,
    ...defined({ restore }),
  };
}

function strictLimit(dialect: DialectName): (schema: JsonObject) => string | undefined {
  switch (dialect) {
    case "anthropic":
      return (schema) => overAnthropic(extentOf(schema));
    case "openai-chat":
    case "openai-responses":
    case "openai-compatible":
      return (schema) => overOpenAi(extentOf(schema));
    case "gemini":
    case "plain":
      return () => undefined;
    default:
      return unreachable(dialect);
  }
}

/** The form, or why there is none. */
function attempt(raw: JsonSchema, rules: Rules, over: (schema: JsonObject) => string | undefined): Written | string {
  const fuel = new Fuel(MODEL_LIMITS.dialect.fuel);
  try {
    const shape = asArguments(readSchema(raw, fuel), fuel);
    if (typeof shape === "string") return shape;
    const written = writeSchema(shape, rules, fuel);
    return over(written.schema) ?? written;
  } catch (thrown) {
    if (thrown instanceof NoForm) return thrown.message;
    if (thrown instanceof OutOfFuel) return "it is too large or too entangled to be described to a model";
    throw thrown;
  }
}

/** Arguments are an object: what else the root allows is left out, and alternatives at the root become one object. */
function asArguments(shape: Shape, fuel: Fuel): Shape | string {
  if (!mayBe(shape, "object")) return `its arguments are not an object but ${shapeWords(shape, 0)}`;
  if (shape.forms !== undefined) {
    return foldObject({ ...wordsAlone(shape), kinds: ["object"] }, shape.forms, false, fuel);
  }
  const { options, ...rest } = shape;
  const object: Shape = { ...ANY, ...rest, kinds: ["object"] };
  return options === undefined ? object : saying(object, `The whole must be one of ${optionsWords(options)}.`);
}

/** Schemas that already are what every model expects; they are passed on as they came. */
function isPlain(raw: JsonSchema): boolean {
  const { type, properties } = raw;
  const isRooted = type === "object" && (properties === undefined || isJsonObject(properties));
  return (
    isRooted &&
    !["$ref", "anyOf", "oneOf", "allOf", "if", "$defs", "definitions"].some((key) => Object.hasOwn(raw, key))
  );
}
