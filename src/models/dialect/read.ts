// A raw JSON Schema as a shape: references followed, combinators resolved, what no shape can hold put into words.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { refsStandAlone, refTarget } from "../../base/schema/schema-refs.js";
import { MODEL_LIMITS } from "../limits.js";
import { bothHold, orNull, withCondition, withForms } from "./combine.js";
import {
  ANY,
  anyThat,
  BOUND_NAMES,
  BOUNDS,
  type Bound,
  clip,
  type Draft,
  draft,
  type Fuel,
  isOfKinds,
  isOpen,
  KINDS,
  type Kind,
  kindOf,
  listWords,
  namesWords,
  ofKind,
  patternSentence,
  type Shape,
  saying,
  shapeWords,
  valueWords,
  withoutWords,
} from "./shape.js";

export function readSchema(root: JsonObject, fuel: Fuel): Shape {
  return new Reader(root, fuel).read(root, 0);
}

class Reader {
  readonly #root: JsonObject;
  readonly #fuel: Fuel;
  /** The schemas being read, outermost first: a reference to one of them would never end. */
  readonly #open = new Set<JsonValue>();
  #followed = 0;
  #inlined = 0;

  constructor(root: JsonObject, fuel: Fuel) {
    this.#root = root;
    this.#fuel = fuel;
  }

  read(schema: JsonValue | undefined, depth: number): Shape {
    this.#fuel.spend(1);
    if (schema === undefined || schema === true) return ANY;
    if (schema === false) return anyThat("No value is allowed here.");
    if (!isJsonObject(schema)) return anyThat("Its form could not be read.");
    if (depth > MODEL_LIMITS.dialect.readDepth)
      return this.#cut(schema, "Its form is nested too deep to be told here.");
    if (this.#followed > 0) this.#inlined += 1;
    this.#open.add(schema);
    const shape = this.#whole(schema, depth + 1);
    this.#open.delete(schema);
    return shape;
  }

  #whole(schema: JsonObject, depth: number): Shape {
    const ref = schema["$ref"] ?? schema["$dynamicRef"] ?? schema["$recursiveRef"];
    if (typeof ref === "string" && refsStandAlone(this.#root)) return this.#reference(ref, schema, depth);
    let shape = this.#own(schema, depth);
    if (typeof ref === "string") shape = this.#beside(shape, this.#reference(ref, schema, depth));
    const { allOf, anyOf, oneOf, not } = schema;
    if (Array.isArray(allOf)) {
      for (const part of allOf) shape = bothHold(shape, this.read(part, depth), this.#fuel);
    }
    for (const [list, isOne] of [
      [anyOf, false],
      [oneOf, true],
    ] as const) {
      if (!Array.isArray(list)) continue;
      const forms = list.filter((form) => form !== false).map((form) => this.read(form, depth));
      shape = withForms(shape, forms, isOne, this.#fuel);
    }
    if (schema["if"] !== undefined) shape = this.#condition(shape, schema, depth);
    // What OpenAPI 3.0 wrote for a `null` among the types.
    if (schema["nullable"] === true) shape = orNull(shape);
    return not === undefined ? shape : saying(shape, `Must not be ${shapeWords(this.read(not, depth))}.`);
  }

  /** What is written beside a reference speaks for this place, so its words go before those of the target. */
  #beside(own: Shape, target: Shape): Shape {
    if (own.description === undefined) return bothHold(own, target, this.#fuel);
    const { description: _description, title: _title, ...rest } = target;
    return bothHold(own, rest, this.#fuel);
  }

  #reference(ref: string, schema: JsonObject, depth: number): Shape {
    const target =
      ref.length > MAX_REF_CHARS ? undefined : refTarget(this.#root, ref, (name) => anchored(this.#root, name));
    const name = JSON.stringify(clip(ref.split("/").at(-1) ?? ref, 80));
    if (target === undefined) return anyThat(`Its form is described elsewhere, as ${name}.`);
    if (target === schema || this.#open.has(target))
      return this.#cut(target, `Again of the form ${name}, one level further in.`);
    if (this.#inlined > MODEL_LIMITS.dialect.maxInlined) return this.#cut(target, `Of the form ${name}.`);
    this.#followed += 1;
    const shape = this.read(target, depth);
    this.#followed -= 1;
    return shape;
  }

  /** A schema that is not gone into: its kind, and what it needs, in words. */
  #cut(schema: JsonValue, why: string): Shape {
    if (!isJsonObject(schema)) return anyThat(why);
    const shape = draft();
    readKinds(shape, schema, []);
    const [kind] = shape.kinds ?? [];
    const { required } = schema;
    const names = Array.isArray(required) ? required.slice(0, 100).filter((name) => typeof name === "string") : [];
    const says = names.length === 0 ? [why] : [why, `Needs ${namesWords(names)}.`];
    return kind === undefined ? anyThat(...says) : ofKind(kind, ...says);
  }

  #condition(shape: Shape, schema: JsonObject, depth: number): Shape {
    const { if: condition, then, else: otherwise } = schema;
    const branches = defined({
      met: then === undefined ? undefined : this.read(then, depth),
      unmet: otherwise === undefined ? undefined : this.read(otherwise, depth),
    });
    return withCondition(shape, this.read(condition, depth), branches, this.#fuel);
  }

  /** The schema without references and combinators. */
  #own(schema: JsonObject, depth: number): Shape {
    const shape = draft();
    const says: string[] = [];
    readWords(shape, schema, says);
    readKinds(shape, schema, says);
    readOptions(shape, schema, says, this.#fuel);
    readBounds(shape, schema);
    this.#list(shape, schema, says, depth);
    this.#object(shape, schema, says, depth);
    shape.says = says;
    return shape;
  }

  #list(shape: Draft, schema: JsonObject, says: string[], depth: number): void {
    const { items, prefixItems, additionalItems, contains } = schema;
    const tuple = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : undefined;
    const rest = Array.isArray(items) ? additionalItems : items;
    if (tuple !== undefined) this.#tuple(shape, tuple, rest, says, depth);
    else if (items === false) shape.bounds = { ...shape.bounds, maxItems: 0 };
    else if (items !== undefined) shape.items = this.read(items, depth);
    if (contains !== undefined) {
      const { minContains: least, maxContains: most } = schema;
      const count = `${typeof least === "number" ? least : 1}${typeof most === "number" ? ` to ${most}` : " or more"}`;
      says.push(`Must contain ${count} of: ${shapeWords(this.read(contains, depth))}.`);
    }
  }

  /** No dialect has lists whose places differ: any of the forms in any place, and the order in words. */
  #tuple(shape: Draft, tuple: readonly JsonValue[], rest: JsonValue | undefined, says: string[], depth: number): void {
    const places = tuple.map((place) => this.read(place, depth));
    const more = rest === undefined || rest === false ? [] : [this.read(rest, depth)];
    const words = places.map((place, index) => `${index + 1}. ${shapeWords(place, 1)}`);
    says.push(`In this order: ${clip(words.join("; "), 600)}.`);
    const forms = [...places, ...more].map((place) => withoutWords(place));
    shape.items = withForms(ANY, forms, false, this.#fuel);
    if (rest === false && shape.bounds.maxItems === undefined) {
      shape.bounds = { ...shape.bounds, maxItems: tuple.length };
    }
  }

  #object(shape: Draft, schema: JsonObject, says: string[], depth: number): void {
    const { properties, required, additionalProperties } = schema;
    const known = new Map<string, Shape>();
    if (isJsonObject(properties)) {
      for (const name of Object.keys(properties)) known.set(name, this.read(properties[name], depth));
    }
    const others = additionalProperties === undefined ? undefined : this.#additional(additionalProperties, depth);
    this.#patterns(shape, schema, others, says, depth);
    if (Array.isArray(required)) {
      this.#fuel.spend(required.length / 4);
      shape.required = new Set(required.filter((name) => typeof name === "string"));
      // A required property without a description is still required.
      const form = typeof shape.additional === "object" ? shape.additional : ANY;
      for (const name of shape.required) if (!known.has(name)) known.set(name, form);
    }
    shape.properties = known;
    this.#rules(schema, says, depth);
  }

  #additional(schema: JsonValue, depth: number): boolean | Shape {
    if (typeof schema === "boolean") return schema;
    const shape = this.read(schema, depth);
    return isOpen(shape) && shape.description === undefined ? true : shape;
  }

  #patterns(
    shape: Draft,
    schema: JsonObject,
    others: boolean | Shape | undefined,
    says: string[],
    depth: number,
  ): void {
    const { patternProperties, unevaluatedProperties } = schema;
    if (others !== undefined) shape.additional = others;
    else if (unevaluatedProperties === false) shape.additional = false;
    if (!isJsonObject(patternProperties)) return;
    const entries = Object.keys(patternProperties).map((pattern): [string, Shape] => [
      pattern,
      this.read(patternProperties[pattern], depth),
    ]);
    for (const [pattern, form] of entries.slice(0, 10)) {
      says.push(`Keys matching ${clip(pattern, 200)} hold ${shapeWords(form)}.`);
    }
    const [only, ...more] = entries;
    if (only === undefined) return;
    const isLone = more.length === 0 && (others === undefined || others === false) && !isOpen(only[1]);
    shape.additional = isLone ? only[1] : true;
  }

  /** Rules between properties, and on their names. */
  #rules(schema: JsonObject, says: string[], depth: number): void {
    const { propertyNames, dependentRequired, dependentSchemas, dependencies } = schema;
    if (isJsonObject(propertyNames)) {
      const names = this.read(propertyNames, depth);
      if (names.options !== undefined) says.push(`Keys: ${shapeWords(names)}.`);
      else if (names.pattern !== undefined) says.push(`Keys: ${patternSentence(names.pattern)}`);
      else if (names.format !== undefined || Object.keys(names.bounds).length > 0) {
        says.push(`Keys: ${shapeWords(names)}.`);
      }
    }
    for (const rules of [dependentRequired, dependentSchemas, dependencies]) {
      if (!isJsonObject(rules)) continue;
      for (const name of Object.keys(rules).slice(0, 20)) {
        const needs = rules[name];
        const words = Array.isArray(needs)
          ? `${namesWords(needs.filter((need) => typeof need === "string"))} must be given too`
          : `it must be ${shapeWords(this.read(needs, depth))}`;
        says.push(`If ${namesWords([name])} is given, ${words}.`);
      }
    }
  }
}

// Where a `$ref` leads inside one schema. Nothing is ever fetched: what lies elsewhere stays unknown.

const MAX_REF_CHARS = 2_000;

/** Anchors are looked for where generators put them: among the definitions. */
function anchored(root: JsonObject, name: string): JsonValue | undefined {
  for (const place of [root["$defs"], root["definitions"]]) {
    if (!isJsonObject(place)) continue;
    for (const key of Object.keys(place)) {
      const entry = place[key];
      if (isJsonObject(entry) && (entry["$anchor"] === name || entry["$dynamicAnchor"] === name)) return entry;
    }
  }
  return undefined;
}

// The keywords of one schema that need no look at other schemas: kinds, values, bounds, words.

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

function readWords(shape: Draft, schema: JsonObject, says: string[]): void {
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
function readKinds(shape: Draft, schema: JsonObject, says: string[]): void {
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
function readOptions(shape: Draft, schema: JsonObject, says: string[], fuel: Fuel): void {
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

function readBounds(shape: Draft, schema: JsonObject): void {
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
