// Pieces of JSON put together are the JSON.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../base/json/json.js";
import { jsonStart, jsonTokens, textParts } from "./store.js";

test("the pieces of any value are what JSON.stringify writes", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const json: JsonValue = JSON.parse(JSON.stringify(value));
      expect([...jsonTokens(json)].join("")).toBe(JSON.stringify(json));
    }),
    { numRuns: 500 },
  );
});

test("long texts are cut between characters, deep values need no stack, and missing values are left out", () => {
  const long = { a: '👍\n"'.repeat(60_000), b: undefined, c: [1] };
  expect([...jsonTokens(long)].join("")).toBe(JSON.stringify(long));
  let deep: JsonValue = 1;
  for (let level = 0; level < 50_000; level++) deep = [deep];
  expect([...jsonTokens(deep)].join("")).toHaveLength(100_001);
});

test("the start says whether it is all", () => {
  expect(jsonStart([1, 2], 5)).toEqual({ text: "[1,2]", isWhole: true });
  expect(jsonStart([1, 2], 4)).toEqual({ text: "[1,2", isWhole: false });
});

test("parts of a text join to the text, and none ends within a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), fc.integer({ min: 1, max: 9 }), (text, chars) => {
      const parts = [...textParts(text, chars)];
      expect(parts.join("")).toBe(text);
      for (const part of parts) expect(Buffer.from(part).toString()).toBe(part);
    }),
  );
});
