// The ranking on a small public sample: worse than this is a regression. Whole sets: `npm run bench -- search`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { type SearchDocument, ToolIndex } from "./index-of-tools.js";
import { UsageMemory } from "./usage-memory.js";

const FOLDER = join(import.meta.dirname, "../../../test/fixtures/retrieval/metatool-sample");

function readLines<T>(file: string): T[] {
  const lines = readFileSync(join(FOLDER, file), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

const tools = readLines<SearchDocument>("tools.jsonl");
const queries = readLines<{ readonly query: string; readonly relevant: readonly string[] }>("queries.jsonl");

function sampleIndex(): ToolIndex {
  const index = new ToolIndex();
  index.setServer("", tools);
  return index;
}

test("the tool a prompt needs is among 5 for three of four prompts, among 10 for nearly four of five", () => {
  const index = sampleIndex();
  const recall = (limit: number) => {
    const found = queries.filter(({ query, relevant }) =>
      index.search(query, { limit }).some(({ id }) => relevant.includes(id)),
    );
    return found.length / queries.length;
  };
  expect(queries.length).toBe(120);
  expect(recall(5)).toBeGreaterThanOrEqual(0.75);
  expect(recall(10)).toBeGreaterThanOrEqual(0.78);
});

test("one remembered prompt a tool makes the next prompt for it better", async () => {
  const index = sampleIndex();
  const memory = await UsageMemory.open({ world: fakeWorld(), folder: "/state", project: "/p" });
  const seen = new Set<string>();
  const later = queries.filter(({ query, relevant }) => {
    const [id = ""] = relevant;
    if (seen.has(id)) return true;
    seen.add(id);
    memory.add(query, id);
    return false;
  });
  const places = (isRemembered: boolean) =>
    later.reduce((sum, { query, relevant }) => {
      const usage = isRemembered ? { usage: memory.scores() } : {};
      const place = index.search(query, { limit: 10, ...usage }).findIndex(({ id }) => relevant.includes(id));
      return place === -1 ? sum : sum + 1 / (place + 1);
    }, 0);
  expect(later.length).toBeGreaterThan(30);
  expect(places(true)).toBeGreaterThan(places(false) * 1.02);
});
