// Schemas as a hostile or careless server might write them: every keyword, right, wrong, nested and self-referring.
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/base/json/json.js";

const NAMES = [
  "a",
  "b",
  "kind",
  "filter[id]",
  "x y",
  "$top",
  "",
  "__proto__",
  "constructor",
  "toString",
  "é",
  "k".repeat(70),
];
const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null", "any", "int", "OBJECT"];
const REFS = ["#", "#/$defs/a", "#/$defs/b", "#/definitions/a", "#/properties/a", "#/nowhere", "#a", "other.json", "%"];
const PATTERNS = ["^a+$", "^(a+)+$", "(", "(?=x)", "\\S", "[a-z]{1,3}"];

const name = fc.constantFrom(...NAMES);
const scalar = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(name, scalar, { maxKeys: 2 }),
);
const type = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...TYPES) },
  fc.array(fc.constantFrom(...TYPES), { maxLength: 4 }),
  value,
);

/** Properties with any name as their own, `__proto__` among them: as `JSON.parse` makes them. */
const mapOf = <T>(inner: fc.Arbitrary<T>): fc.Arbitrary<{ [name: string]: T }> =>
  fc.array(fc.tuple(name, inner), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));

const { schema } = fc.letrec<{ schema: JsonValue; object: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, depthIdentifier: "schema" },
    {
      weight: 2,
      arbitrary: fc.constantFrom<JsonObject>({}, { type: "string" }, { type: "array" }, { type: "object" }),
    },
    { weight: 6, arbitrary: tie("object") },
    { weight: 1, arbitrary: fc.boolean() },
    { weight: 1, arbitrary: value },
  ),
  object: fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: fc.record({ type }) },
        {
          weight: 4,
          arbitrary: fc.record(
            {
              type: fc.constant("object"),
              properties: mapOf(tie("schema")),
              required: fc.array(name, { maxLength: 3 }),
            },
            { requiredKeys: ["properties"] },
          ),
        },
        fc.record({ properties: value }),
        fc.record({ required: fc.oneof(fc.array(name, { maxLength: 3 }), value) }),
        fc.record({ additionalProperties: tie("schema") }),
        fc.record({ patternProperties: mapOf(tie("schema")) }),
        fc.record({ propertyNames: tie("schema") }),
        fc.record({ items: fc.oneof(tie("schema"), fc.array(tie("schema"), { maxLength: 3 })) }),
        fc.record({ prefixItems: fc.array(tie("schema"), { maxLength: 3 }) }),
        fc.record({ contains: tie("schema") }),
        { weight: 2, arbitrary: fc.record({ anyOf: fc.array(tie("schema"), { maxLength: 3 }) }) },
        { weight: 2, arbitrary: fc.record({ oneOf: fc.array(tie("schema"), { maxLength: 3 }) }) },
        { weight: 2, arbitrary: fc.record({ allOf: fc.array(tie("schema"), { maxLength: 3 }) }) },
        fc.record({ anyOf: value }),
        fc.record({ not: tie("schema") }),
        fc
          .tuple(tie("schema"), tie("schema"), tie("schema"))
          .map((parts) => Object.fromEntries(parts.map((part, index) => [["if", "then", "else"][index] ?? "", part]))),
        { weight: 2, arbitrary: fc.record({ enum: fc.oneof(fc.array(value, { maxLength: 4 }), value) }) },
        fc.record({ const: value }),
        fc.record({ default: value }),
        fc.record({ description: fc.oneof(fc.string(), value), title: fc.string({ maxLength: 8 }) }),
        fc.record({ examples: fc.array(value, { maxLength: 2 }), deprecated: scalar }),
        fc.record({ nullable: fc.boolean() }),
        fc.record({ format: fc.constantFrom("date-time", "uri", "int32", "enum", "float", "x") }),
        fc.record({ pattern: fc.constantFrom(...PATTERNS) }),
        fc.record({ minimum: scalar, exclusiveMinimum: scalar }, { requiredKeys: [] }),
        fc.record({ maxLength: scalar, minItems: scalar, uniqueItems: scalar }, { requiredKeys: [] }),
        { weight: 2, arbitrary: fc.record({ $ref: fc.constantFrom(...REFS) }) },
        fc.record({ dependentRequired: mapOf(fc.array(name, { maxLength: 2 })) }),
      ),
      { maxLength: 4 },
    )
    .map((parts): JsonObject => Object.assign({}, ...parts)),
}));

/** As a tool would have it: now and then with definitions for its references, and with vendor keywords. */
export const arbitrarySchema: fc.Arbitrary<JsonObject> = fc
  .tuple(
    schema.filter((part): part is JsonObject => typeof part === "object" && part !== null && !Array.isArray(part)),
    fc.record({ $defs: mapOf(schema), definitions: mapOf(schema), "x-vendor": value }, { requiredKeys: [] }),
    fc.boolean(),
  )
  .map(([root, more, isRooted]) => ({ ...root, ...more, ...(isRooted ? { type: "object" } : {}) }));
