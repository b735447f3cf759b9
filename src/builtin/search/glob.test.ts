// Globs on paths, and that no pattern takes long.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compileGlob, plainGlob } from "./glob.js";

function isMatch(pattern: string, path: string): boolean {
  const compiled = compileGlob(pattern);
  if (!compiled.ok) throw new Error(compiled.reason);
  return compiled.glob.matches(path);
}

test.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "deep/er/a.ts", true],
  ["*.ts", "a.tsx", false],
  ["src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/x/a.ts", false],
  ["src/**/*.ts", "src/a.ts", true],
  ["src/**/*.ts", "src/x/y/a.ts", true],
  ["src/**", "src", false],
  ["src/**", "src/x/y", true],
  ["**/x/**", "x/y", true],
  ["src/", "src/x/y", true],
  ["./src/a.ts", "src/a.ts", true],
  ["*.{ts,js}", "x/a.js", true],
  ["{a,b{c,d}}.ts", "bd.ts", true],
  ["{a.ts", "{a.ts", true],
  ["a?c", "abc", true],
  ["[a-c]1", "b1", true],
  ["[!a-c]1", "b1", false],
  ["[]]", "]", true],
  ["[a", "[a", true],
  ["\\*.ts", "a.ts", false],
  ["\\*.ts", "*.ts", true],
  [".*", ".env", true],
  ["**", "a/b", true],
])("%s on %s: %s", (pattern, path, expected) => {
  expect(isMatch(pattern, path)).toBe(expected);
});

test("`*` and `?` mean what a regular expression of the same form means", () => {
  const part = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), minLength: 1, maxLength: 6 });
  const name = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(part, name, (pattern, text) => {
      const wanted = new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`, "u");
      fc.pre(pattern !== "**");
      expect(plainGlob(pattern).matches(text)).toBe(wanted.test(text));
    }),
  );
});

test("patterns made to take long do not, and patterns made to be many are refused", () => {
  const before = performance.now();
  expect(isMatch(`${"*a".repeat(300)}b`, "a".repeat(2_000))).toBe(false);
  expect(isMatch(`${"**/*a*/".repeat(100)}b`, `${"aa/".repeat(500)}c`)).toBe(false);
  expect(performance.now() - before).toBeLessThan(1_500);
  expect(compileGlob("{a,b}".repeat(20))).toMatchObject({ ok: false });
  expect(compileGlob("a".repeat(2_000))).toMatchObject({ ok: false });
});
