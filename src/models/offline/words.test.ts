// Words, stems and their likeness.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentStems, likeness, operatorStems, stem, words } from "./words.js";

describe("words", () => {
  test.each([
    ["readTextFile", ["read", "text", "file"]],
    ["read_text-file", ["read", "text", "file"]],
    ["parseJSONBody", ["parse", "json", "body"]],
    ["mcp__demo__add", ["mcp", "demo", "add"]],
    ["Größe über 20", ["größe", "über", "20"]],
    ["", []],
    ["?!", []],
  ])("splits %j at case and punctuation", (text, expected) => {
    expect(words(text)).toEqual(expected);
  });
});

describe("stems", () => {
  test.each([
    ["files", "file"],
    ["listing", "list"],
    ["directories", "directory"],
    ["searches", "search"],
    ["writing", "write"],
    ["created", "creates"],
    ["running", "run"],
    ["calls", "calling"],
    ["notes", "note"],
    ["queries", "query"],
  ])("of %s and %s meet", (one, other) => {
    expect(stem(one)).toBe(stem(other));
  });

  test.each([
    ["add", "ad"],
    ["status", "state"],
    ["class", "clas"],
    ["user", "use"],
  ])("of %s and %s stay apart", (one, other) => {
    expect(stem(one)).not.toBe(stem(other));
  });

  test("leave out the words that say nothing, and keep the order", () => {
    expect(contentStems("Could you please list the files in docs?")).toEqual(["list", "file", "doc"]);
    expect(contentStems("list the files here, or log_out")).toEqual(["list", "file", "here", "log", "out"]);
  });
});

describe("likeness", () => {
  test("is 1 for a word itself, less for a synonym, and 0 for a stranger", () => {
    expect(likeness(stem("folder"), stem("folder"))).toBe(1);
    expect(likeness(stem("folder"), stem("directory"))).toBeGreaterThan(0);
    expect(likeness(stem("folder"), stem("directory"))).toBeLessThan(1);
    expect(likeness(stem("folder"), stem("weather"))).toBe(0);
    expect(likeness(stem("adding"), stem("add"))).toBe(1);
  });

  test("goes both ways", () => {
    fc.assert(
      fc.property(fc.constantFrom("read", "show", "get", "list", "add", "sum", "x"), fc.string(), (one, other) => {
        expect(likeness(one, other)).toBe(likeness(other, one));
      }),
    );
  });
});

test("operators between numbers stand for their words, and dashes and slashes elsewhere do not", () => {
  expect(operatorStems("what is 2 + 40?")).toContain(stem("add"));
  expect(operatorStems("3*4")).toContain(stem("multiply"));
  expect(operatorStems("10 - 3")).toContain(stem("subtract"));
  expect(operatorStems("read src/a-b.ts")).toEqual([]);
});
