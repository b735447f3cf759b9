// The place of a fault is right, and it never says otherwise than JSON.parse.
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson } from "../../base/json/json.js";
import { jsonFault } from "./json-fault.js";

test.each([
  ['{"a":"b', 7, true, "the rest of a text"],
  ['{"a":1 "b":2}', 7, false, "a comma or }"],
  ['{"a":1,}', 7, false, "a property name"],
  ["{a:1}", 1, false, "a property name"],
  ['{"a" 1}', 5, false, "a colon"],
  ["[1,2", 4, true, "a comma or ]"],
  ['{"a":tru', 8, true, "the rest of true"],
  ['{"a":-', 6, true, "the rest of a number"],
  ['{"a":1.', 7, true, "the rest of a number"],
  ['{"a":1e+', 8, true, "the rest of a number"],
  ["[01]", 2, false, "a comma or ]"],
  ['{"a":True}', 5, false, "a value"],
  ['{"a":1}{"b":2}', 7, false, "the end"],
  ['"a\nb"', 2, false, "an escape"],
  ['"\\x"', 2, false, "after a backslash"],
  ['"\\u00g0"', 5, false, "four hexadecimal digits"],
  ["", 0, true, "a value"],
])("%s", (json, at, isCutOff, expected) => {
  expect(jsonFault(json)).toMatchObject({ at, isCutOff, expected: expect.stringContaining(expected) });
});

test("deep nesting and long texts are no trouble", () => {
  expect(jsonFault("[".repeat(200_000))).toMatchObject({ at: 200_000, isCutOff: true });
  expect(jsonFault(`"${"x".repeat(2_000_000)}"`)).toBeUndefined();
});

const valid = fc.jsonValue().chain((value) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2)));

test("every beginning of valid JSON is valid or breaks off, and what stands before a fault is such a beginning", () => {
  fc.assert(
    fc.property(valid, fc.nat(), (json, cut) => {
      const part = json.slice(0, cut % (json.length + 1));
      const fault = jsonFault(part);
      expect(fault === undefined).toBe(parseJson(part).ok);
      if (fault) expect(fault).toMatchObject({ isCutOff: true, at: part.length });
    }),
    { numRuns: 2_000 },
  );
});

test("it says that a text is valid exactly when JSON.parse does", () => {
  const piece = fc.constantFrom(...'[]{},:"\\', "1", "0", "-", ".", "e", "true", "nul", " ", "\n", "u00e9", "a");
  const soup = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  const broken = fc.tuple(valid, fc.nat(), piece).map(([json, at, extra]) => {
    const index = at % (json.length + 1);
    return json.slice(0, index) + extra + json.slice(index);
  });
  fc.assert(
    fc.property(fc.oneof(soup, broken), (json) => {
      const fault = jsonFault(json);
      expect(fault === undefined).toBe(parseJson(json).ok);
      if (fault) expect(jsonFault(json.slice(0, fault.at))?.isCutOff ?? true).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});
