// Keeps the walls: the import table, the doors, the 600-line gate; and first proves that it sees what it judges.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseModule, type SourceModule } from "./architecture/module.js";
import { ROOMS } from "./architecture/rooms.js";
import { breaches, castBreaches, importCycles, isTest, roomOf, sizeBreaches } from "./architecture/rules.js";
import {
  brokenSteps,
  conditionalSpreads,
  dialectWords,
  fragments,
  mutualImports,
  unusedPackages,
  walkOf,
} from "./architecture/shape.js";

const ROOT = join(import.meta.dirname, "..");

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesIn(path);
    return /\.tsx?$/u.test(path) ? [path] : [];
  });
}

function isFolder(path: string): boolean {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.isDirectory() === true;
}

/** A `.tsx` is known as `.ts`: specifiers of imports do not tell the two apart. */
function load(folder: string): SourceModule[] {
  return filesIn(folder).map((file) => {
    const path = file.replace(/\.tsx$/u, ".ts");
    return { ...parseModule(file, textOf(file)), path };
  });
}

function textOf(path: string): string {
  const file = join(ROOT, path);
  return readFileSync(existsSync(file) ? file : `${file}x`, "utf8");
}

const modules = load("src");
const around = ["test", "scripts", "bench", "examples"].filter(isFolder).flatMap(load);
const manifest: Record<"devDependencies" | "peerDependencies" | "optionalDependencies", object> = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
);
/** All but two are bundled (`scripts/lib/bundle.ts`), so an installed Tenon needs none of them. */
const dependencies = new Set(
  [manifest.devDependencies, manifest.peerDependencies, manifest.optionalDependencies].flatMap(Object.keys),
);

const SAMPLE = `#!/usr/bin/env node
// import { no } from "./commented.js";
import type { A } from "./a.js";
import {
  type B,
  c,
} from "./b.js";
import "./side.js";
import * as all from "node:path";
export { d } from "./d.js";
export type { E } from "./e.js";
const text = 'import { no } from "./quoted.js"';
const lazy = await import("./lazy.js");
const plain = await import(\`./template.js\`);
type F = import("./f.js").F;
import legacy = require("./legacy.js");
/* import { no } from "./block.js" */
`;

describe("the reader", () => {
  test("sees every room, and files and imports in each", () => {
    const folders = readdirSync(join(ROOT, "src")).filter((name) => isFolder(`src/${name}`));
    const withFiles = folders.filter((name) => filesIn(`src/${name}`).length > 0);
    expect(withFiles).toEqual(expect.arrayContaining(["base", "mcp", "models", "tools", "engine", "session"]));
    for (const name of withFiles) expect(modules.map(({ path }) => roomOf(path))).toContain(name);
    expect(modules.length).toBeGreaterThan(30);
    expect(modules.flatMap(({ imports }) => imports).length).toBeGreaterThan(modules.length);
  });

  test("finds every form of import with its kind and line, and none in comments or strings", () => {
    const { imports, firstLine } = parseModule("src/base/sample.ts", SAMPLE);
    expect(firstLine).toMatch(/^\/\/ import/);
    expect(imports.map(({ specifier, isType, isDynamic, line }) => [specifier, isType, isDynamic, line])).toEqual([
      ["./a.js", true, false, 3],
      ["./b.js", false, false, 4],
      ["./side.js", false, false, 8],
      ["node:path", false, false, 9],
      ["./d.js", false, false, 10],
      ["./e.js", true, false, 11],
      ["./lazy.js", false, true, 13],
      ["./template.js", false, true, 14],
      ["./f.js", true, false, 15],
      ["./legacy.js", false, false, 16],
    ]);
  });
});

function judge(path: string, code: string): string[] {
  const module = parseModule(path, `// A planted sample.\n${code}\n`);
  return breaches(module, new Set(["@agentclientprotocol/sdk", "zod"]));
}

describe("the rules", () => {
  test.each([
    ["src/base/x.ts", 'import { a } from "../mcp/index.js";', "the room base must not import the room mcp"],
    ["src/engine/x.ts", 'import type { A } from "../mcp/index.js";', "the room engine must not import the room mcp"],
    ["src/acp/x.ts", 'import { a } from "../tools/index.js";', "may only import types from the room tools"],
    ["src/acp/x.ts", 'import { type A } from "../tools/index.js";', "may only import types from the room tools"],
    ["src/session/x.ts", 'import { a } from "../mcp/spec.js";', "enters the room mcp past its door"],
    ["src/session/x.ts", 'export { a } from "../mcp/spec.js";', "enters the room mcp past its door"],
    ["src/session/x.ts", 'const a = import("../acp/index.js");', "must not import the room acp"],
    ["src/session/x.test.ts", 'import { a } from "../mcp/spec.js";', "enters the room mcp past its door"],
    ["src/session/x.ts", 'import { a } from "../testing/index.js";', "which only tests may"],
    ["src/cli/x.ts", 'import { a } from "../testing/kit/feed.js";', "enters the room testing past its door"],
    ["src/cli/x.ts", 'import { a } from "../testing/lab/index.js";', "imports the test lab"],
    ["src/testing/kit/x.ts", 'import { a } from "../lab/x.js";', "imports the test lab"],
    ["src/mcp/x.ts", 'import { a } from "../cli/main.js";', "must not import the room cli"],
    ["src/mcp/x.ts", 'import { a } from "../../test/x.js";', "outside src/"],
    ["src/pantry/x.ts", "const a = 1;", '"pantry" is not a room'],
    [
      "src/mcp/x.ts",
      'import { a } from "@agentclientprotocol/sdk";',
      "must not touch the package @agentclientprotocol/sdk",
    ],
    ["src/base/x.ts", 'import type { a } from "zod";', "must not touch the package zod"],
    [
      "src/builtin/x.ts",
      'import { a } from "@modelcontextprotocol/client/stdio";',
      "must not touch the package @model",
    ],
    ["src/models/x.ts", 'import { a } from "@ai-sdk/azure";', "which package.json does not name"],
    ["src/engine/x.ts", 'import { a } from "node:fs/promises";', "comes in through the World port"],
    ["src/world/x.ts", 'import { a } from "fs";', 'write "node:fs"'],
    ["src/mcp/x.ts", "const a = import(process.argv[2]);", "import() of a computed name"],
    ["src/mcp/x.ts", "const a = process.env;", "uses process"],
    ["src/mcp/x.ts", "const a = { fetch };", "uses fetch"],
    ["src/mcp/x.ts", "const a = Date.now();", "uses Date.now"],
    ["src/cli/x.ts", "const a = AbortSignal.timeout(5);", "AbortSignal.timeout escapes the fake clock"],
    ["src/cli/x.ts", 'const a = URL.canParse("b");', "use isUrl"],
    ["src/mcp/x.ts", 'export * from "./y.js";', "export * hides"],
    ["src/mcp/x.ts", "export default 1;", "default export"],
    ["src/mcp/x.ts", "work.then(tell, fail);", "un-owned promise"],
    ["src/mcp/x.ts", "work.then(() => tell());", "un-owned promise"],
    ["src/mcp/x.ts", "class A { #a; constructor() { this.#a = this.#open(); } async #open() {} }", "un-owned promise"],
    ["src/mcp/x.ts", "class A { go() { this.a = work().finally(() => {}); } }", "un-owned promise"],
    ["src/world/x.ts", 'import { spawn as start } from "node:child_process"; const a = () => start("a");', '"error"'],
    ["src/world/x.ts", 'import { createServer } from "node:http"; function a() { return createServer(); }', '"error"'],
    ["src/world/x.ts", 'class A { a() { new Worker("x").once("error", b); } }', '"error"'],
    ["src/session/x.ts", 'const a = { role: "user", content };', "unmarked path to a model: builds a message"],
    [
      "src/builtin/x.ts",
      "ask({ messages: [{ role: `tool`, results }] });",
      "unmarked path to a model: builds a message",
    ],
    [
      "src/session/x.ts",
      'import { alreadyMarked } from "../base/marked-content.js";',
      "unmarked path to a model: uses alreadyMarked",
    ],
    ["src/mcp/x.ts", "const a = 1; export { a as default };", "default export"],
    ["src/mcp/x.ts", "const a = (text: string) => new RegExp(text);", "builds a regular expression at run time"],
    [
      "src/tools/x.ts",
      "const a = (text: string) => RegExp(`^${text}$`, 'u');",
      "builds a regular expression at run time",
    ],
    ["src/mcp/x.ts", "const a = /^(a+)+$/u;", "repeats what is repeated already: /^(a+)+$/"],
    ["src/mcp/x.ts", "const a = /(?:[^x)]*\\)?y{2,})*z/;", "can take exponential time"],
  ])("in %s forbid %s", (path, code, reason) => {
    expect(judge(path, code).join("\n")).toContain(reason);
  });

  test.each([
    [
      "src/session/x.ts",
      'import { a } from "../mcp/index.js"; import { b } from "../base/errors.js"; import { c } from "./y.js";',
    ],
    [
      "src/acp/x.ts",
      'import type { A } from "../tools/index.js"; import { z } from "@agentclientprotocol/sdk"; export type { B } from "../mcp/index.js";',
    ],
    [
      "src/session/x.test.ts",
      'import { a } from "../testing/index.js"; import { b } from "../testing/lab/index.js"; import { test } from "vitest"; const now = Date.now();',
    ],
    [
      "src/cli/x.ts",
      'import { a } from "../session/index.js"; import { b } from "../testing/index.js"; console.log(process.argv);',
    ],
    ["src/mcp/x.ts", "const a = [/(?:a{1,3}b)*/u, /[(a+)+]/u, /(a?b)+c*/u, /\\(a+\\)+/u, new RegExp('a+', 'u')];"],
    ["src/base/x.ts", 'import { createHash } from "node:crypto"; import type { Stats } from "node:fs";'],
    [
      "src/mcp/x.ts",
      "function call(world: World, fetch: Fetch) { return [world.fetch, fetch, { process: 1 }.process]; }",
    ],
    [
      "src/mcp/x.ts",
      "type Id = Brand<string, 'Id'>; const id = (text: string): Id => text as Id; const list = [1] as const;",
    ],
    [
      "src/mcp/x.ts",
      "work.then(tell, fail).catch(report); handled(work.then(tell), log, 'a'); work.then(resolve, reject);",
    ],
    [
      "src/mcp/x.ts",
      "class A { a() { this.b ??= this.c(); return this.b; } d() { this.b = this.c().catch(e); } async c() {} }",
    ],
    ["src/world/x.ts", 'import { spawn } from "node:child_process"; const a = () => { spawn("a").on("error", b); };'],
    [
      "src/mcp/x.ts",
      "interface World { fetch(): void; console: string } type Process = NodeJS.Process; type F = typeof fetch;",
    ],
  ])("in %s allow %s", (path, code) => {
    expect(judge(path, code)).toEqual([]);
  });

  test("forbid a file of more than 600 lines, and one that does not begin with its job", () => {
    const breach = (lines: number) => sizeBreaches(parseModule("src/mcp/x.ts", "// A planted sample.\n".repeat(lines)));
    expect(breach(600)).toEqual([]);
    expect(breach(601)).toEqual(["src/mcp/x.ts:1: 601 lines, the gate is 600"]);
    expect(sizeBreaches(parseModule("src/mcp/x.ts", "\n// Too late.\n"))).toHaveLength(1);
  });

  test("forbid every cast but one maker's to a brand of its own room", () => {
    const brand = parseModule("src/mcp/id.ts", "export type Id = Brand<string, 'Id'>; const list = [1] as const;");
    const maker = parseModule("src/mcp/x.ts", "const id = (text: string): Id => text as Id;");
    expect(castBreaches([brand, maker])).toEqual([]);
    expect(castBreaches([brand, maker, parseModule("src/mcp/y.ts", "const a = b as Id;")])).toEqual([
      "src/mcp/y.ts:1: makes the brand Id, as src/mcp/x.ts does already",
    ]);
    expect(castBreaches([brand, parseModule("src/acp/y.ts", "const a = b as Id;")])).toHaveLength(1);
    expect(castBreaches([parseModule("src/mcp/y.ts", "const a = [b as string, c as unknown as D, d!];")])).toHaveLength(
      4,
    );
  });

  test("find a circle of value imports, and none through types or dynamic imports", () => {
    const a = parseModule("src/mcp/a.ts", 'import { b } from "./b.js";');
    expect(importCycles([a, parseModule("src/mcp/b.ts", 'export { a } from "./a.js";')])).toHaveLength(1);
    expect(
      importCycles([a, parseModule("src/mcp/b.ts", 'import type { A } from "./a.js"; await import("./a.js");')]),
    ).toEqual([]);
  });
});

describe("the source", () => {
  test("keeps the walls, the doors and the 600-line gate", () => {
    expect(modules.flatMap((module) => breaches(module, dependencies))).toEqual([]);
  });

  test("has no casts but those of brand makers", () => {
    expect(castBreaches(modules)).toEqual([]);
  });

  test("has no import circles", () => {
    expect(importCycles(modules.filter(({ path }) => !isTest(path)))).toEqual([]);
  });

  test("has small files outside src too", () => {
    expect(around.length).toBeGreaterThan(5);
    expect(around.flatMap(sizeBreaches)).toEqual([]);
  });

  test("has a door for every room that others may enter", () => {
    const present = new Set(modules.map(({ path }) => roomOf(path)));
    const doors = Object.keys(ROOMS).filter((name) => !["base", "cli"].includes(name) && present.has(name));
    const missing = doors.filter((name) => !modules.some(({ path }) => path === `src/${name}/index.ts`));
    expect(missing).toEqual([]);
  });
});

/** What later changes may not make worse: `house.md`. */
const MOST = { fragments: 15, conditionalSpreads: 40 } as const;

describe("the shape of the source", () => {
  const own = modules.filter(({ path }) => !isTest(path));
  const texts = own.map(({ path }) => [path, textOf(path)] as const);

  test("few short files have a single importer", () => {
    const found = fragments(own);
    expect(found.length, found.join("\n")).toBeLessThanOrEqual(MOST.fragments);
  });

  test("folders of a module import each other in one direction", () => {
    expect(mutualImports(own)).toEqual([]);
  });

  test("identifiers and texts have no private words", () => {
    expect(texts.flatMap(([path, text]) => dialectWords(path, text))).toEqual([]);
  });

  test("optional fields are written with defined()", () => {
    const found = texts.flatMap(([path, text]) => conditionalSpreads(path, text));
    expect(found.length, found.join("\n")).toBeLessThanOrEqual(MOST.conditionalSpreads);
  });

  test("every package that a module may import is imported by it", () => {
    expect(unusedPackages(modules)).toEqual([]);
  });

  test.each([
    "One prompt, file by file",
    "One prompt through the gateway, file by file",
    "One tool call, file by file",
    "One `session/new`, file by file",
  ])("the files of a walk in ARCHITECTURE.md exist and import each other in that order: %s", (heading) => {
    const walk = walkOf(readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8"), heading);
    expect(walk.length).toBeGreaterThan(4);
    expect(brokenSteps(walk, own)).toEqual([]);
  });

  test("each of these is found where it is planted", () => {
    const module = (path: string, ...specifiers: string[]) =>
      parseModule(path, `// A planted sample.\n${specifiers.map((name) => `import "${name}";`).join("\n")}`);
    const [a, b] = [module("src/mcp/one/a.ts", "../two/b.js"), module("src/mcp/two/b.ts", "../one/c.js")];
    expect(fragments([a, b])).toEqual(["src/mcp/two/b.ts"]);
    expect(mutualImports([a, b])).toEqual([
      "src/mcp/one/a.ts imports src/mcp/two/b.ts, and src/mcp/two/b.ts imports src/mcp/one/c.ts",
    ]);
    expect(mutualImports([a, module("src/mcp/two/b.ts", "../limits.js")])).toEqual([]);
    expect(dialectWords("a.ts", "const spillShelf = 1;")).toEqual(["a.ts: spillShelf"]);
    expect(conditionalSpreads("a.ts", "({ ...(x === undefined ? {} : { x }) })")).toHaveLength(1);
    expect(unusedPackages([])).toContain("mcp: oauth4webapi");
    const walk = walkOf("## Walk\n\n1. `mcp/one/a.ts` begins.\n2. `mcp/two/b.ts` ends.\n\n## Other\n", "Walk");
    expect(brokenSteps(walk, [a, b])).toEqual([]);
    expect(brokenSteps(walk, [a, module("src/mcp/two/b.ts")])).toEqual([]);
    expect(brokenSteps(walk, [module("src/mcp/one/a.ts"), module("src/mcp/two/b.ts")])).toEqual([
      "src/mcp/one/a.ts and src/mcp/two/b.ts do not import each other",
    ]);
    expect(brokenSteps(["src/mcp/none.ts"], [a])).toEqual(["src/mcp/none.ts does not exist"]);
  });
});
