// What a person is shown of arguments is bounded and says what it leaves out.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { forPeople } from "./for-people.js";

test("short arguments are shown as they are", () => {
  const given = { path: "/a", list: [1, null, true, { b: "c" }] };
  expect(forPeople(given)).toEqual(given);
});

test("a long list is cut with the number of what is left out", () => {
  const shown = forPeople({ rows: Array.from({ length: 50_000 }, (_, index) => index) });
  expect(JSON.stringify(shown)).toMatch(/… \(\d+ more\)"\]\}$/);
});

test("whatever is given, what is shown stays small", () => {
  const value: fc.Arbitrary<JsonObject> = fc.dictionary(fc.string(), fc.jsonValue()).map((object) => {
    const json: JsonObject = JSON.parse(JSON.stringify(object));
    return json;
  });
  fc.assert(
    fc.property(value, fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 60_000 }), (inner, levels, chars) => {
      let given: JsonObject = { ...inner, text: "é\n".repeat(chars) };
      for (let level = 0; level < levels; level++) given = { [`k${level}`]: [given, given] };
      expect(JSON.stringify(forPeople(given)).length).toBeLessThan(LIMITS.shownArguments.maxChars * 4);
    }),
    { numRuns: 60 },
  );
});
