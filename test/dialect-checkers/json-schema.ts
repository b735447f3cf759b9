// Whether a schema is JSON Schema draft 2020-12 at all: the part of the meta-schema that generators get wrong.
// Source: json-schema.org/draft/2020-12, the vocabularies "validation" and "applicator".
import { type Data, isData, schemasIn } from "./walk.js";

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
const NUMBERS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
const LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const SCHEMAS = ["items", "additionalProperties", "not", "if", "then", "else", "propertyNames", "contains"];
const TEXTS = ["title", "description", "format", "pattern", "$ref", "$schema", "$id"];

export function jsonSchemaFaults(root: unknown): string[] {
  const faults: string[] = [];
  for (const [schema, { path }] of schemasIn(root)) {
    if (typeof schema === "boolean") continue;
    if (!isData(schema)) faults.push(`${path}: a schema must be an object or a boolean`);
    else faults.push(...keywordFaults(schema).map((fault) => `${path}: ${fault}`));
  }
  return faults;
}

function keywordFaults(schema: Data): string[] {
  const faults: string[] = [];
  const say = (isWrong: boolean, fault: string) => {
    if (isWrong) faults.push(fault);
  };
  for (const [keyword, value] of Object.entries(schema)) {
    if (NUMBERS.includes(keyword)) say(typeof value !== "number", `${keyword} must be a number`);
    if (COUNTS.includes(keyword)) say(!Number.isInteger(value) || Number(value) < 0, `${keyword} must be a count`);
    if (TEXTS.includes(keyword)) say(typeof value !== "string", `${keyword} must be a string`);
    if (LISTS.includes(keyword))
      say(!Array.isArray(value) || value.length === 0, `${keyword} must be a list of schemas`);
    if (SCHEMAS.includes(keyword)) say(!isData(value) && typeof value !== "boolean", `${keyword} must be one schema`);
  }
  const { type, required, properties, enum: options, pattern, uniqueItems } = schema;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  say(
    types.some((name) => !TYPES.includes(String(name))),
    `type ${JSON.stringify(type)} is unknown`,
  );
  say(
    Array.isArray(type) && (type.length === 0 || new Set(type).size < type.length),
    "type lists a type twice, or none",
  );
  say(properties !== undefined && !isData(properties), "properties must be an object");
  say(options !== undefined && !Array.isArray(options), "enum must be a list");
  say(uniqueItems !== undefined && typeof uniqueItems !== "boolean", "uniqueItems must be a boolean");
  if (required !== undefined) {
    const isList = Array.isArray(required) && required.every((name) => typeof name === "string");
    say(!isList || new Set(required).size < required.length, "required must be a list of different names");
  }
  if (typeof pattern === "string") say(!isRegExp(pattern), `pattern ${pattern} is no regular expression`);
  return faults;
}

function isRegExp(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}
