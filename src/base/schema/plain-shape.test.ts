// What the short way says fits must fit by the whole check: it may only be silent more often.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../json/json.js";
import { plainShape, surelyFits } from "./plain-shape.js";
import { SchemaCheck } from "./schema-check.js";
import { SchemaRefs } from "./schema-refs.js";

const NAME = fc.constantFrom("a", "b", "c", "__proto__", "constructor");
const LEAF_SCHEMA = fc.record(
  {
    type: fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object"),
    description: fc.constant("words"),
    minimum: fc.constantFrom(1, 3, true),
    maximum: fc.constantFrom(1, 2, 5),
    exclusiveMinimum: fc.constantFrom(true, 1),
  },
  { requiredKeys: [] },
);
const SCHEMA = fc.record(
  {
    type: fc.constant("object"),
    properties: fc.dictionary(NAME, LEAF_SCHEMA),
    required: fc.array(NAME, { maxLength: 2 }),
    additionalProperties: fc.boolean(),
  },
  { requiredKeys: ["type"] },
);
const LEAF = fc.oneof(
  fc.constantFrom("x", "", 1, 2, 3, 1.5, -0, true, null),
  fc.constant([1]),
  fc.constant({ inner: 1 }),
);
const VALUE = fc.dictionary(NAME, LEAF);

function parsed(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

function fits(schema: JsonObject, value: JsonObject): boolean {
  const check = new SchemaCheck(new SchemaRefs(schema), new Map(), 1_000_000, () => false);
  return check.check(schema, value) === undefined;
}

test("whatever surely fits also fits by the whole check", () => {
  let sure = 0;
  fc.assert(
    fc.property(SCHEMA, VALUE, (given, value) => {
      const schema = parsed(given);
      const shape = plainShape(schema);
      if (!shape || !surelyFits(shape, parsed(value))) return;
      sure += 1;
      expect(fits(schema, parsed(value))).toBe(true);
    }),
    { numRuns: 5_000 },
  );
  expect(sure).toBeGreaterThan(50);
});

test.each([
  [{ text: "a" }, true],
  [{ text: "a", count: 2 }, true],
  [{ text: "a", count: 2.5 }, false],
  [{ text: "a", count: 0 }, false],
  [{ text: "a", count: 10 }, false],
  [{ text: "a", count: 9 }, true],
  [{ count: 2 }, false],
  [{ text: "a", other: 1 }, false],
  [{ text: "a", nested: {} }, false],
])("%j against a flat schema: %s", (value, expected) => {
  const shape = plainShape({
    type: "object",
    properties: {
      text: { type: "string", description: "words" },
      count: { type: "integer", minimum: 1, maximum: 9 },
      nested: { type: "object" },
    },
    required: ["text"],
    additionalProperties: false,
  });
  expect(shape && surelyFits(shape, value)).toBe(expected);
});

test.each([
  [{ type: "object", minProperties: 1 }],
  [{ type: "array" }],
  [{ type: "object", properties: {}, allOf: [] }],
  [{ type: "object", additionalProperties: { type: "string" } }],
  [{ properties: {} }],
])("%j has no plain shape", (schema) => {
  expect(plainShape(schema)).toBeUndefined();
});
