// The documents against the code: generated pages are current, links lead somewhere, examples are what the code takes.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ParseError, parse } from "jsonc-parser";
import { expect, test } from "vitest";
import { LIMIT_FILES, limitsIn } from "../scripts/docs/limits-page.js";
import { referencePages } from "../scripts/docs/pages.js";
import { TABLE } from "../src/cli/table.js";
import { configFile } from "../src/config/layers/schema.js";
import { blocksIn, documents, localLinks, ROOT, shellLines } from "./docs/blocks.js";

test.each(referencePages())("$path is what `npm run docs` writes", ({ path, text }) => {
  expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
});

test.each(LIMIT_FILES)(
  "every limit of %s is in the reference, with its reason, and is a positive number",
  async (path) => {
    const described = limitsIn(readFileSync(join(ROOT, path), "utf8"));
    const groups: Record<string, Record<string, number | object>> = await import(join(ROOT, path));
    const limits = Object.values(groups).flatMap((group) => Object.entries(group));
    expect(described.map(({ name }) => name).sort()).toEqual(limits.map(([name]) => name).sort());
    expect(described.filter(({ reason }) => reason.trim() === "")).toEqual([]);
    const numbers = limits.flatMap(([name, limit]) =>
      Object.values(typeof limit === "number" ? [limit] : limit).map((value) => ({ name, value })),
    );
    expect(numbers.filter(({ value }) => typeof value === "number" && value <= 0)).toEqual([]);
  },
);

/** What it prints is for another program already. */
const FOR_PROGRAMS = ["acp", "completion"];

test("every command has a summary, an example and --json", () => {
  const commands = TABLE.flatMap((entry) => (entry.kind === "command" ? [entry] : entry.commands));
  expect(commands.filter(({ summary, examples }) => summary === "" || Object.keys(examples).length === 0)).toEqual([]);
  const mute = commands.filter(({ name, options }) => !("json" in options) && !FOR_PROGRAMS.includes(name));
  expect(mute.map(({ name }) => name)).toEqual([]);
  const lines = commands.flatMap(({ examples }) => Object.keys(examples));
  expect(lines.filter((line) => !/(?:^|\$\()tenon /u.test(line))).toEqual([]);
});

test.each(documents())("the links of %s lead somewhere", (file) => {
  expect(localLinks(file).filter((target) => !existsSync(join(ROOT, target)))).toEqual([]);
});

const blocks = documents().flatMap(blocksIn);

test("every block says what it is, so that it can be checked", () => {
  const known = ["sh", "text", "json", "ndjson", "ts", "lua", "elisp"];
  expect(blocks.filter(({ language }) => !known.includes(language)).map(({ file, line }) => `${file}:${line}`)).toEqual(
    [],
  );
});

test.each(blocks.filter(({ language }) => language === "json"))(
  "the configuration at $file:$line is one",
  ({ text }) => {
    const errors: ParseError[] = [];
    const value: unknown = parse(text, errors, { allowTrailingComma: true });
    expect(errors).toEqual([]);
    expect(configFile.safeParse(value).error).toBeUndefined();
  },
);

/** What the words of a line begin with that is no command of ours. */
const OTHERS = ["npm", "eval"];

test.each(blocks.filter(({ language }) => language === "sh").flatMap(shellLines))(
  "the command at $file:$line exists",
  ({ command }) => {
    const [program = "", name = "", sub = ""] = command.replace(/^(?:[A-Z_]+=(?:"[^"]*"|\S+) )+/u, "").split(/\s+/u);
    if (OTHERS.includes(program)) return;
    expect(program).toBe("tenon");
    const entry = TABLE.find((one) => one.name === name);
    expect(entry?.name).toBe(name);
    if (entry?.kind === "group" && sub !== "") expect(entry.commands.map((one) => one.name)).toContain(sub);
  },
);
