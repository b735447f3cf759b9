// What a schema says, once references and combinators are out of the way: the common ground between JSON Schema and the dialects.
import type { JsonValue } from "../../base/json/json.js";

export type Kind = "object" | "array" | "string" | "number" | "integer" | "boolean" | "null";

export const KINDS: readonly Kind[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/** Bounds that are one number each. */
export type Bound =
  | "minimum"
  | "maximum"
  | "exclusiveMinimum"
  | "exclusiveMaximum"
  | "multipleOf"
  | "minLength"
  | "maxLength"
  | "minItems"
  | "maxItems"
  | "minProperties"
  | "maxProperties";

export const BOUNDS: Readonly<Record<Bound, Kind>> = {
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
};

export const BOUND_NAMES: readonly Bound[] = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
];

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
  return (
    shape.kinds === undefined &&
    shape.forms === undefined &&
    shape.options === undefined &&
    shape.pattern === undefined &&
    shape.format === undefined &&
    shape.items === undefined &&
    shape.additional === undefined &&
    shape.isUnique === undefined &&
    shape.properties.size === 0 &&
    shape.required.size === 0 &&
    Object.keys(shape.bounds).length === 0
  );
}

export function mayBe(shape: Shape, kind: Kind): boolean {
  if (shape.forms !== undefined) return shape.forms.some((form) => mayBe(form, kind));
  return shape.kinds === undefined || shape.kinds.includes(kind);
}

export function isOnly(shape: Shape, kind: Kind): boolean {
  return shape.forms === undefined && shape.kinds?.length === 1 && shape.kinds[0] === kind;
}

/** Its words alone: what may stand beside `forms`. */
export function wordsAlone(shape: Shape): Shape {
  const words = draft();
  words.says = shape.says;
  if (shape.title !== undefined) words.title = shape.title;
  if (shape.description !== undefined) words.description = shape.description;
  if (shape.default !== undefined) words.default = shape.default;
  return words;
}

/** Everything but its words. */
export function withoutWords(shape: Shape): Shape {
  const { title: _title, description: _description, default: _default, ...rest } = shape;
  return { ...rest, says: NO_WORDS };
}

export function kindOf(value: JsonValue): Kind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "boolean";
    case "number":
      return Number.isInteger(value) ? "integer" : "number";
    default:
      return "object";
  }
}

export function isOfKinds(value: JsonValue, kinds: readonly Kind[]): boolean {
  const kind = kindOf(value);
  return kinds.includes(kind) || (kind === "integer" && kinds.includes("number"));
}
