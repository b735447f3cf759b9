// Schemas of flat objects, as most tools' arguments have: that a value fits one is seen without walking both.
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json.js";

export interface PlainShape {
  /** The type that a property must have; `other` where its schema says more than that. */
  readonly types: ReadonlyMap<string, string>;
  readonly required: readonly string[];
  /** Properties it does not name may be there. */
  readonly isOpen: boolean;
}

const MAX_PROPERTIES = 100;
/** Keywords that say nothing about a value. */
const ANNOTATIONS: readonly string[] = ["$schema", "$comment", "title", "description", "default", "examples"];
const OF_OBJECTS: readonly string[] = [...ANNOTATIONS, "type", "properties", "required", "additionalProperties"];
const OF_LEAVES: readonly string[] = [...ANNOTATIONS, "type"];
const LEAF_TYPES: readonly string[] = ["string", "number", "integer", "boolean", "null"];

/** Undefined for a schema that says anything else. */
export function plainShape(schema: JsonObject): PlainShape | undefined {
  const { type, properties = {}, required = [], additionalProperties = true } = schema;
  if (type !== "object" || !hasOnly(schema, OF_OBJECTS) || typeof additionalProperties !== "boolean") return undefined;
  if (!isJsonObject(properties) || !Array.isArray(required)) return undefined;
  const names = required.filter((name) => typeof name === "string");
  const entries = Object.entries(properties);
  if (names.length !== required.length || entries.length + names.length > MAX_PROPERTIES) return undefined;
  const types = new Map(entries.map(([name, property]) => [name, leafType(property)]));
  return { types, required: names, isOpen: additionalProperties };
}

function leafType(schema: JsonValue | undefined): string {
  if (!isJsonObject(schema) || !hasOnly(schema, OF_LEAVES)) return "other";
  const { type } = schema;
  return typeof type === "string" && LEAF_TYPES.includes(type) ? type : "other";
}

function hasOnly(schema: JsonObject, keywords: readonly string[]): boolean {
  return Object.keys(schema).every((keyword) => keywords.includes(keyword));
}

/** False also where more would have to be looked at to know. */
export function surelyFits({ types, required, isOpen }: PlainShape, value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  let count = 0;
  for (const name in value) {
    count += 1;
    const type = types.get(name);
    const isFitting = type === undefined ? isOpen && isLeaf(value[name]) : isOfLeafType(value[name], type);
    if (!isFitting || count > MAX_PROPERTIES) return false;
  }
  for (const name of required) if (!Object.hasOwn(value, name)) return false;
  return true;
}

function isLeaf(value: JsonValue | undefined): boolean {
  return value !== undefined && (value === null || typeof value !== "object");
}

function isOfLeafType(value: JsonValue | undefined, type: string): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}
