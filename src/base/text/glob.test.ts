// Globs match whole names and paths as other libraries have it, in a number of steps that no glob can stretch.
import fc from "fast-check";
import picomatch from "picomatch";
import { describe, expect, it, test } from "vitest";
import { LIMITS } from "../limits.js";
import { compileGlob, compilePathGlob, type GlobMatcher, isGlobMatch, literalGlob, plainPathGlob } from "./glob.js";

function stepsOf(matches: GlobMatcher, text: string): number {
  let steps = 0;
  matches(text, (more) => {
    steps += more;
  });
  return steps;
}

describe("globs on names", () => {
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
    ["a*", "a/b\nc", true],
    ["?", "💡", true],
    ["??", "💡", false],
    ["*💡?", "a💡💡", true],
    ["*", "", true],
    ["", "", true],
    ["", "a", false],
  ])("%j on %j is %s", (glob, text, expected) => {
    expect(isGlobMatch(glob, text)).toBe(expected);
  });

  it("say the same as a regular expression, also where they are longer than one word of the state", () => {
    const unit = fc.constantFrom("a", "b", "*", "?");
    const glob = fc.oneof(fc.string({ unit, maxLength: 8 }), fc.string({ unit, minLength: 25, maxLength: 80 }));
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 60 });
    fc.assert(
      fc.property(glob, text, (pattern, name) => {
        const short = pattern.replaceAll(/\*+/gu, "*");
        fc.pre((short.match(/\*/gu)?.length ?? 0) < 6); // the oracle backtracks
        const expression = new RegExp(`^${short.replaceAll("*", ".*").replaceAll("?", ".")}$`, "u");
        expect(isGlobMatch(pattern, name)).toBe(expression.test(name));
      }),
      { numRuns: 2_000 },
    );
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

describe("globs on paths", () => {
  function isMatch(pattern: string, path: string): boolean {
    const compiled = compilePathGlob(pattern);
    if (!compiled.ok) throw new Error(compiled.reason);
    return compiled.matches(path);
  }

  it.each([
    ["*.ts", "a.ts", true],
    ["*.ts", "deep/er/a.ts", true],
    ["*.ts", "a.tsx", false],
    ["src/*.ts", "src/a.ts", true],
    ["src/*.ts", "src/x/a.ts", false],
    ["src/**/*.ts", "src/a.ts", true],
    ["src/**/*.ts", "src/x/y/a.ts", true],
    ["src/**/**/*.ts", "src/x/y/a.ts", true],
    ["src/**", "src", false],
    ["src/**", "src/x/y", true],
    ["**/x/**", "x/y", true],
    ["**/b", "ab", false],
    ["a/**/b", "a/xb", false],
    ["src/", "src/x/y", true],
    ["./src/a.ts", "src/a.ts", true],
    ["*.{ts,js}", "x/a.js", true],
    ["{a,b{c,d}}.ts", "bd.ts", true],
    ["{a.ts", "{a.ts", true],
    ["\\{a,b}", "{a,b}", true],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["[a-c]1", "b1", true],
    ["[!a-c]1", "b1", false],
    ["[!a]1", "/1", false],
    ["[]]", "]", true],
    ["[\\]x]", "]", true],
    ["[a-]", "-", true],
    ["[a", "[a", true],
    ["\\*.ts", "a.ts", false],
    ["\\*.ts", "*.ts", true],
    [".*", ".env", true],
    ["**", "a/b", true],
  ])("%s on %s: %s", (pattern, path, expected) => {
    expect(isMatch(pattern, path)).toBe(expected);
  });

  it("match what picomatch matches", () => {
    const part = fc.oneof(
      { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom("a", "b", "?", "*"), minLength: 1, maxLength: 4 }) },
      fc.constantFrom("**", "[ab]", "a[^b]", "[a-c]*"),
    );
    const pattern = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("/"));
    const name = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });
    const path = fc.array(name, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(pattern, path, (glob, text) => {
        // Rows of stars inside a part mean one, as git has it; picomatch differs. `a/**` is not `a` itself, here.
        fc.pre(!/\*\*[^/]|[^/]\*\*/u.test(glob));
        fc.pre(!glob.endsWith("/**") || !picomatch(glob.slice(0, -3), { dot: true })(text));
        expect(plainPathGlob(glob)(text)).toBe(picomatch(glob, { dot: true, nobrace: true, noextglob: true })(text));
      }),
      { numRuns: 3_000 },
    );
  });

  it("are refused where they stand for too much", () => {
    expect(compilePathGlob("{a,b}".repeat(20))).toMatchObject({ ok: false });
    expect(compilePathGlob(`${"{a,b}".repeat(8)}${"x".repeat(900)}`)).toMatchObject({ ok: false });
    expect(compilePathGlob("a".repeat(2_000))).toMatchObject({ ok: false });
    expect(compilePathGlob(`{${"{".repeat(400)}${",".repeat(500)}`)).toMatchObject({ ok: true });
  });
});

test("no glob takes more steps than the text has characters, for each 32 of its signs", () => {
  const hostile = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "*", "?", "*a", "[!b]", "[a-z]", "**/", "/"), maxLength: 200 }),
    fc.constantFrom("*a", "a*", "**/", "*/", "?*", "[a]*", "*a*/").map((piece) => `${piece.repeat(150)}b`),
    fc.constant(`*${"a".repeat(900)}b`),
  );
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "/", "aa", "é"), maxLength: 500 }),
    fc.constantFrom("a".repeat(20_000), "a/".repeat(2_000), "é".repeat(2_000)),
  );
  fc.assert(
    fc.property(
      hostile.map((glob) => glob.slice(0, LIMITS.glob.maxChars)),
      text,
      (glob, subject) => {
        const classes = glob.split("[").length - 1;
        const bound = subject.length * ((glob.length >>> 5) + 1 + (subject.includes("é") ? classes : 0));
        expect(stepsOf(compileGlob(glob), subject)).toBeLessThanOrEqual(bound);
        expect(stepsOf(plainPathGlob(glob), subject)).toBeLessThanOrEqual(bound);
      },
    ),
    { numRuns: 300 },
  );
});
