// Ends of texts.
import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutFinal } from "./ends.js";

test("leaves out what the pattern of the same characters would, at the end only", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(".", ",", "a", " ", "👍") }), (text) => {
      expect(withoutFinal(text, ".,")).toBe(text.replace(/[.,]+$/u, ""));
    }),
  );
  expect(withoutFinal("...", ".")).toBe("");
});
