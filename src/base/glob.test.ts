// Globs match whole names, in time that no glob can stretch.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGlob, isGlobMatch, literalGlob } from "./glob.js";

describe("globs", () => {
  it.each([
    ["*", "anything", true],
    ["read_*", "read_file", true],
    ["read_*", "read", false],
    ["*_file", "read_file", true],
    ["r??d", "read", true],
    ["a*b*c", "aXbYbZc", true],
    ["a*b*c", "aXbYbZ", false],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["a.b", "axb", false],
    ["", "", true],
    ["", "a", false],
  ])("%j on %j is %s", (glob, text, expected) => {
    expect(isGlobMatch(glob, text)).toBe(expected);
  });

  it("say the same as a regular expression, and take no time for any of them", () => {
    const glob = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), maxLength: 8 });
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 10 });
    fc.assert(
      fc.property(glob, text, (pattern, name) => {
        const expression = new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`, "u");
        expect(isGlobMatch(pattern, name)).toBe(expression.test(name));
      }),
    );
    const started = performance.now();
    isGlobMatch("*a".repeat(200), "a".repeat(5_000));
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it("are made literal for any name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (name, other) => {
        const matches = compileGlob(literalGlob(name));
        expect(matches(name)).toBe(true);
        expect(matches(other)).toBe(name === other);
      }),
    );
  });
});
