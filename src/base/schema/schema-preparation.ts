// What a check needs of a schema before the first value, made once for each schema, and how a misfit is put into words.

import type { JsonObject } from "../json/json.js";
import { measure } from "../json/measure.js";
import { LIMITS } from "../limits.js";
import type { Patterns } from "./schema-check.js";
import { SchemaRefs } from "./schema-refs.js";
import type { Misfit } from "./schema-verdict.js";

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
