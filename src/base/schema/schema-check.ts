// Checks a value against a JSON Schema (2020-12, and what older drafts share with it) by walking both; nothing is compiled.
//
// What cannot be decided here (references out of the schema, `$dynamicRef`, `unevaluated*`, patterns beyond linear time)
// counts neither for nor against the value. Every step is paid for, so no schema can make it long.

import { type Eventual, whenThere } from "../async/eventual.js";
import { Pace } from "../async/pace.js";
import { messageOf } from "../errors.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, measure, sameJson } from "../json/json.js";
import { LIMITS } from "../limits.js";
import type { World } from "../ports/world.js";
import { compilePattern, type LinearPattern } from "../text/pattern.js";
import { type PlainShape, plainShape, surelyFits } from "./plain-shape.js";
import { SchemaRefs } from "./schema-refs.js";

/** Thrown when the work allowed for one check is used up. */
class OutOfFuel extends Error {}

const MAX_DEPTH = 150;
/** What looking at one schema costs, in the steps fuel is counted in. */
const VISIT = 10;
/** Steps between two looks at the clock. */
const LOOK_EVERY = 2_000;

const UNBOUNDED = {
  maxNodes: Number.POSITIVE_INFINITY,
  maxBytes: Number.POSITIVE_INFINITY,
  maxDepth: Number.POSITIVE_INFINITY,
};

/** The patterns of one schema, made when they are first needed. */
export type Patterns = Map<string, LinearPattern | undefined>;

export class SchemaCheck {
  readonly #refs: SchemaRefs;
  readonly #patterns: Patterns;
  readonly #spend: (steps: number) => void;
  #fuel: number;
  #depth = 0;
  /** Properties that would fit if they were left out: null where null is not allowed, and not required. */
  #nulls: (readonly [owner: JsonObject, name: string])[] | undefined;

  /** `isLate` is asked now and then, in case this machine is slower than the fuel assumes. */
  constructor(refs: SchemaRefs, patterns: Patterns, fuel: number, isLate: () => boolean) {
    this.#refs = refs;
    this.#patterns = patterns;
    this.#fuel = fuel;
    let nextLook = fuel - LOOK_EVERY;
    this.#spend = (steps) => {
      this.#fuel -= steps;
      if (this.#fuel > nextLook) return;
      if (this.#fuel < 0 || isLate()) throw new OutOfFuel();
      nextLook = this.#fuel - LOOK_EVERY;
    };
  }

  /** Throws `OutOfFuel` when it takes too long to find out. */
  check(schema: JsonValue | undefined, value: JsonValue, at?: At): Verdict {
    if (schema === false) return { at, what: "nothing is allowed here" };
    if (!isJsonObject(schema)) return schema === true || schema === undefined ? undefined : "unsure";
    this.#spend(VISIT);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new OutOfFuel();
    const referred = schema["$ref"] === undefined ? undefined : this.#reference(schema["$ref"], value, at);
    const isRefOnly = this.#refs.isAlone && schema["$ref"] !== undefined;
    const verdict = isMisfit(referred) || isRefOnly ? referred : (this.#keywords(schema, value, at) ?? referred);
    this.#depth -= 1;
    return verdict;
  }

  /** The first misfit, and of an object each wrong property by itself, as far as the work allowed goes; none when it fits. */
  misfits(schema: JsonObject, value: JsonValue, max: number): readonly Misfit[] | "unsure" {
    const first = this.check(schema, value);
    if (!isMisfit(first)) return first ?? [];
    const found = [first];
    try {
      for (const verdict of this.#eachProperty(schema, value)) {
        if (found.length >= max) break;
        if (isMisfit(verdict) && !found.some((other) => isSameMisfit(other, verdict))) found.push(verdict);
      }
    } catch (thrown) {
      if (!(thrown instanceof OutOfFuel)) throw thrown; // the first one stands
    }
    return found;
  }

  /** Such properties by the object they are in, as far as the work allowed goes. */
  misfitNulls(schema: JsonObject, value: JsonValue): ReadonlyMap<JsonObject, ReadonlySet<string>> {
    this.#nulls = [];
    const names = new Map<JsonObject, Set<string>>();
    try {
      this.misfits(schema, value, Number.POSITIVE_INFINITY);
    } catch (thrown) {
      if (!(thrown instanceof OutOfFuel)) throw thrown; // those found so far count
    }
    for (const [owner, name] of this.#nulls) names.set(owner, (names.get(owner) ?? new Set()).add(name));
    return names;
  }

  *#eachProperty(schema: JsonObject, value: JsonValue): Iterable<Verdict> {
    if (!isJsonObject(value)) return;
    const { required } = schema;
    for (const name of Array.isArray(required) ? required : []) {
      this.#spend(1);
      if (typeof name === "string" && !Object.hasOwn(value, name)) yield lacking(name, undefined);
    }
    for (const name of Object.keys(value)) yield this.#property(schema, value, name, undefined);
  }

  #keywords(schema: JsonObject, value: JsonValue, at: At): Verdict {
    const kind = this.#kind(schema, value, at);
    if (kind) return kind;
    const inside = this.#inside(schema, value, at);
    if (isMisfit(inside)) return inside;
    return this.#logic(schema, value, at) ?? inside;
  }

  #inside(schema: JsonObject, value: JsonValue, at: At): Verdict {
    if (typeof value === "string") return this.#text(schema, value, at);
    if (typeof value === "number") return numberVerdict(schema, value, at);
    if (typeof value !== "object" || value === null) return undefined;
    return isJsonObject(value) ? this.#map(schema, value, at) : this.#list(schema, value, at);
  }

  #reference(ref: JsonValue, value: JsonValue, at: At): Verdict {
    const target = typeof ref === "string" ? this.#refs.resolve(ref) : undefined;
    return target === undefined ? "unsure" : this.check(target, value, at);
  }

  #kind(schema: JsonObject, value: JsonValue, at: At): Verdict {
    const { type, enum: options } = schema;
    if (typeof type === "string" && !isOfType(value, type)) return { at, what: `must be of type ${type}` };
    if (Array.isArray(type)) {
      const names = type.slice(0, 8).filter((name) => typeof name === "string");
      if (!names.some((name) => isOfType(value, name))) return { at, what: `must be of type ${names.join(" or ")}` };
    }
    const onStep = () => this.#spend(1);
    if (Object.hasOwn(schema, "const") && !sameJson(schema["const"], value, onStep)) {
      return { at, what: "must be the one value its schema names" };
    }
    if (Array.isArray(options) && !options.some((option) => sameJson(option, value, onStep))) {
      return { at, what: "must be one of the values its schema names" };
    }
    return undefined;
  }

  #logic(schema: JsonObject, value: JsonValue, at: At): Verdict {
    const { allOf, anyOf, oneOf, not, if: condition, $dynamicRef, $recursiveRef } = schema;
    let verdict: Verdict = $dynamicRef === undefined && $recursiveRef === undefined ? undefined : "unsure";
    if (Array.isArray(allOf)) verdict = every(allOf, (branch) => this.check(branch, value, at)) ?? verdict;
    if (Array.isArray(anyOf) && !isMisfit(verdict)) verdict = this.#anyOf(anyOf, value, at) ?? verdict;
    if (Array.isArray(oneOf) && !isMisfit(verdict)) verdict = this.#oneOf(oneOf, value, at) ?? verdict;
    if (not !== undefined && !isMisfit(verdict)) verdict = this.#not(not, value, at) ?? verdict;
    if (condition !== undefined && !isMisfit(verdict)) verdict = this.#if(condition, schema, value, at) ?? verdict;
    return verdict;
  }

  #not(excluded: JsonValue, value: JsonValue, at: At): Verdict {
    const verdict = this.check(excluded, value, at);
    if (verdict === "unsure") return "unsure";
    return verdict ? undefined : { at, what: "must not be what its schema excludes" };
  }

  #if(condition: JsonValue, schema: JsonObject, value: JsonValue, at: At): Verdict {
    const verdict = this.check(condition, value, at);
    return verdict === "unsure" ? "unsure" : this.check(schema[verdict ? "else" : "then"], value, at);
  }

  /** Nulls found in a form that does not fit are none of the value's faults. */
  #branch(branch: JsonValue, value: JsonValue, at: At): Verdict {
    const known = this.#nulls?.length ?? 0;
    const verdict = this.check(branch, value, at);
    if (this.#nulls && isMisfit(verdict)) this.#nulls.length = known;
    return verdict;
  }

  #anyOf(branches: readonly JsonValue[], value: JsonValue, at: At): Verdict {
    let isSure = true;
    let only: Misfit | undefined;
    for (const branch of branches) {
      const verdict = this.#branch(branch, value, at);
      if (verdict === undefined) return undefined;
      if (verdict === "unsure") isSure = false;
      else only = verdict;
    }
    if (!isSure || !only) return isSure ? undefined : "unsure";
    return branches.length === 1 ? only : { at, what: `fits none of the ${branches.length} forms allowed` };
  }

  #oneOf(branches: readonly JsonValue[], value: JsonValue, at: At): Verdict {
    const { fits, unsure } = counted(branches, (branch) => this.#branch(branch, value, at));
    if (fits > 1) return { at, what: `fits ${fits} of its forms where only one is allowed` };
    if (unsure > 0) return "unsure";
    return fits === 1 || branches.length === 0
      ? undefined
      : { at, what: `fits none of the ${branches.length} forms allowed` };
  }

  #text(schema: JsonObject, value: string, at: At): Verdict {
    const { minLength, maxLength, pattern } = schema;
    if (typeof minLength === "number" && value.length / 2 < minLength && this.#length(value) < minLength) {
      return { at, what: `is shorter than ${minLength}` };
    }
    if (typeof maxLength === "number" && value.length > maxLength && this.#length(value) > maxLength) {
      return { at, what: `is longer than ${maxLength}` };
    }
    if (typeof pattern !== "string") return undefined;
    const isMatch = this.#matches(pattern, value);
    if (isMatch === "unsure") return "unsure";
    return isMatch ? undefined : { at, what: `does not match the pattern ${pattern.slice(0, 80)}` };
  }

  /** In characters, of which a pair of surrogates is one. Asked only where that can make a difference. */
  #length(value: string): number {
    this.#spend(value.length / 4);
    let length = 0;
    for (const _ of value) length += 1;
    return length;
  }

  /** Whether a text matches; unsure when the pattern is one that cannot be run safely. */
  #matches(pattern: string, value: string): boolean | "unsure" {
    if (!this.#patterns.has(pattern)) this.#patterns.set(pattern, compilePattern(pattern, this.#spend));
    return this.#patterns.get(pattern)?.test(value, this.#spend) ?? "unsure";
  }

  #list(schema: JsonObject, value: readonly JsonValue[], at: At): Verdict {
    const { items, prefixItems, additionalItems, minItems, maxItems } = schema;
    if (typeof minItems === "number" && value.length < minItems)
      return { at, what: `has fewer than ${minItems} items` };
    if (typeof maxItems === "number" && value.length > maxItems) return { at, what: `has more than ${maxItems} items` };
    const isOldTuple = Array.isArray(items);
    const tuple: readonly JsonValue[] = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
    const rest = isOldTuple ? additionalItems : items;
    const fitting = every(value.entries(), ([index, item]) => {
      this.#spend(1);
      return this.check(index < tuple.length ? tuple[index] : rest, item, { key: index, parent: at });
    });
    if (isMisfit(fitting)) return fitting;
    if (schema["uniqueItems"] === true && this.#hasTwins(value)) return { at, what: "has the same item twice" };
    return (
      this.#contains(schema, value, at) ?? fitting ?? (schema["unevaluatedItems"] === undefined ? undefined : "unsure")
    );
  }

  #contains(schema: JsonObject, value: readonly JsonValue[], at: At): Verdict {
    const { contains, minContains = 1, maxContains } = schema;
    if (contains === undefined || typeof minContains !== "number") return undefined;
    const { fits, unsure } = counted(value, (item) => this.check(contains, item, at));
    if (fits + unsure < minContains) return { at, what: "lacks an item it must contain" };
    if (typeof maxContains === "number" && fits > maxContains) return { at, what: "has too many items of one kind" };
    return unsure > 0 ? "unsure" : undefined;
  }

  /** By their canonical text: comparing each with each would cost the square. */
  #hasTwins(value: readonly JsonValue[]): boolean {
    const seen = new Set<string>();
    for (const item of value) {
      this.#spend(VISIT + (typeof item === "string" ? item.length : measure(item, UNBOUNDED).bytes) / 4);
      const text = canonicalJson(item);
      if (seen.has(text)) return true;
      seen.add(text);
    }
    return false;
  }

  #map(schema: JsonObject, value: JsonObject, at: At): Verdict {
    const { required, minProperties, maxProperties } = schema;
    const names = Object.keys(value);
    this.#spend(names.length);
    if (Array.isArray(required)) {
      this.#spend(required.length);
      const missing = required.filter((name) => typeof name === "string").find((name) => !Object.hasOwn(value, name));
      if (missing !== undefined) return lacking(missing, at);
    }
    if (typeof minProperties === "number" && names.length < minProperties)
      return { at, what: "has too few properties" };
    if (typeof maxProperties === "number" && names.length > maxProperties)
      return { at, what: "has too many properties" };
    const fitting = every(names, (name) => this.#property(schema, value, name, at));
    if (isMisfit(fitting)) return fitting;
    const dependent = this.#dependents(schema, value, at);
    return dependent ?? fitting ?? (schema["unevaluatedProperties"] === undefined ? undefined : "unsure");
  }

  #property(schema: JsonObject, owner: JsonObject, name: string, parent: At): Verdict {
    const verdict = this.#propertyVerdict(schema, name, owner[name] ?? null, parent);
    if (!this.#nulls || owner[name] !== null || !isMisfit(verdict) || requires(schema, name)) return verdict;
    this.#nulls.push([owner, name]);
    return undefined; // goes on as if it were left out
  }

  #propertyVerdict(schema: JsonObject, name: string, value: JsonValue, parent: At): Verdict {
    const { properties, patternProperties, additionalProperties, propertyNames } = schema;
    const at: ValuePath = { key: name, parent };
    let isKnown = false;
    const verdicts: Verdict[] = [propertyNames === undefined ? undefined : this.check(propertyNames, name, at)];
    if (isJsonObject(properties) && Object.hasOwn(properties, name)) {
      isKnown = true;
      verdicts.push(this.check(properties[name], value, at));
    }
    let mayBeKnown = false;
    if (isJsonObject(patternProperties)) {
      for (const pattern in patternProperties) {
        const isMatch = this.#matches(pattern, name);
        if (isMatch === "unsure") mayBeKnown = true;
        else if (isMatch) {
          isKnown = true;
          verdicts.push(this.check(patternProperties[pattern], value, at));
        }
      }
    }
    if (mayBeKnown) verdicts.push("unsure");
    else if (additionalProperties === false && !isKnown)
      verdicts.push({ at, what: "is a property that is not allowed" });
    else if (additionalProperties !== undefined && !isKnown) verdicts.push(this.check(additionalProperties, value, at));
    return every(verdicts, (verdict) => verdict);
  }

  #dependents(schema: JsonObject, value: JsonObject, at: At): Verdict {
    return every(["dependentRequired", "dependentSchemas", "dependencies"], (keyword) => {
      const map = schema[keyword];
      if (!isJsonObject(map)) return undefined;
      return every(Object.keys(map), (name) => {
        this.#spend(1);
        if (!Object.hasOwn(value, name)) return undefined;
        const needs = map[name];
        if (!Array.isArray(needs)) return this.check(needs, value, at);
        this.#spend(needs.length);
        const missing = needs
          .filter((other) => typeof other === "string")
          .find((other) => !Object.hasOwn(value, other));
        return missing === undefined
          ? undefined
          : { at, what: `lacks ${quoted(missing)}, which ${quoted(name)} needs` };
      });
    });
  }
}

// What a check comes to, and the checks that need nothing but the value itself.

/** Where in the value, written backwards. */
export interface ValuePath {
  readonly key: string | number;
  readonly parent: ValuePath | undefined;
}

export interface Misfit {
  readonly at: ValuePath | undefined;
  readonly what: string;
}

export type At = ValuePath | undefined;
/** Nothing when it fits. */
export type Verdict = Misfit | "unsure" | undefined;

/** The first misfit; unsure when there is none but not everything could be decided. */
function every<T>(items: Iterable<T>, check: (item: T) => Verdict): Verdict {
  let isSure = true;
  for (const item of items) {
    const verdict = check(item);
    if (isMisfit(verdict)) return verdict;
    if (verdict === "unsure") isSure = false;
  }
  return isSure ? undefined : "unsure";
}

function counted(items: readonly JsonValue[], check: (item: JsonValue) => Verdict): { fits: number; unsure: number } {
  const verdicts = items.map(check);
  const count = (wanted: Verdict) => verdicts.filter((verdict) => verdict === wanted).length;
  return { fits: count(undefined), unsure: count("unsure") };
}

function isMisfit(verdict: Verdict): verdict is Misfit {
  return typeof verdict === "object";
}

function isSameMisfit(one: Misfit, other: Misfit): boolean {
  if (one.what !== other.what) return false;
  let [a, b] = [one.at, other.at];
  for (; a && b && a.key === b.key; a = a.parent) b = b.parent;
  return a === undefined && b === undefined;
}

function requires({ required }: JsonObject, name: string): boolean {
  return Array.isArray(required) && required.includes(name);
}

function lacking(name: string, at: At): Misfit {
  return { at, what: `lacks the required property ${quoted(name)}` };
}

function numberVerdict(schema: JsonObject, value: number, at: At): Verdict {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const isBelow = typeof minimum === "number" && (exclusiveMinimum === true ? value <= minimum : value < minimum);
  if (isBelow || (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum))
    return { at, what: "is too small" };
  const isAbove = typeof maximum === "number" && (exclusiveMaximum === true ? value >= maximum : value > maximum);
  if (isAbove || (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum))
    return { at, what: "is too large" };
  if (typeof multipleOf === "number" && multipleOf > 0 && !isMultiple(value, multipleOf)) {
    return { at, what: `is no multiple of ${multipleOf}` };
  }
  return undefined;
}

/** 0.3 is a multiple of 0.1, although no binary fraction says so. */
function isMultiple(value: number, step: number): boolean {
  const ratio = value / step;
  return Math.abs(ratio - Math.round(ratio)) <= 1e-9 * Math.max(1, Math.abs(ratio));
}

function isOfType(value: JsonValue, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "integer":
      return typeof value === "number" && Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    default:
      return true; // no type of JSON Schema: nothing to hold against the value
  }
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}

export type SchemaFit =
  | { readonly kind: "fits" }
  /** Each names its place by a JSON pointer; the first few, not all. */
  | { readonly kind: "misfit"; readonly problems: readonly string[] }
  /** Too large, too deep, too much work, or beyond what is checked here: nothing is held against the value. */
  | { readonly kind: "unchecked"; readonly reason: string };

const FITS: SchemaFit = { kind: "fits" };

/** What is larger is not checked; of an argument or of an output. */
export interface SchemaCheckLimits {
  readonly extent?: { readonly maxNodes: number; readonly maxBytes: number; readonly maxDepth: number };
  readonly maxProblems?: number;
}

/**
 * Costs a bounded amount of work whatever the schema and the value are, in lumps that leave the event loop free in between.
 * Long texts are no reason to give up: what looks into them pays by their length.
 */
export function checkAgainstSchema(
  schema: JsonObject,
  value: JsonValue,
  world: World,
  limits: SchemaCheckLimits = {},
): Eventual<SchemaFit> {
  const known = preparations.get(schema);
  const isQuick = typeof known === "object" && known.plain && surelyFits(known.plain, value);
  return isQuick ? FITS : checkThoroughly(schema, value, world, limits);
}

function checkThoroughly(
  schema: JsonObject,
  value: JsonValue,
  world: World,
  { extent = LIMITS.argumentValue, maxProblems = LIMITS.argumentMaxProblems }: SchemaCheckLimits,
): Eventual<SchemaFit> {
  const pace = Pace.of(world);
  return whenThere(
    pace.runAtOnce(() => measure(value, extent)),
    ({ over }): Eventual<SchemaFit> => {
      if (over !== undefined) return { kind: "unchecked", reason: `the value is ${over}` };
      return whenThere(
        pace.runAtOnce(() => prepareSchema(schema)),
        (prepared): Eventual<SchemaFit> => {
          if (typeof prepared === "string") return { kind: "unchecked", reason: prepared };
          return pace.runAtOnce(() => fitOf(newCheck(prepared, world), schema, value, maxProblems));
        },
      );
    },
  );
}

/** The object without the nulls of optional properties that must not be null; models write them for "left out". */
export async function withoutMisfitNulls(schema: JsonObject, value: JsonObject, world: World): Promise<JsonObject> {
  return await Pace.of(world).run(() => {
    const prepared = prepareSchema(schema);
    if (typeof prepared === "string" || measure(value, LIMITS.argumentValue).over !== undefined) return value;
    const nulls = newCheck(prepared, world).misfitNulls(schema, value);
    const copy = (node: JsonValue): JsonValue => {
      if (!isJsonObject(node)) return Array.isArray(node) ? node.map(copy) : node;
      const kept = Object.entries(node).filter(([name]) => nulls.get(node)?.has(name) !== true);
      return Object.fromEntries(kept.map(([name, field]) => [name, copy(field ?? null)]));
    };
    const copied = nulls.size === 0 ? value : copy(value);
    return isJsonObject(copied) ? copied : value;
  });
}

function newCheck({ refs, patterns }: PreparedSchema, world: World): SchemaCheck {
  let endMs: number | undefined; // from the first look on: most checks are over before it
  const isLate = () => {
    const nowMs = world.monotonicMs();
    endMs ??= nowMs + LIMITS.outputCheckMs;
    return nowMs > endMs;
  };
  return new SchemaCheck(refs, patterns, LIMITS.outputFuel, isLate);
}

function fitOf(check: SchemaCheck, schema: JsonObject, value: JsonValue, maxProblems: number): SchemaFit {
  try {
    const misfits = check.misfits(schema, value, maxProblems);
    if (misfits === "unsure") return { kind: "unchecked", reason: "its schema has parts that are not checked" };
    if (misfits.length === 0) return FITS;
    return { kind: "misfit", problems: misfits.map(describeMisfit) };
  } catch (thrown) {
    if (thrown instanceof OutOfFuel) return { kind: "unchecked", reason: "checking it takes too long" };
    return { kind: "unchecked", reason: `checking it failed: ${messageOf(thrown)}` }; // no call is lost over a check
  }
}

// What a check needs of a schema before the first value, made once for each schema, and how a misfit is put into words.

interface PreparedSchema {
  readonly refs: SchemaRefs;
  readonly patterns: Patterns;
  /** Where it says no more than that. */
  readonly plain: PlainShape | undefined;
}

/** Made when a tool is first used, never at its listing; gone with the schema. */
const preparations = new WeakMap<JsonObject, PreparedSchema | string>();

/** A text says why the schema cannot be checked against. */
function prepareSchema(schema: JsonObject): PreparedSchema | string {
  const known = preparations.get(schema);
  if (known !== undefined) return known;
  const { over } = measure(schema, LIMITS.outputSchema);
  const prepared =
    over === undefined
      ? { refs: new SchemaRefs(schema), patterns: new Map(), plain: plainShape(schema) }
      : `its schema is ${over}`;
  preparations.set(schema, prepared);
  return prepared;
}

/** `/rows/0 must be …`, the place as a JSON pointer. */
export function describeMisfit({ at, what }: Misfit): string {
  const keys: string[] = [];
  for (let place = at; place; place = place.parent) keys.push(escaped(place.key));
  const path = keys.reverse().join("/");
  return `${path === "" ? "the value" : `/${path}`} ${what}`;
}

function escaped(key: string | number): string {
  return String(key).slice(0, 80).replaceAll("~", "~0").replaceAll("/", "~1");
}
