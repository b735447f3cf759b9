// What a model wrote as arguments: read generously, and what cannot be read is named with its place.
import fc from "fast-check";
import { expect, test } from "vitest";
import { readArguments } from "./prepare.js";

test.each([
  ["nothing", "  ", {}],
  ["null", "null", {}],
  ["an object", '{"a":1}', { a: 1 }],
  ["an object written as a text", '"{\\"a\\":1}"', { a: 1 }],
])("%s is read", (_, json, expected) => {
  expect(readArguments(json)).toEqual({ ok: true, arguments: expected });
});

test.each([
  [
    "arguments that break off",
    '{"path":"/a","content":"hel',
    /break off after 27 characters.*text in double quotes.*hel/,
  ],
  ["a comma too many", '{"a":1,}', /at character 8 there should be a property name.*"}" after/],
  ["a list", "[1]", /must be a JSON object, and are a list/],
  ["a number", "1", /must be a JSON object, and are a number/],
  ["a text that is no object", '"hello"', /must be a JSON object, and are a string/],
])("%s: the reason says what and where", (_, json, expected) => {
  expect(readArguments(json)).toEqual({ ok: false, reason: expect.stringMatching(expected) });
});

test("any text gives arguments or a reason of bounded length", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 3_000 }), (json) => {
      const read = readArguments(json);
      if (!read.ok) expect(read.reason.length).toBeLessThan(1_000);
    }),
  );
});
