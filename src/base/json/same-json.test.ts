// Equality of JSON: the same verdict as comparing canonical texts, without writing them.
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, type JsonValue, sameJson } from "./json.js";

const json: fc.Arbitrary<JsonValue> = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)));

test.each<[JsonValue, JsonValue, boolean]>([
  [{ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: 1, b: 2 }, { a: 1 }, false],
  [{ a: 1 }, { b: 1 }, false],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [null, {}, false],
  ["1", 1, false],
  [JSON.parse('{"__proto__":1}'), {}, false],
  [JSON.parse('{"toString":1}'), {}, false],
])("%j and %j: %s", (one, other, isSame) => {
  expect(sameJson(one, other)).toBe(isSame);
  expect(sameJson(other, one)).toBe(isSame);
});

test("it agrees with the canonical form", () => {
  fc.assert(
    fc.property(json, json, (one, other) => {
      expect(sameJson(one, other)).toBe(canonicalJson(one) === canonicalJson(other));
      expect(sameJson(one, JSON.parse(JSON.stringify(one)))).toBe(true);
    }),
  );
});
