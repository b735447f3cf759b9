// An entry that a program hands over is read the same whether the schemas are loaded for it or not.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import { readEntry, readGivenEntry } from "./read-entry.js";
import * as schemas from "./schema.js";

const text = fc.constantFrom(
  "npx",
  "",
  " ",
  "-y",
  "http://localhost:1/mcp",
  "ftp://x",
  "a\u0000b",
  "constructor",
  "${X}",
);
const other = fc.constantFrom<unknown[]>(null, 0, true, [], {}, ["a"], [null], { A: 1 }, { A: "b" });
const texts = fc.array(fc.oneof({ weight: 6, arbitrary: text }, other), { maxLength: 3 });
const named = fc.dictionary(
  fc.constantFrom("A", "", "a b", "X-Key", "constructor", "toString"),
  fc.oneof(text, other),
  {
    maxKeys: 3,
  },
);
const entry = fc.record(
  {
    type: fc.oneof(fc.constantFrom("stdio", "http", "sse", "STDIO", "streamable-http"), other),
    command: fc.oneof(text, other),
    args: fc.oneof(texts, other),
    env: fc.oneof(named, other),
    cwd: fc.oneof(text, other),
    url: fc.oneof(text, other),
    headers: fc.oneof(named, other),
    timeoutMs: fc.constantFrom(1, -1, "1"),
  },
  { requiredKeys: [] },
);

describe("an entry of a program", () => {
  const sparse: string[] = [];
  sparse[1] = "server";
  const holes: string[] = [];
  holes.length = 2;

  it.each<[string, JsonObject]>([
    ["a hole among its arguments", { command: "npx", args: sparse }],
    ["holes only", { command: "npx", args: holes }],
  ])("is refused as with the schemas with %s", async (_, written) => {
    const read = await readGivenEntry(written, async () => schemas);
    expect(read).toEqual(readEntry(written, "client", schemas));
    expect(read.value).toBeUndefined();
  });

  it("is read without the schemas as it is with them", async () => {
    const isSame = async (written: object) => {
      const json: JsonObject = JSON.parse(JSON.stringify(written));
      expect(await readGivenEntry(json, async () => schemas)).toEqual(readEntry(json, "client", schemas));
    };
    await fc.assert(fc.asyncProperty(entry, isSame), { numRuns: 3_000 });
  });
});
