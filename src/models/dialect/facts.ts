// The keywords of one schema that need no look at other schemas: kinds, values, bounds, words.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import {
  BOUND_NAMES,
  BOUNDS,
  type Bound,
  clip,
  type Draft,
  type Fuel,
  isOfKinds,
  KINDS,
  type Kind,
  kindOf,
  listWords,
  valueWords,
} from "./shape.js";

/** A default or an allowed value above this is no help to a model, and could be deep enough to break who writes it. */
const MODEST = { nodes: 200, depth: 12, chars: 10_000 } as const;

/** What generators write where JSON Schema has another word. */
const LOOSE_KINDS: Readonly<Record<string, Kind>> = {
  int: "integer",
  long: "integer",
  float: "number",
  double: "number",
  decimal: "number",
  str: "string",
  text: "string",
  bool: "boolean",
  dict: "object",
  map: "object",
  list: "array",
  tuple: "array",
};

function isModest(value: JsonValue | undefined): value is JsonValue {
  let nodes = 0;
  const isSmall = (part: JsonValue | undefined, depth: number): boolean => {
    nodes += 1;
    if (nodes > MODEST.nodes || depth > MODEST.depth) return false;
    if (typeof part === "string") return part.length <= MODEST.chars;
    if (typeof part === "number") return Number.isFinite(part);
    if (typeof part !== "object" || part === null) return part !== undefined;
    if (!isJsonObject(part)) return part.length <= MODEST.nodes && part.every((item) => isSmall(item, depth + 1));
    for (const key in part) if (!isSmall(part[key], depth + 1)) return false;
    return true;
  };
  return isSmall(value, 0);
}

export function readWords(shape: Draft, schema: JsonObject, says: string[]): void {
  const { title, description, default: preset, examples, example, deprecated, contentEncoding } = schema;
  if (typeof title === "string" && title.trim() !== "") shape.title = title;
  if (typeof description === "string" && description.trim() !== "") shape.description = description;
  if (preset !== undefined) {
    if (isModest(preset)) shape.default = preset;
    else says.push("Has a default that is too long to be given here.");
  }
  const samples = (Array.isArray(examples) ? examples.slice(0, 5) : [example]).filter((sample) => isModest(sample));
  const words = samples.map((sample) => valueWords(sample));
  if (words.length > 0) says.push(`For example ${listWords(words, ", ", 300)}.`);
  if (deprecated === true) says.push("Deprecated.");
  if (typeof contentEncoding === "string") says.push(`Encoded as ${clip(contentEncoding, 40)}.`);
}

/** Kinds as written, or as the other keywords imply: providers refuse schemas without any. */
export function readKinds(shape: Draft, schema: JsonObject, says: string[]): void {
  const { type } = schema;
  const names = (typeof type === "string" ? [type] : Array.isArray(type) ? type.slice(0, 16) : []).filter(
    (name) => typeof name === "string",
  );
  const kinds = new Set<Kind>();
  for (const name of names) {
    const kind = KINDS.find((known) => known === name.toLowerCase()) ?? looseKind(name);
    if (kind !== undefined) kinds.add(kind);
    else if (name !== "any") says.push(`Its type is called ${JSON.stringify(clip(name, 40))}.`);
  }
  if (names.length === 0) for (const kind of impliedKinds(schema)) kinds.add(kind);
  if (kinds.size === 0) return;
  if (kinds.has("number")) kinds.delete("integer");
  shape.kinds = [...kinds];
}

function looseKind(name: string): Kind | undefined {
  return Object.hasOwn(LOOSE_KINDS, name) ? LOOSE_KINDS[name] : undefined;
}

function impliedKinds(schema: JsonObject): readonly Kind[] {
  const has = (...keywords: string[]) => keywords.some((keyword) => (schema[keyword] ?? undefined) !== undefined);
  if (has("properties", "required", "additionalProperties", "patternProperties", "propertyNames")) return ["object"];
  if (has("minProperties", "maxProperties", "dependentRequired")) return ["object"];
  if (has("items", "prefixItems", "minItems", "maxItems", "uniqueItems")) return ["array"];
  if (has("pattern", "minLength", "maxLength", "contentEncoding")) return ["string"];
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return ["number"];
  return [];
}

/** `enum` and `const`. Values that can never fit the kind are left out: providers refuse the mixture. */
export function readOptions(shape: Draft, schema: JsonObject, says: string[], fuel: Fuel): void {
  const given = Object.hasOwn(schema, "const") ? [schema["const"]] : schema["enum"];
  if (!Array.isArray(given)) return;
  fuel.spend(given.length / 4);
  const values = given.filter((value) => isModest(value));
  if (values.length < given.length)
    says.push(`${given.length - values.length} of its values are too long to be listed.`);
  if (values.length === 0 || values.length < given.length) return;
  const kinds = shape.kinds ?? [];
  const fitting = values.filter((value) => isOfKinds(value, kinds));
  shape.options = distinctValues(fitting.length > 0 ? fitting : values);
  if (fitting.length === 0) shape.kinds = kindsOf(values);
  else if (kinds.length > 1) {
    shape.kinds = kinds.filter((kind) => fitting.some((value) => isOfKinds(value, [kind])));
  }
}

function kindsOf(values: readonly JsonValue[]): readonly Kind[] {
  const kinds = new Set(values.map((value) => kindOf(value)));
  if (kinds.has("number")) kinds.delete("integer");
  return [...kinds];
}

function distinctValues(values: readonly JsonValue[]): readonly JsonValue[] {
  return [...new Set(values)]; // objects and lists are left as they are
}

export function readBounds(shape: Draft, schema: JsonObject): void {
  const bounds: Partial<Record<Bound, number>> = {};
  for (const bound of BOUND_NAMES) {
    const value = schema[bound];
    // Generators bound every integer by what a double can hold, which says nothing to a model.
    if (typeof value !== "number" || !(Math.abs(value) < Number.MAX_SAFE_INTEGER)) continue;
    const isCount = BOUNDS[bound] !== "number";
    if (isCount ? !Number.isInteger(value) || value < 0 : bound === "multipleOf" && value <= 0) continue;
    if (isCount && value === 0 && bound.startsWith("min")) continue;
    bounds[bound] = value;
  }
  // Draft 4 wrote the exclusive bounds as a mark on the others.
  for (const [plain, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (schema[exclusive] !== true || bounds[plain] === undefined) continue;
    bounds[exclusive] = bounds[plain];
    delete bounds[plain];
  }
  shape.bounds = bounds;
  if (typeof schema["pattern"] === "string") shape.pattern = schema["pattern"];
  if (typeof schema["format"] === "string" && schema["format"] !== "") shape.format = schema["format"];
  if (schema["uniqueItems"] === true) shape.isUnique = true;
}
