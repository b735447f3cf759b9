// What a check comes to, and the checks that need nothing but the value itself.
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json.js";

/** Where in the value, written backwards. */
export interface Place {
  readonly key: string | number;
  readonly parent: Place | undefined;
}

export interface Misfit {
  readonly at: Place | undefined;
  readonly what: string;
}

export type At = Place | undefined;
/** Nothing when it fits. */
export type Verdict = Misfit | "unsure" | undefined;

/** The first misfit; unsure when there is none but not everything could be decided. */
export function every<T>(items: Iterable<T>, check: (item: T) => Verdict): Verdict {
  let isSure = true;
  for (const item of items) {
    const verdict = check(item);
    if (isMisfit(verdict)) return verdict;
    if (verdict === "unsure") isSure = false;
  }
  return isSure ? undefined : "unsure";
}

export function isMisfit(verdict: Verdict): verdict is Misfit {
  return typeof verdict === "object";
}

export function isSameMisfit(one: Misfit, other: Misfit): boolean {
  if (one.what !== other.what) return false;
  let [a, b] = [one.at, other.at];
  for (; a && b && a.key === b.key; a = a.parent) b = b.parent;
  return a === undefined && b === undefined;
}

export function lacking(name: string, at: At): Misfit {
  return { at, what: `lacks the required property ${quoted(name)}` };
}

export function numberVerdict(schema: JsonObject, value: number, at: At): Verdict {
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

export function isOfType(value: JsonValue, type: string): boolean {
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

export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
