// What OpenAI's Chat Completions and Responses APIs take as the parameters of a function.
//
// Sources:
// - developers.openai.com "Function calling" (strict mode) and "Structured Outputs", section "Supported schemas".
// - the API's own answers: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top
//   level" (langchain-ai/langchainjs#9804), "array schema missing items" (sigoden/aichat#1049; inside a list of types:
//   campfirein/byterover-cli#42), "object schema missing properties" (spring-projects/spring-ai#4776), "'allOf' is not
//   permitted" (makenotion/notion-mcp-server#102), "'additionalProperties' is required to be supplied and to be false"
//   (lastmile-ai/openai-agents-mcp#2), "'required' is required to be supplied and to be an array including every key"
//   (kevinwatt/mysql-mcp#5), "Extra required key" (dotnet/extensions#6302), "schema must have a 'type' key"
//   (apexive/odoo-llm#212), "must not share identical first keys" (openai/openai-python#2193).
import { jsonSchemaFaults } from "./json-schema.js";
import { type Data, isData, namesOf, requiredOf, schemasIn, typesOf } from "./walk.js";

const STRICT_KEYWORDS = [
  ["type", "description", "title", "enum", "const", "anyOf", "$ref", "$defs", "properties", "required"],
  ["additionalProperties", "items", "pattern", "format", "multipleOf", "minimum", "maximum"],
  ["exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"],
].flat();
const FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

export function openaiFaults(schema: unknown, options: { readonly strict?: boolean } = {}): string[] {
  if (!isData(schema)) return ["parameters must be an object"];
  const faults = jsonSchemaFaults(schema);
  if (schema["type"] !== "object") faults.push("schema must have type 'object'");
  for (const keyword of ["oneOf", "anyOf", "allOf", "enum", "not"]) {
    if (keyword in schema) faults.push(`schema must not have '${keyword}' at the top level`);
  }
  for (const [inner, { path }] of schemasIn(schema)) {
    if (!isData(inner)) continue;
    const types = typesOf(inner);
    if (types.includes("array") && !("items" in inner)) faults.push(`${path}: array schema missing items`);
    if (types.includes("object") && !("properties" in inner)) faults.push(`${path}: object schema missing properties`);
    if (options.strict === true) faults.push(...strictFaults(inner).map((fault) => `${path}: ${fault}`));
  }
  return [...faults, ...(options.strict === true ? sizeFaults(schema) : [])];
}

function strictFaults(schema: Data): string[] {
  const faults = Object.keys(schema)
    .filter((keyword) => !STRICT_KEYWORDS.includes(keyword))
    .map((keyword) => `'${keyword}' is not permitted`);
  if (!("type" in schema || "anyOf" in schema || "$ref" in schema)) faults.push("schema must have a 'type' key");
  if (typesOf(schema).includes("object")) {
    const names = new Set<unknown>(namesOf(schema));
    const required = new Set(requiredOf(schema));
    if (schema["additionalProperties"] !== false) {
      faults.push("'additionalProperties' is required to be supplied and to be false");
    }
    for (const name of names)
      if (!required.has(name)) faults.push(`'required' must include every key: ${String(name)}`);
    for (const name of required) if (!names.has(name)) faults.push(`extra required key ${String(name)}`);
  }
  const { format, pattern, anyOf } = schema;
  if (typeof format === "string" && !FORMATS.includes(format)) faults.push(`format '${format}' is not supported`);
  if (typeof pattern === "string" && /\(\?[=!<]/.test(pattern)) faults.push("look-around in a pattern");
  if (Array.isArray(anyOf)) faults.push(...firstKeyFaults(anyOf));
  return faults;
}

/** A key shared by the first place of two forms is accepted only where its fixed values tell them apart. */
function firstKeyFaults(forms: readonly unknown[]): string[] {
  const seen = new Set<string>();
  for (const form of forms) {
    if (!isData(form) || !isData(form["properties"])) continue;
    const [name] = Object.keys(form["properties"]);
    if (name === undefined) continue;
    const property = form["properties"][name];
    const fixed = isData(property)
      ? (property["const"] ?? (Array.isArray(property["enum"]) ? property["enum"] : ""))
      : "";
    const key = JSON.stringify([name, fixed]);
    if (seen.has(key)) return ["objects provided via 'anyOf' must not share identical first keys"];
    seen.add(key);
  }
  return [];
}

/** "A schema may have up to 5000 object properties total, with up to 10 levels of nesting", and the limits on strings. */
function sizeFaults(root: Data): string[] {
  const faults: string[] = [];
  let properties = 0;
  let levels = 0;
  let chars = 0;
  let values = 0;
  for (const [schema, { depth }] of schemasIn(root)) {
    if (!isData(schema)) continue;
    const names = namesOf(schema);
    properties += names.length;
    if (names.length > 0) levels = Math.max(levels, depth + 1);
    chars += names.join("").length;
    if (!Array.isArray(schema["enum"])) continue;
    const length = schema["enum"].filter((value) => typeof value === "string").join("").length;
    values += schema["enum"].length;
    chars += length;
    if (schema["enum"].length > 250 && length > 15_000)
      faults.push("an enum of more than 250 values over 15,000 characters");
  }
  if (properties > 5_000) faults.push(`${properties} properties, 5000 is the limit`);
  if (levels > 10) faults.push(`${levels} levels of nesting exceeds limit of 10`);
  if (chars > 120_000) faults.push(`${chars} characters of names and values, 120000 is the limit`);
  if (values > 1_000) faults.push(`${values} enum values, 1000 is the limit`);
  return faults;
}
