// The documents against the code: generated pages are current, links lead somewhere, examples are what the code takes.
import { existsSync, readdirSync, readFileSync } from "node:fs";
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

/** The names in the first column of the tables below a heading. */
function namesIn(page: string, heading: string): readonly string[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const rows = (section.split("\n## ")[0] ?? "").match(/^\| `[^|]*/gmu) ?? [];
  return rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/gu)].map(([, name = ""]) => name));
}

function membersOf(file: string, name: string): readonly string[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  const [, body = ""] = new RegExp(`export interface ${name} \\{\n([\\s\\S]*?)\n\\}`, "u").exec(source) ?? [];
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gmu)].map(([, member = ""]) => member);
}

test("docs/reference/acp.md has every method and every field of _meta that is Tenon's own, and no other", () => {
  const page = readFileSync(join(ROOT, "docs/reference/acp.md"), "utf8");
  const sources = readdirSync(join(ROOT, "src/acp")).filter((name) => !name.endsWith(".test.ts"));
  const texts = sources.map((name) => ({ name, text: readFileSync(join(ROOT, "src/acp", name), "utf8") }));
  const methods = texts.flatMap(({ text }) =>
    [...text.matchAll(/"(_tenon\/[^"]+)"/gu)].map(([, method = ""]) => method),
  );
  expect(namesIn(page, "Methods").toSorted()).toEqual([...new Set(methods)].toSorted());
  const same = (heading: string, file: string, name: string) => {
    const members = membersOf(file, name);
    expect(members.length).toBeGreaterThan(0);
    expect(namesIn(page, heading).toSorted(), heading).toEqual(members.toSorted());
  };
  same("Fields a client may send", "src/acp/meta.ts", "ReceivedMeta");
  same("Fields Tenon sends", "src/acp/meta.ts", "SentMeta");
  same("The status of a server", "src/session/events.ts", "ServerStatus");
  // All of them go through meta.ts, so that these are all.
  const others = texts.filter(
    ({ name, text }) => name !== "meta.ts" && /\btenon: \{|\["tenon"\]|\.tenon\b(?!\.)/u.test(text),
  );
  expect(others.map(({ name }) => name)).toEqual([]);
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
