// `.gitignore` rules decide as git does.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nodeWorld } from "../../world/index.js";
import { isIgnored, parseIgnoreFile } from "./ignore-rules.js";
import { Walk } from "./walk.js";

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

test("an ignore file made to take long does not", () => {
  const file = parseIgnoreFile(`${"a".repeat(30_000)}${" ".repeat(30_000)}x\n${"*a".repeat(200)}\n`, (path) => path);
  const before = performance.now();
  expect(isIgnored("b".repeat(255), false, [file])).toBe(false);
  expect(performance.now() - before).toBeLessThan(500);
});
