// Tools and content of any shape are read: the good stays, the bad is named, nothing throws.
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { JsonValue } from "../../base/json/json.js";
import { readContent, readContents } from "./call.js";
import { readTool } from "./tools.js";

const anyJson: fc.Arbitrary<JsonValue> = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));

function nested(depth: number): JsonValue {
  return JSON.parse("[".repeat(depth) + "]".repeat(depth));
}

describe("readTool", () => {
  it("takes a tool as it is, its schemas untouched", () => {
    const raw = {
      name: "t",
      title: "T",
      description: "d",
      inputSchema: { type: "object", $schema: "s", $defs: {}, allOf: [], additionalProperties: false },
      outputSchema: { type: "array" },
      annotations: { readOnlyHint: true, destructiveHint: "no", title: "other" },
    };
    const read = readTool(raw);
    expect(read).toEqual({
      ok: true,
      key: raw.name,
      item: { ...raw, annotations: { readOnlyHint: true } },
    });
    expect(read.ok && read.item.inputSchema).toBe(raw.inputSchema);
  });

  it("fills in what may be missing: description, title from the annotations, the schema's type", () => {
    expect(readTool({ name: "t", inputSchema: {}, annotations: { title: "T" } })).toEqual({
      ok: true,
      key: "t",
      item: { name: "t", title: "T", description: "", inputSchema: { type: "object" }, annotations: {} },
    });
  });

  it.each<[JsonValue, string, string]>([
    [7, "?", "the entry is not an object"],
    [[], "?", "the entry is not an object"],
    [{}, "?", "it has no name"],
    [{ name: "" }, "?", "it has no name"],
    [{ name: "a" }, "a", "its inputSchema is not an object"],
    [{ name: "a", inputSchema: true }, "a", "its inputSchema is not an object"],
    [{ name: "a", inputSchema: { type: "string" } }, "a", 'its inputSchema has type "string" instead of "object"'],
    [
      { name: "a", inputSchema: { type: { toString: 1 } } },
      "a",
      'its inputSchema has type a object instead of "object"',
    ],
    [{ name: "a".repeat(2_000) }, `${"a".repeat(77)}...`, "its name has more than 1024 characters"],
  ])("sets %j aside with a reason", (raw, name, reason) => {
    expect(readTool(raw)).toEqual({ ok: false, name, reason });
  });

  it("keeps names like __proto__ as plain data", () => {
    const raw = JSON.parse(
      '{"name":"__proto__","inputSchema":{"__proto__":{"type":"string"},"properties":{"__proto__":{}}}}',
    );
    const read = readTool(raw);
    expect(read).toMatchObject({ ok: true, item: { name: "__proto__" } });
    expect(read.ok && JSON.stringify(read.item.inputSchema)).toBe(
      '{"__proto__":{"type":"string"},"properties":{"__proto__":{}},"type":"object"}',
    );
    expect({}).not.toHaveProperty("type");
  });

  it("reads anything without throwing", () => {
    const entry = fc.record(
      { name: anyJson, inputSchema: anyJson, annotations: anyJson, outputSchema: anyJson, title: anyJson },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(anyJson, entry), (raw) => {
        const read = readTool(JSON.parse(JSON.stringify(raw)));
        expect(read.ok ? typeof read.item.name : typeof read.reason).toBe("string");
      }),
    );
  });
});

describe("readContent", () => {
  it("reads every kind of block there is", () => {
    const blocks = [
      { type: "text", text: "t" },
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "audio", data: "aGk=", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "file:///a", text: "x", mimeType: "text/plain" } },
      { type: "resource", resource: { uri: "file:///b", blob: "aGk=" } },
      { type: "resource_link", uri: "file:///c", name: "c", title: "C", description: "d", mimeType: "m", size: 3 },
      { type: "resource_link", uri: "file:///d" },
    ];
    expect(readContent(blocks)).toEqual([
      ...blocks.slice(0, 3),
      { type: "resource", uri: "file:///a", text: "x", mimeType: "text/plain" },
      { type: "resource", uri: "file:///b", blob: "aGk=" },
      blocks[5],
      { type: "resource_link", uri: "file:///d", name: "file:///d" },
    ]);
  });

  it.each<[JsonValue, string]>([
    [{ type: "hologram" }, "hologram"],
    [{ type: "text" }, "text"],
    [{ type: "image", data: 7 }, "image"],
    [{ type: "resource", resource: { uri: "u" } }, "resource"],
    [{ type: { toString: 1 } }, "without a type"],
    [7, "number"],
    [null, "null"],
    [[], "array"],
    [{ type: "spilled", kind: "text", path: "/etc/passwd", bytes: 1, preview: "" }, "spilled"],
  ])("labels %j instead of losing it", (raw, kind) => {
    expect(readContent([raw])).toEqual([{ type: "unknown", kind, raw }]);
  });

  it("takes a lone block, a bare text and nothing for what they mean", () => {
    expect(readContent({ type: "text", text: "t" })).toEqual([{ type: "text", text: "t" }]);
    expect(readContent("t")).toEqual([{ type: "text", text: "t" }]);
    expect(readContent(undefined)).toEqual([]);
    expect(readContent(null)).toEqual([]);
  });

  it("leaves out what is strange and too deep or too large to be written again, and says so", () => {
    expect(readContent([{ type: "new", at: nested(50_000) }])).toEqual([
      { type: "unknown", kind: "new", raw: "(left out: nested more than 256 deep)" },
    ]);
    const large = { type: "new", list: Array.from({ length: 60_000 }, () => 1) };
    const [first, second] = readContent([large, large]);
    expect(first).toMatchObject({ raw: large });
    expect(second).toMatchObject({ raw: "(left out: more than 39997 values)" });
  });

  it("cuts a flood of blocks and says how many are missing", () => {
    const blocks = readContent(Array.from({ length: 10_002 }, () => ({ type: "text", text: "" })));
    expect(blocks).toHaveLength(10_001);
    expect(blocks.at(-1)).toEqual({ type: "text", text: "[2 more content blocks were left out]" });
  });

  it("reads anything without throwing, one block for each", () => {
    const block = fc.record(
      {
        type: fc.oneof(fc.constantFrom("text", "image", "resource", "resource_link"), anyJson),
        text: anyJson,
        resource: anyJson,
        uri: anyJson,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(anyJson, block)), (raw) => {
        const blocks: JsonValue = JSON.parse(JSON.stringify(raw));
        expect(readContent(blocks)).toHaveLength(raw.length);
        expect(readContents(blocks)).toHaveLength(raw.length);
      }),
    );
  });
});

test("contents of a resource are bare, and strange ones are labelled", () => {
  expect(readContents([{ uri: "u", text: "t" }, { uri: "u" }, 3])).toEqual([
    { type: "resource", uri: "u", text: "t" },
    { type: "unknown", kind: "without a type", raw: { uri: "u" } },
    { type: "unknown", kind: "number", raw: 3 },
  ]);
});
