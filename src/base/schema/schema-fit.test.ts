// A value against a schema: every problem named by its place, a few at most, and no schema that can hold the event loop.
import { expect, test } from "vitest";
import { longestStandstillMs } from "../../../test/standstill.js";
import { fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import type { JsonObject, JsonValue } from "../json/json.js";
import { LIMITS } from "../limits.js";
import { checkAgainstSchema, withoutMisfitNulls } from "./schema-check.js";

const PERSON: JsonObject = {
  type: "object",
  properties: {
    name: { type: "string" },
    age: { type: "integer" },
    tags: { type: "array", items: { type: "string" } },
  },
  required: ["name", "age"],
  additionalProperties: false,
};

async function problems(schema: JsonObject, value: JsonValue): Promise<readonly string[] | string> {
  const fit = await checkAgainstSchema(schema, value, fakeWorld());
  return fit.kind === "misfit" ? fit.problems : fit.kind;
}

test("a value that fits has no problems", async () => {
  expect(await problems(PERSON, { name: "a", age: 1, tags: ["x"] })).toBe("fits");
});

test("each wrong property is named once, by its JSON pointer", async () => {
  expect(await problems(PERSON, { age: "1", tags: ["x", 2], "a/b~c": 1 })).toEqual([
    'the value lacks the required property "name"',
    "/age must be of type integer",
    "/tags/1 must be of type string",
    "/a~1b~0c is a property that is not allowed",
  ]);
});

test("a problem that belongs to no property is told too, once", async () => {
  expect(await problems({ ...PERSON, minProperties: 4 }, { name: "a", age: "x" })).toEqual([
    "the value has too few properties",
    "/age must be of type integer",
  ]);
  expect(await problems(PERSON, [])).toEqual(["the value must be of type object"]);
});

test("at most a few problems are told", async () => {
  const value = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, 1]));
  expect(await problems(PERSON, value)).toHaveLength(LIMITS.argumentMaxProblems);
});

test("a long text is checked like a short one", async () => {
  const long = "x".repeat(12_000_000);
  expect(await problems(PERSON, { name: long, age: 1 })).toBe("fits");
  expect(await problems(PERSON, { name: 1, age: long })).toEqual([
    "/name must be of type string",
    "/age must be of type integer",
  ]);
});

test("what cannot be decided is held against nobody", async () => {
  expect(await problems({ properties: { a: { pattern: "(?=x)" } } }, { a: "b" })).toBe("unchecked");
  expect(await problems({}, JSON.parse("[".repeat(1_000) + "]".repeat(1_000)))).toBe("unchecked");
});

test("a misfit stands when the work for finding more runs out", async () => {
  const hostile = { pattern: "^(a|aa|aaa)+$" };
  const schema: JsonObject = { required: ["b"], properties: { a: hostile } };
  expect(await problems(schema, { a: `${"a".repeat(400_000)}!` })).toEqual([
    'the value lacks the required property "b"',
  ]);
});

test("a hostile schema does not hold the event loop", async () => {
  const schema: JsonObject = { allOf: Array.from({ length: 9_000 }, () => ({ not: { maxLength: 99_000 } })) };
  const world = nodeWorld();
  expect(await longestStandstillMs(async () => checkAgainstSchema(schema, "x".repeat(5_000_000), world))).toBeLessThan(
    50,
  );
});

test("nulls of optional properties go where null is not allowed, at any depth and in the form that fits, and nowhere else", async () => {
  const schema: JsonObject = {
    type: "object",
    $defs: { place: { type: "object", properties: { x: { type: "number" }, y: { type: ["number", "null"] } } } },
    properties: {
      limit: { type: "integer" },
      note: { type: ["string", "null"] },
      either: { anyOf: [{ type: "string" }, { type: "null" }] },
      free: {},
      name: { type: "string" },
      at: { $ref: "#/$defs/place" },
      rows: { type: "array", items: { $ref: "#/$defs/place" } },
      shape: {
        oneOf: [
          { properties: { size: { type: "number" }, kind: { const: "a" } }, required: ["kind"] },
          {
            properties: { size: { type: "null" }, kind: { const: "b" }, tint: { type: "string" } },
            required: ["kind"],
          },
        ],
      },
    },
    required: ["name"],
    unevaluatedProperties: false,
  };
  const nulls = { limit: null, note: null, either: null, free: null, name: null };
  const place = { x: null, y: null };
  const value = { ...nulls, at: place, rows: [place, null], shape: { size: null, kind: "b", tint: null } };
  expect(await withoutMisfitNulls(schema, value, fakeWorld())).toEqual({
    ...{ note: null, either: null, free: null, name: null },
    ...{ at: { y: null }, rows: [{ y: null }, null], shape: { size: null, kind: "b" } },
  });
  expect(value.limit).toBeNull();
});
