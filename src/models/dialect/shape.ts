// What a schema says, once references and combinators are out of the way: the common ground between JSON Schema and the dialects.
import { defined } from "../../base/json/defined.js";
import { canonicalJson, type JsonValue } from "../../base/json/json.js";

export type Kind = "object" | "array" | "string" | "number" | "integer" | "boolean" | "null";

export const KINDS: readonly Kind[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/** Bounds that are one number each, with the kind of value they are about. */
export const BOUNDS = {
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
  minLength: "string",
  maxLength: "string",
  minItems: "array",
  maxItems: "array",
  minProperties: "object",
  maxProperties: "object",
} as const;
export type Bound = keyof typeof BOUNDS;

export const BOUND_NAMES: readonly Bound[] = Object.keys(BOUNDS).filter((name): name is Bound => name in BOUNDS);

/** Either one form, with any of the fields below, or several (`forms`), which has nothing but words beside it. */
export interface Shape {
  readonly title?: string;
  readonly description?: string;
  /** Sentences for the description: what no field here can say. */
  readonly says: readonly string[];
  readonly default?: JsonValue;
  /** Left out: anything goes. */
  readonly kinds?: readonly Kind[];
  readonly options?: readonly JsonValue[];
  readonly bounds: Readonly<Partial<Record<Bound, number>>>;
  readonly pattern?: string;
  readonly format?: string;
  readonly isUnique?: boolean;
  readonly items?: Shape;
  readonly properties: ReadonlyMap<string, Shape>;
  readonly required: ReadonlySet<string>;
  /** Keys beyond `properties`: none, any, or of this shape. */
  readonly additional?: boolean | Shape;
  readonly forms?: readonly Shape[];
}

export type Draft = { -readonly [Field in keyof Shape]: Shape[Field] };

const NO_NAMES: ReadonlySet<string> = new Set();
const NO_PROPERTIES: ReadonlyMap<string, Shape> = new Map();
const NO_WORDS: readonly string[] = [];

export function draft(): Draft {
  return { says: NO_WORDS, bounds: {}, properties: NO_PROPERTIES, required: NO_NAMES };
}

export const ANY: Shape = draft();

export function ofKind(kind: Kind, ...says: string[]): Shape {
  return { ...ANY, kinds: [kind], says };
}

export function anyThat(...says: string[]): Shape {
  return { ...ANY, says };
}

export function saying(shape: Shape, ...says: string[]): Shape {
  const fresh = says.filter((sentence) => !shape.says.includes(sentence));
  return fresh.length === 0 ? shape : { ...shape, says: [...shape.says, ...fresh] };
}

/** Whether it says nothing about the value, apart from words. */
export function isOpen(shape: Shape): boolean {
  const { kinds, forms, options, pattern, format, items, additional, isUnique, properties, required, bounds } = shape;
  const given = kinds ?? forms ?? options ?? pattern ?? format ?? items ?? additional ?? isUnique;
  return given === undefined && properties.size === 0 && required.size === 0 && Object.keys(bounds).length === 0;
}

export function mayBe(shape: Shape, kind: Kind): boolean {
  if (shape.forms !== undefined) return shape.forms.some((form) => mayBe(form, kind));
  return shape.kinds === undefined || shape.kinds.includes(kind);
}

export function isOnly(shape: Shape, kind: Kind): boolean {
  return shape.forms === undefined && shape.kinds?.length === 1 && shape.kinds[0] === kind;
}

/** Its words alone: what may stand beside `forms`. */
export function wordsAlone({ says, title, description, default: preset }: Shape): Shape {
  return { ...draft(), says, ...defined({ title, description, default: preset }) };
}

/** Everything but its words. */
export function withoutWords(shape: Shape): Shape {
  const { title: _title, description: _description, default: _default, ...rest } = shape;
  return { ...rest, says: NO_WORDS };
}

export function kindOf(value: JsonValue): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value === "string") return "string";
  return typeof value === "boolean" ? "boolean" : "object";
}

export function isOfKinds(value: JsonValue, kinds: readonly Kind[]): boolean {
  const kind = kindOf(value);
  return kinds.includes(kind) || (kind === "integer" && kinds.includes("number"));
}

// Constraints as sentences: for keywords that a provider's form lacks, in the description that the model reads.

/** Longer lists and texts are cut: a description is read with every request. */
const MAX_VALUE_CHARS = 120;
const MAX_LIST_CHARS = 600;
const MAX_PATTERN_CHARS = 300;
/** How many levels of a shape one sentence describes. */
const MAX_TOLD_DEPTH = 2;

export function clip(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`;
}

/** For values already known to be small. */
export function valueWords(value: JsonValue): string {
  return clip(canonicalJson(value), MAX_VALUE_CHARS);
}

/** Cut at a whole item, with the number of those left out. */
export function listWords(items: readonly string[], separator = ", ", maxChars: number = MAX_LIST_CHARS): string {
  let text = "";
  for (const [index, item] of items.entries()) {
    const next = index === 0 ? item : `${separator}${item}`;
    if (index > 0 && text.length + next.length > maxChars) return `${text}${separator}… (${items.length - index} more)`;
    text += next;
  }
  return text;
}

export function namesWords(names: Iterable<string>): string {
  return listWords(
    [...names].map((name) => JSON.stringify(clip(name, MAX_VALUE_CHARS))),
    ", ",
  );
}

export function optionsWords(options: readonly JsonValue[]): string {
  const list = listWords(options.slice(0, 200).map((option) => valueWords(option)));
  const rest = options.length - 200;
  return rest > 0 ? `${list} … (${rest} more)` : list;
}

const COUNTED: Readonly<Partial<Record<Kind, string>>> = { string: "character", array: "item", object: "key" };

export function boundSentence(bound: Bound, value: number): string {
  if (bound === "exclusiveMinimum") return `Greater than ${value}.`;
  if (bound === "exclusiveMaximum") return `Less than ${value}.`;
  if (bound === "multipleOf") return `A multiple of ${value}.`;
  const noun = COUNTED[BOUNDS[bound]];
  const unit = noun === undefined ? "" : ` ${noun}${value === 1 ? "" : "s"}`;
  return `At ${bound.startsWith("min") ? "least" : "most"} ${value}${unit}.`;
}

export function patternSentence(pattern: string): string {
  return `Must match the pattern \`${clip(pattern, MAX_PATTERN_CHARS)}\`.`;
}

const NOUNS: Readonly<Record<Kind, string>> = {
  object: "an object",
  array: "a list",
  string: "a string",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  null: "null",
};

/** A shape in a few words, to stand inside a sentence. */
export function shapeWords(shape: Shape, depth: number = MAX_TOLD_DEPTH): string {
  if (shape.forms !== undefined) {
    const forms = shape.forms.slice(0, 20).map((form) => shapeWords(form, depth - 1));
    return listWords([...new Set(forms)], " or ", 300);
  }
  const parts: string[] = [];
  if (shape.options !== undefined) {
    parts.push(shape.options.length === 1 ? optionsWords(shape.options) : `one of ${optionsWords(shape.options)}`);
  } else if (shape.kinds !== undefined) parts.push(shape.kinds.map((kind) => NOUNS[kind]).join(" or "));
  else parts.push("anything");
  if (shape.format !== undefined) parts.push(`(${clip(shape.format, 40)})`);
  if (shape.pattern !== undefined) parts.push(`matching ${clip(shape.pattern, MAX_VALUE_CHARS)}`);
  const bounds = BOUND_NAMES.flatMap((bound) => {
    const value = shape.bounds[bound];
    return value === undefined ? [] : [boundSentence(bound, value).slice(0, -1).toLowerCase()];
  });
  if (bounds.length > 0) parts.push(`(${bounds.join(", ")})`);
  if (shape.items !== undefined && depth > 0) parts.push(`of ${shapeWords(shape.items, depth - 1)}`);
  const inside = depth > 0 ? insideWords(shape, depth) : "";
  return clip([...parts, ...(inside === "" ? [] : [`with ${inside}`])].join(" "), MAX_LIST_CHARS);
}

/** Which properties an object needs or fixes: what tells one form of it from another. */
export function insideWords(shape: Shape, depth: number = MAX_TOLD_DEPTH): string {
  const parts: string[] = [];
  const given: string[] = [];
  for (const [name, property] of shape.properties) {
    if (parts.length >= 20) break;
    const isFixed = property.options !== undefined && property.options.length <= 5;
    const isTelling = isFixed || property.pattern !== undefined || Object.keys(property.bounds).length > 0;
    if (isTelling) parts.push(`${namesWords([name])}: ${shapeWords(property, depth - 1)}`);
    else if (shape.required.has(name)) given.push(name);
  }
  const named = given.length === 0 ? [] : [namesWords(given)];
  return listWords([...parts, ...named], " and ", 400);
}

// What one compilation may cost: every schema looked at, merged or written is paid for, so that none can make it long.

/** Thrown when the work allowed for one schema is used up; the schema is then refused as too large. */
export class OutOfFuel extends Error {}

export class Fuel {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new OutOfFuel();
  }
}
