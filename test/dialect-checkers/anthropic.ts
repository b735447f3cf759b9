// What Anthropic's Messages API takes as a tool's `input_schema`.
//
// Sources:
// - platform.claude.com "Define tools": a JSON Schema object; "Self-hosted sandboxes" (managed agents): no `$ref` anywhere,
//   no `oneOf`/`anyOf`/`allOf` at the top, property names of 1 to 64 letters, digits, `_`, `.` and `-`.
// - the API's own answers: "input_schema does not support oneOf, allOf, or anyOf at the top level" (anthropics/claude-code
//   #5319), "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'" (twilio-labs/mcp#58), "JSON schema is invalid. It
//   must match JSON Schema draft 2020-12" (kintone/mcp-server#553: `items` as a list; openclaw/openclaw#29416:
//   `patternProperties`), `propertyNames` (can1357/oh-my-pi#1107).
// - strict: platform.claude.com "Structured outputs", section "JSON Schema limitations", and "Strict tool use"; "For
//   'integer' type, properties maximum, minimum are not supported" (earendil-works/pi#9953), "For 'object' type,
//   'additionalProperties' must be explicitly set to false" (vercel/ai#20681).
import { jsonSchemaFaults } from "./json-schema.js";
import { type Data, isData, namesOf, requiredOf, schemasIn, typesOf } from "./walk.js";

const NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/** Those of the "Structured outputs" page; `title` is an annotation its own SDK helpers emit. */
const STRICT_KEYWORDS = [
  ["type", "enum", "const", "anyOf", "allOf", "$ref", "$defs", "definitions", "default", "required"],
  ["additionalProperties", "properties", "items", "minItems", "format", "pattern", "description", "title"],
].flat();

export function anthropicFaults(schema: unknown, options: { readonly strict?: boolean } = {}): string[] {
  if (!isData(schema)) return ["input_schema must be an object"];
  const faults = jsonSchemaFaults(schema);
  if (schema["type"] !== "object") faults.push("input_schema.type must be object");
  for (const keyword of ["oneOf", "anyOf", "allOf"]) {
    if (keyword in schema) faults.push(`input_schema does not support ${keyword} at the top level`);
  }
  for (const [inner, { path }] of schemasIn(schema)) {
    if (!isData(inner)) continue;
    for (const keyword of ["$ref", "$dynamicRef", "patternProperties", "propertyNames"]) {
      if (keyword in inner) faults.push(`${path}: ${keyword} is refused`);
    }
    for (const name of namesOf(inner)) {
      if (!NAME.test(name)) faults.push(`${path}: property keys should match ${NAME.source}: ${JSON.stringify(name)}`);
    }
    if (options.strict === true) faults.push(...strictFaults(inner).map((fault) => `${path}: ${fault}`));
  }
  return [...faults, ...(options.strict === true ? countFaults(schema) : [])];
}

function strictFaults(schema: Data): string[] {
  const faults = Object.keys(schema)
    .filter((keyword) => !STRICT_KEYWORDS.includes(keyword))
    .map((keyword) => `${keyword} is not supported`);
  const types = typesOf(schema);
  const { minItems, format, pattern, enum: values } = schema;
  if (types.includes("object") && schema["additionalProperties"] !== false) {
    faults.push("for objects, additionalProperties must be explicitly set to false");
  }
  if (types.length === 0 && !("anyOf" in schema) && !("enum" in schema)) faults.push("no type");
  if (minItems !== undefined && minItems !== 0 && minItems !== 1) faults.push("minItems other than 0 or 1");
  if (typeof format === "string" && !FORMATS.includes(format)) faults.push(`format ${format}`);
  if (typeof pattern === "string" && /\(\?|\\[bB1-9]/.test(pattern))
    faults.push("pattern with look-around or references");
  if (Array.isArray(values) && values.some((value) => typeof value === "object" && value !== null)) {
    faults.push("enum of complex values");
  }
  return faults;
}

/** "Schema complexity limits": 24 optional parameters and 16 of union types over all strict schemas of a request. */
function countFaults(root: Data): string[] {
  let optional = 0;
  let unions = 0;
  for (const [schema] of schemasIn(root)) {
    if (!isData(schema)) continue;
    optional += namesOf(schema).length - requiredOf(schema).length;
    if ("anyOf" in schema || Array.isArray(schema["type"])) unions += 1;
  }
  return [
    ...(optional > 24 ? [`${optional} optional parameters, 24 is the limit`] : []),
    ...(unions > 16 ? [`${unions} parameters of union types, 16 is the limit`] : []),
  ];
}
