// Whether structured output keeps to the schema its tool declares. Never more than a warning, and never for long.

import { Pace } from "../../base/async/pace.js";
import { messageOf } from "../../base/errors.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { measure } from "../../base/json/measure.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { OutOfFuel, SchemaCheck } from "../../base/schema/schema-check.js";
import { describeMisfit, type PreparedSchema, prepareSchema } from "../../base/schema/schema-fit.js";
import { MCP_LIMITS } from "../limits.js";

export type OutputVerdict =
  | { readonly kind: "fits" }
  | { readonly kind: "mismatch"; readonly warning: string }
  /** Too large, too deep, too much work, or beyond what is checked here. */
  | { readonly kind: "unchecked"; readonly reason: string };

/**
 * A walk over both, in lumps of bounded work (measuring, preparing, checking), each of which waits for its turn: the event
 * loop is free in between, however many answers come at once. No compiler and no library: ajv takes a millisecond a tool
 * and runs patterns with an engine that a hostile one stalls; @cfworker/json-schema runs them with the same engine.
 */
export async function checkOutput(schema: JsonObject, value: JsonValue, world: World): Promise<OutputVerdict> {
  const pace = Pace.of(world);
  const { over } = await pace.run(() => measure(value, MCP_LIMITS.outputValue));
  if (over !== undefined) return { kind: "unchecked", reason: `the output is ${over}` };
  const prepared = await pace.run(() => prepareSchema(schema));
  if (typeof prepared === "string") return { kind: "unchecked", reason: prepared };
  return await pace.run(() => verdictOn(schema, value, prepared, world));
}

function verdictOn(
  schema: JsonObject,
  value: JsonValue,
  { refs, patterns }: PreparedSchema,
  world: World,
): OutputVerdict {
  const endMs = world.monotonicMs() + LIMITS.outputCheckMs;
  const isLate = () => world.monotonicMs() > endMs;
  try {
    const verdict = new SchemaCheck(refs, patterns, LIMITS.outputFuel, isLate).check(schema, value);
    if (verdict === undefined) return { kind: "fits" };
    if (verdict === "unsure") return { kind: "unchecked", reason: "its schema has parts that are not checked" };
    return { kind: "mismatch", warning: `the structured output does not fit its schema: ${describeMisfit(verdict)}` };
  } catch (thrown) {
    if (thrown instanceof OutOfFuel) return { kind: "unchecked", reason: "checking it takes too long" };
    return { kind: "unchecked", reason: `checking it failed: ${messageOf(thrown)}` }; // no result is lost over a check
  }
}
