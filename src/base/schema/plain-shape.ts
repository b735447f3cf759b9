// Schemas of flat objects, as most tools' arguments have: that a value fits one is seen without walking both.
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json.js";

export interface PlainShape {
  /** What a property must be. */
  readonly leaves: ReadonlyMap<string, LeafShape>;
  readonly required: readonly string[];
  /** Properties it does not name may be there. */
  readonly isOpen: boolean;
}

interface LeafShape {
  /** `other` where its schema says more than that. */
  readonly type: string;
  /** Of numbers. */
  readonly minimum: number;
  readonly maximum: number;
}

const OTHER: LeafShape = { type: "other", minimum: Number.NEGATIVE_INFINITY, maximum: Number.POSITIVE_INFINITY };

const MAX_PROPERTIES = 100;
/** Keywords that say nothing about a value. */
const ANNOTATIONS: readonly string[] = ["$schema", "$comment", "title", "description", "default", "examples"];
const OF_OBJECTS: readonly string[] = [...ANNOTATIONS, "type", "properties", "required", "additionalProperties"];
const OF_LEAVES: readonly string[] = [...ANNOTATIONS, "type"];
const OF_NUMBERS: readonly string[] = [...OF_LEAVES, "minimum", "maximum"];
const LEAF_TYPES: readonly string[] = ["string", "number", "integer", "boolean", "null"];

/** Undefined for a schema that says anything else. */
export function plainShape(schema: JsonObject): PlainShape | undefined {
  const { type, properties = {}, required = [], additionalProperties = true } = schema;
  if (type !== "object" || !hasOnly(schema, OF_OBJECTS) || typeof additionalProperties !== "boolean") return undefined;
  if (!isJsonObject(properties) || !Array.isArray(required)) return undefined;
  const names = required.filter((name) => typeof name === "string");
  const entries = Object.entries(properties);
  if (names.length !== required.length || entries.length + names.length > MAX_PROPERTIES) return undefined;
  const leaves = new Map(entries.map(([name, property]) => [name, leafShape(property)]));
  return { leaves, required: names, isOpen: additionalProperties };
}

function leafShape(schema: JsonValue | undefined): LeafShape {
  if (!isJsonObject(schema)) return OTHER;
  const { type, minimum = OTHER.minimum, maximum = OTHER.maximum } = schema;
  if (typeof type !== "string" || !LEAF_TYPES.includes(type)) return OTHER;
  const isNumber = type === "number" || type === "integer";
  if (!hasOnly(schema, isNumber ? OF_NUMBERS : OF_LEAVES)) return OTHER;
  return typeof minimum === "number" && typeof maximum === "number" ? { type, minimum, maximum } : OTHER;
}

function hasOnly(schema: JsonObject, keywords: readonly string[]): boolean {
  return Object.keys(schema).every((keyword) => keywords.includes(keyword));
}

/** False also where more would have to be looked at to know. */
export function surelyFits({ leaves, required, isOpen }: PlainShape, value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  let count = 0;
  for (const name in value) {
    count += 1;
    const leaf = leaves.get(name);
    const isFitting = leaf === undefined ? isOpen && isLeaf(value[name]) : isOfShape(value[name], leaf);
    if (!isFitting || count > MAX_PROPERTIES) return false;
  }
  for (const name of required) if (!Object.hasOwn(value, name)) return false;
  return true;
}

function isLeaf(value: JsonValue | undefined): boolean {
  return value !== undefined && (value === null || typeof value !== "object");
}

function isOfShape(value: JsonValue | undefined, { type, minimum, maximum }: LeafShape): boolean {
  switch (type) {
    case "integer":
    case "number": {
      if (typeof value !== "number" || value < minimum || value > maximum) return false;
      return type === "number" || Number.isInteger(value);
    }
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}
