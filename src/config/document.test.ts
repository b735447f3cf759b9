// Any text gives a value and problems with positions, never a throw.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDocument } from "./layers/document.js";
import { CONFIG_LIMITS } from "./limits.js";

const TEXT = `{
  // servers
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "x",], },
    "mail": { "url": "https://example.com" }
  },
}
`;

describe("parseDocument", () => {
  it("reads comments and trailing commas, and knows where everything stands", () => {
    const document = parseDocument(TEXT);
    expect(document.problems).toEqual([]);
    expect(document.value).toEqual({
      mcpServers: { files: { command: "npx", args: ["-y", "x"] }, mail: { url: "https://example.com" } },
    });
    expect(document.locate(["mcpServers", "files"], "key")).toEqual({ line: 4, column: 5 });
    expect(document.locate(["mcpServers", "files"])).toEqual({ line: 4, column: 14 });
    expect(document.locate(["mcpServers", "files", "args", 1])).toEqual({ line: 4, column: 49 });
    expect(document.locate(["mcpServers", "mail", "url"], "key")).toEqual({ line: 5, column: 15 });
  });

  it("points at the nearest parent of what is not there", () => {
    expect(parseDocument(TEXT).locate(["mcpServers", "mail", "headers", "A"])).toEqual({ line: 5, column: 13 });
  });

  it("counts lines by any line break, and a byte order mark not at all", () => {
    const document = parseDocument('\ufeff{\r\n"a":\r1,\n "b": 2}');
    expect(document.problems).toEqual([]);
    expect(document.locate(["a"])).toEqual({ line: 3, column: 1 });
    expect(document.locate(["b"], "key")).toEqual({ line: 4, column: 2 });
  });

  it.each(["", "  \n", "// nothing but a comment\n"])("takes %j as nothing, without a complaint", (text) => {
    expect(parseDocument(text)).toMatchObject({ value: undefined, problems: [] });
  });

  it("lets the last of two equal keys count, and says so", () => {
    const document = parseDocument('{"a": 1,\n "b": 2, "a": 3}');
    expect(document.value).toEqual({ a: 3, b: 2 });
    expect(document.locate(["a"])).toEqual({ line: 2, column: 15 });
    expect(document.problems).toEqual([
      {
        severity: "warning",
        message: expect.stringContaining('"a" is there twice'),
        position: { line: 2, column: 10 },
      },
    ]);
  });

  it("gives no key a way to a prototype", () => {
    const document = parseDocument('{"__proto__": {"polluted": 1}, "constructor": 2, "a": {"__proto__": {"x": 1}}}');
    expect(Object.keys(document.value ?? {})).toEqual(["constructor", "a"]);
    expect(Object.getPrototypeOf(document.value)).toBeNull();
    expect(document.problems.map(({ severity }) => severity)).toEqual(["warning", "warning"]);
    expect("polluted" in {}).toBe(false);
  });

  it.each([
    ['{"a": {"x": 1 "y": 2}, "b": {}}', 'expected ","', { line: 1, column: 15 }],
    ['{"a": {"x": tru}, "b": {}}', '"tru" is no JSON value', { line: 1, column: 13 }],
    ['{"a": {"x": "\n"}, "b": {}}', "this text never ends", { line: 1, column: 13 }],
    ['{"a": {x: 1}, "b": {}}', "is no JSON value; write strings in double quotes", { line: 1, column: 8 }],
    ['{"a": {"x": "\\q"}, "b": {}}', "unknown escape", { line: 1, column: 13 }],
    ['{"a": {"x": "\ufffd"}, "b": {}}', "this is not UTF-8", { line: 1, column: 14 }],
  ])("finds the fault in %j, and leaves its neighbour alone", (text, message, position) => {
    const document = parseDocument(text);
    expect(document.problems).toContainEqual({
      severity: "error",
      message: expect.stringContaining(message),
      position,
    });
    expect(document.isBroken(["a"])).toBe(true);
    expect(document.isBroken(["b"])).toBe(false);
  });

  it("keeps what was read when a brace is missing at the end", () => {
    const document = parseDocument('{"a": {"x": 1}, "b": {"y": 2');
    expect(document.value).toEqual({ a: { x: 1 }, b: { y: 2 } });
    expect(document.isBroken(["a"])).toBe(false);
    expect(document.isBroken(["b"])).toBe(true);
    expect(document.problems[0]?.message).toBe('expected "}"');
  });

  it.each([
    ["[".repeat(100_000), "nested more than"],
    [`{"a": "${"x".repeat(CONFIG_LIMITS.configMaxBytes)}"}`, "larger than"],
    [Buffer.from('{"a":1}', "utf16le").toString("utf8"), "not UTF-8"],
  ])("refuses what would be too much, or no text (%#)", (text, message) => {
    const document = parseDocument(text);
    expect(document.value).toBeUndefined();
    expect(document.problems).toHaveLength(1);
    expect(document.problems[0]?.message).toContain(message);
  });

  it("never throws, whatever the bytes, and each problem has a place in the text", () => {
    const signs = fc.constantFrom("{", "}", "[", "]", ":", ",", '"', "\\", "/", "*", "\n", "a", "1", "-", "true", "\0");
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("utf8")),
      fc.array(signs, { maxLength: 60 }).map((parts) => parts.join("")),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(anything, fc.array(fc.oneof(fc.string(), fc.nat(3)), { maxLength: 3 }), (text, path) => {
        const document = parseDocument(text);
        document.isBroken(path);
        expect(document.locate(path).line).toBeGreaterThan(0);
        const lines = text.replace(/^\ufeff/u, "").split(/\r\n|\r|\n/u);
        for (const { position } of document.problems) {
          expect(position.line).toBeLessThanOrEqual(lines.length);
          expect(position.column - 1).toBeLessThanOrEqual((lines[position.line - 1] ?? "").length + 1);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("reads every JSON value as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (json) => {
        const document = parseDocument(json);
        if (json.includes('"__proto__"')) return;
        expect(document.value).toEqual(JSON.parse(json));
        expect(document.problems.filter(({ severity }) => severity === "error" && !json.includes("\ufffd"))).toEqual(
          [],
        );
      }),
    );
  });
});
