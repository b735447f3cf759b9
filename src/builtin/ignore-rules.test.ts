// `.gitignore` rules decide as git does.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import ignore from "ignore";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nodeWorld } from "../world/index.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { isIgnored, parseIgnoreFile, Walk } from "./walk.js";

let top: string;

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "tenon-walk-")));
});

afterEach(() => {
  rmSync(top, { recursive: true });
});

function fill(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), text);
  }
}

async function walked(start = "", includeIgnored = false): Promise<string[]> {
  const walk = new Walk(nodeWorld(), { start: join(top, start), includeIgnored, signal: new AbortController().signal });
  const paths: string[] = [];
  for await (const { path } of walk.entries()) paths.push(path);
  return paths;
}

const TREE = {
  ".gitignore":
    "# comment\n*.log\n!keep.log\n/build/\nsecret*\ndocs/*.tmp\n**/cache/\na/**/z\n\\#odd\nspace\\ \n*.[oa]\n",
  "a.log": "",
  "keep.log": "",
  "build/out.js": "",
  "src/build/in.js": "",
  "src/secret.txt": "",
  "src/.gitignore": "!secret.txt\n*.gen.ts\n",
  "src/x.gen.ts": "",
  "src/deep/x.gen.ts": "",
  "docs/a.tmp": "",
  "docs/b/a.tmp": "",
  "b/cache/x": "",
  "a/z": "",
  "a/b/c/z": "",
  "#odd": "",
  "space ": "",
  "x.o": "",
  "x.c": "",
};

test("the walk sees exactly the files git would", async () => {
  fill(TREE);
  execFileSync("git", ["init", "-q"], { cwd: top });
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: top, encoding: "utf8" });
  expect(await walked()).toEqual(
    listed
      .split("\0")
      .filter((path) => path !== "")
      .sort(),
  );
});

test("below a folder of the repository the rules above it count too", async () => {
  fill({ ...TREE, ".git/HEAD": "" });
  expect(await walked("src")).toEqual([".gitignore", "build/in.js", "secret.txt"]);
  expect(await walked("build")).toEqual(["out.js"]); // asked for by name
});

test("outside of a repository its own ignore files still count, and those of strangers above do not", async () => {
  fill({ ".gitignore": "*", "p/.gitignore": "x\n", "p/x": "", "p/y": "" });
  expect(await walked("p")).toEqual([".gitignore", "y"]);
});

test("what nobody means is left out unless it is asked for, and .git always", async () => {
  fill({ ".git/config": "", "node_modules/m/index.js": "", "a.js": "" });
  expect(await walked()).toEqual(["a.js"]);
  expect(await walked("", true)).toEqual(["a.js", "node_modules/m/index.js"]);
  expect(await walked("node_modules/m")).toEqual(["index.js"]);
});

test("rules decide as the library `ignore` has it", () => {
  const part = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "b", "?", "*"), minLength: 1, maxLength: 4 }),
    fc.constantFrom("**", "[ab]", "a[!b]"),
  );
  const rule = fc
    .tuple(
      fc.constantFrom("", "!"),
      fc.constantFrom("", "/"),
      fc.array(part, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
    )
    .map(([negation, root, parts, isFolder]) => `${negation}${root}${parts.join("/")}${isFolder ? "/" : ""}`)
    .filter((text) => !/\*\*[^/]|[^/!]\*\*|\/\*\*$/u.test(text));
  const name = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 3 });
  const path = fc.array(name, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 6 }), path, (rules, parts) => {
      const file = parseIgnoreFile(rules.join("\n"), (own) => own);
      const oracle = ignore().add(rules);
      // A walk never looks into a folder that is ignored.
      const isHidden = parts.some((_, index) =>
        isIgnored(parts.slice(0, index + 1).join("/"), index + 1 < parts.length, [file]),
      );
      expect(isHidden).toBe(oracle.ignores(parts.join("/")));
    }),
    { numRuns: 2_000 },
  );
});

test("of ignore files made to take long a bounded part is used, and the walk says so", async () => {
  const hostile = `${"*a".repeat(400)}b\n`.repeat(80);
  const file = parseIgnoreFile(hostile, (path) => path);
  expect(file.isCut).toBe(true);
  const chars = file.rules.reduce((sum, rule) => sum + rule.chars, 0);
  expect(chars).toBeLessThanOrEqual(BUILTIN_LIMITS.ignoreRules.maxChars);
  const inner = parseIgnoreFile("x\n".repeat(5_000), (path) => path, [file]);
  expect(file.rules.length + inner.rules.length).toBeLessThanOrEqual(BUILTIN_LIMITS.ignoreRules.maxRules);
  fill({ ".gitignore": hostile, "a.txt": "" });
  const walk = new Walk(nodeWorld(), { start: top, includeIgnored: false, signal: new AbortController().signal });
  const seen: string[] = [];
  for await (const { path } of walk.entries()) seen.push(path);
  expect(seen).toEqual([".gitignore", "a.txt"]);
  expect(walk.notes.join(" ")).toContain(".gitignore");
});

test("an empty .git, which a sandbox keeps free, is no repository: rules of the folders above it count", async () => {
  fill({ ".git/HEAD": "", ".gitignore": "*.log\n", "sub/in/a.log": "", "sub/in/a.txt": "" });
  mkdirSync(join(top, "sub/.git"));
  expect(await walked("sub/in")).toEqual(["a.txt"]);
  fill({ "sub/.git/HEAD": "" });
  expect(await walked("sub/in")).toEqual(["a.log", "a.txt"]);
});
