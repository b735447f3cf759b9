// Whether a value fits a JSON Schema, and where it does not, in messages for a model or a person.
import { Pace } from "../async/pace.js";
import { messageOf } from "../errors.js";
import type { JsonObject, JsonValue } from "../json/json.js";
import { measure } from "../json/measure.js";
import { LIMITS } from "../limits.js";
import type { World } from "../ports/world.js";
import { type Misfit, OutOfFuel, type Patterns, SchemaCheck, SchemaRefs } from "./schema-check.js";

export type SchemaFit =
  | { readonly kind: "fits" }
  /** Each names its place by a JSON pointer; the first few, not all. */
  | { readonly kind: "misfit"; readonly problems: readonly string[] }
  /** Too large, too deep, too much work, or beyond what is checked here: nothing is held against the value. */
  | { readonly kind: "unchecked"; readonly reason: string };

/**
 * Costs a bounded amount of work whatever the schema and the value are, in lumps that leave the event loop free in between.
 * Long texts are no reason to give up: what looks into them pays by their length.
 */
export async function checkAgainstSchema(schema: JsonObject, value: JsonValue, world: World): Promise<SchemaFit> {
  const pace = Pace.of(world);
  const { over } = await pace.run(() => measure(value, LIMITS.argumentValue));
  if (over !== undefined) return { kind: "unchecked", reason: `the value is ${over}` };
  const prepared = await pace.run(() => prepareSchema(schema));
  if (typeof prepared === "string") return { kind: "unchecked", reason: prepared };
  return await pace.run(() => fitOf(schema, value, prepared, world));
}

function fitOf(schema: JsonObject, value: JsonValue, { refs, patterns }: PreparedSchema, world: World): SchemaFit {
  const endMs = world.monotonicMs() + LIMITS.outputCheckMs;
  const isLate = () => world.monotonicMs() > endMs;
  try {
    const check = new SchemaCheck(refs, patterns, LIMITS.outputFuel, isLate);
    const misfits = check.misfits(schema, value, LIMITS.argumentMaxProblems);
    if (misfits === "unsure") return { kind: "unchecked", reason: "its schema has parts that are not checked" };
    if (misfits.length === 0) return { kind: "fits" };
    return { kind: "misfit", problems: misfits.map(describeMisfit) };
  } catch (thrown) {
    if (thrown instanceof OutOfFuel) return { kind: "unchecked", reason: "checking it takes too long" };
    return { kind: "unchecked", reason: `checking it failed: ${messageOf(thrown)}` }; // no call is lost over a check
  }
}

// What a check needs of a schema before the first value, made once for each schema, and how a misfit is put into words.

export interface PreparedSchema {
  readonly refs: SchemaRefs;
  readonly patterns: Patterns;
}

/** Made when a tool is first used, never at its listing; gone with the schema. */
const preparations = new WeakMap<JsonObject, PreparedSchema | string>();

/** A text says why the schema cannot be checked against. */
export function prepareSchema(schema: JsonObject): PreparedSchema | string {
  const known = preparations.get(schema);
  if (known !== undefined) return known;
  const { over } = measure(schema, LIMITS.outputSchema);
  const prepared = over === undefined ? { refs: new SchemaRefs(schema), patterns: new Map() } : `its schema is ${over}`;
  preparations.set(schema, prepared);
  return prepared;
}

/** `/rows/0 must be …`, the place as a JSON pointer. */
export function describeMisfit({ at, what }: Misfit): string {
  const keys: string[] = [];
  for (let place = at; place; place = place.parent) keys.push(escaped(place.key));
  const path = keys.reverse().join("/");
  return `${path === "" ? "the whole" : `/${path}`} ${what}`;
}

function escaped(key: string | number): string {
  return String(key).slice(0, 80).replaceAll("~", "~0").replaceAll("/", "~1");
}
