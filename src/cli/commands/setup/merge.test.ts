// One entry goes into a file of somebody else's: everything around it stays, letter by letter.
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseDocument } from "../../../config/index.js";
import { mergedText } from "./setup.js";

const RECIPE = { path: ["agent_servers", "Tenon"], entry: { command: "tenon", args: ["acp"], env: {} } };

test("a second time nothing changes, whatever else is in the file", () => {
  const key = fc
    .string({ minLength: 1, maxLength: 8 })
    .filter((text) => text !== "agent_servers" && text !== "__proto__");
  fc.assert(
    fc.property(fc.dictionary(key, fc.jsonValue()), fc.boolean(), (settings, isPretty) => {
      const before = JSON.stringify(settings, undefined, isPretty ? 2 : undefined);
      fc.pre(!before.includes("__proto__")); // the reader leaves such keys out
      const first = mergedText(before, RECIPE, "f");
      expect(first.change).toBe("added");
      const again = mergedText(first.text, RECIPE, "f");
      expect(again).toEqual({ change: "unchanged", text: first.text });
      const { value } = parseDocument(first.text);
      expect(value).toEqual({ ...JSON.parse(before), agent_servers: { Tenon: RECIPE.entry } });
    }),
  );
});

test("comments stay where they are", () => {
  const before =
    '{\n  // first\n  "a": 1, /* here */\n  "agent_servers": {\n    // others\n    "X": {} // last\n  }\n}\n';
  const { text } = mergedText(before, RECIPE, "f");
  for (const comment of ["// first", "/* here */", "// others", "// last"]) expect(text).toContain(comment);
});

test.each(["", "  \n", "// nothing yet\n"])("an empty file becomes a whole one: %j", (before) => {
  const { text, change } = mergedText(before, RECIPE, "f");
  expect(change).toBe("added");
  expect(parseDocument(text).value).toEqual({ agent_servers: { Tenon: RECIPE.entry } });
  expect(text).toMatch(/\}\n$/);
});

test.each(["{", '{"agent_servers": 1}', '{"agent_servers": {"Tenon": []}}', "[]", "1"])(
  "what it cannot go into is refused: %s",
  (before) => {
    expect(() => mergedText(before, RECIPE, "f")).toThrow("f");
  },
);

test("an entry of before keeps what the person gave it", () => {
  const before = '{"agent_servers":{"Tenon":{"command":"old","env":{"A":"1"},"mine":true}}}';
  const { text, change } = mergedText(before, RECIPE, "f");
  expect(change).toBe("updated");
  expect(JSON.parse(text)).toEqual({
    agent_servers: { Tenon: { command: "tenon", args: ["acp"], env: { A: "1" }, mine: true } },
  });
});

test("options behind the words that start it stay", () => {
  const before = '{"agent_servers":{"Tenon":{"command":"tenon","args":["acp","--model","x/y"]}}}';
  expect(mergedText(before, RECIPE, "f")).toEqual({ change: "unchanged", text: before });
});

test("a byte order mark moves nothing", () => {
  const before = '{\r\n\t"a": 1\r\n}\r\n';
  const { text } = mergedText(`\ufeff${before}`, RECIPE, "f");
  expect(text).toBe(`\ufeff${mergedText(before, RECIPE, "f").text}`);
});

test.each([
  [["acp"], ["acp", "--gateway"], "updated"],
  [["acp", "--trace", "/t"], ["acp", "--gateway", "--trace", "/t"], "updated"],
  [["acp", "--trace", "/t", "--gateway"], ["acp", "--trace", "/t", "--gateway"], "unchanged"],
  [["other"], ["acp", "--gateway"], "updated"],
])("--gateway is added to the words %j, which stay", (before, after, change) => {
  const settings = JSON.stringify({ agent_servers: { Tenon: { ...RECIPE.entry, args: before } } });
  const entry = { ...RECIPE.entry, args: ["acp", "--gateway"] };
  const merged = mergedText(settings, { ...RECIPE, entry }, "f");
  expect(merged.change).toBe(change);
  expect(parseDocument(merged.text).value).toEqual({ agent_servers: { Tenon: { ...entry, args: after } } });
});
