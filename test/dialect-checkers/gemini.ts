// What the Gemini API takes as `parameters` of a function declaration.
//
// Sources:
// - ai.google.dev "Caching" reference, section "Schema" (a select subset of an OpenAPI 3.0 schema object: the fields, the
//   types, "enum: possible values of the element of Type.STRING"), and "FunctionDeclaration".
// - the API's own answers: "Unknown name \"$schema\" … Cannot find field" (router-for-me/CLIProxyAPI#97; "const":
//   zed-industries/zed#44875; "propertyNames": mpfaffenberger/code_puppy#923; "additionalProperties": cuplivo/cuplivo#506),
//   "Proto field is not repeating" for a list of types (taylorwilsdon/google_workspace_mcp#1099), "items: missing field"
//   (TokenRhythm/opensquilla#1263), "properties: only allowed for OBJECT type" (anomalyco/opencode#11889), "required[0]:
//   property is not defined" (iBUHub/AIStudioToAPI#154), "properties: should be non-empty for OBJECT type" at the root
//   (langchain-ai/langchain-google#416), "only 'enum' and 'date-time' are supported for STRING type"
//   (google-gemini/gemini-cli#5450), "enum: only allowed for STRING type" (directus/directus#27100), "enum[1]: cannot be
//   empty" (Bobsilvio/ha-claude#32), "should be non-empty for STRING type with enum format" (elastic/kibana#286302), "type:
//   must be specified when not using one_of, any_of or all_of" (danny-avila/LibreChat#6971), `any_of` must stand alone
//   (anomalyco/opencode#14659), nesting depth (google-gemini/gemini-cli#5923; no number is given, 12 is our own).
import { type Data, isData, namesOf, requiredOf, typesOf } from "./walk.js";

const FIELDS = [
  ["type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"],
  ["minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering"],
  ["default", "items", "minimum", "maximum"],
].flat();
const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};
const MAX_DEPTH = 12;

/** Undefined stands for a declaration without parameters. */
export function geminiFaults(schema: unknown): string[] {
  if (schema === undefined) return [];
  if (!isData(schema)) return ["parameters must be an object"];
  const faults: string[] = [];
  if (schema["type"] !== "object") faults.push("parameters: must be of OBJECT type");
  if (namesOf(schema).length === 0) faults.push("parameters.properties: should be non-empty for OBJECT type");
  check(schema, "parameters", 0, faults);
  return faults;
}

function check(schema: unknown, path: string, depth: number, faults: string[]): void {
  if (!isData(schema)) {
    faults.push(`${path}: must be an object`);
    return;
  }
  if (depth > MAX_DEPTH) faults.push(`${path}: exceeds the maximum allowed nesting depth`);
  for (const field of Object.keys(schema)) {
    if (!FIELDS.includes(field)) faults.push(`${path}: unknown name ${JSON.stringify(field)}: cannot find field`);
  }
  const { type, anyOf, items, properties } = schema;
  if (Array.isArray(type)) faults.push(`${path}.type: proto field is not repeating, cannot start list`);
  else if (type !== undefined && !TYPES.includes(String(type).toLowerCase()))
    faults.push(`${path}.type: invalid value`);
  if (type === undefined && anyOf === undefined) faults.push(`${path}.type: must be specified when not using any_of`);
  if (anyOf !== undefined) formFaults(schema, path, depth, faults);
  for (const [field, text] of Object.entries({ description: schema["description"], title: schema["title"] })) {
    if (text !== undefined && typeof text !== "string") faults.push(`${path}.${field}: must be a string`);
  }
  faults.push(...typeFaults(schema).map((fault) => `${path}.${fault}`));
  if (items !== undefined) check(items, `${path}.items`, depth + 1, faults);
  if (isData(properties)) {
    for (const name of Object.keys(properties))
      check(properties[name], `${path}.properties[${name}]`, depth + 1, faults);
  }
}

function formFaults(schema: Data, path: string, depth: number, faults: string[]): void {
  const others = Object.keys(schema).filter((field) => field !== "anyOf");
  if (others.length > 0)
    faults.push(`${path}: when using any_of, it must be the only field set (${others.join(", ")})`);
  const { anyOf } = schema;
  if (!Array.isArray(anyOf) || anyOf.length === 0) {
    faults.push(`${path}.any_of: must be a list`);
    return;
  }
  for (const [index, form] of anyOf.entries()) check(form, `${path}.any_of[${index}]`, depth, faults);
}

function typeFaults(schema: Data): string[] {
  const faults: string[] = [];
  const [type] = typesOf(schema).map((name) => String(name).toLowerCase());
  const { enum: values, format, items, properties, required } = schema;
  if (type === "array" && items === undefined) faults.push("items: missing field");
  if (type !== "array" && items !== undefined) faults.push("items: only allowed for ARRAY type");
  if (type !== "object" && properties !== undefined) faults.push("properties: only allowed for OBJECT type");
  if (type !== "object" && required !== undefined) faults.push("required: only allowed for OBJECT type");
  for (const name of requiredOf(schema)) {
    if (!namesOf(schema).includes(String(name))) faults.push(`required: property is not defined: ${String(name)}`);
  }
  if (values !== undefined) {
    if (type !== "string") faults.push("enum: only allowed for STRING type");
    if (!Array.isArray(values) || values.some((value) => typeof value !== "string"))
      faults.push("enum: invalid value (TYPE_STRING)");
    else if (values.includes("")) faults.push("enum: cannot be empty");
  }
  if (format !== undefined && !(FORMATS[type ?? ""] ?? []).includes(String(format))) {
    faults.push(`format: ${String(format)} is not supported for ${String(type)} type`);
  }
  if (format === "enum" && (!Array.isArray(values) || values.length === 0)) {
    faults.push("enum: should be non-empty for STRING type with enum format");
  }
  return faults;
}
