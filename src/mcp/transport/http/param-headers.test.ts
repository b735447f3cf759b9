// `x-mcp-header`: which annotations are valid, and what goes into the headers for any argument.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import { checkParamHeaders, encodeHeaderValue, paramHeaders } from "./param-headers.js";

function annotated(header: JsonValue, type: JsonValue = "string"): JsonObject {
  return { type, "x-mcp-header": header };
}

function withProperty(property: JsonValue): JsonObject {
  return { type: "object", properties: { p: property } };
}

function decode(header: string): string {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(header) ?? [];
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString("utf8");
}

describe("a schema is fit for headers", () => {
  test("without annotations, and with names that merely look like one", () => {
    expect(checkParamHeaders({ type: "object" })).toBeUndefined();
    expect(checkParamHeaders({ type: "object", properties: { "x-mcp-header": { type: "object" } } })).toBeUndefined();
    expect(checkParamHeaders(withProperty({ type: "object", default: { "x-mcp-header": 1 } }))).toBeUndefined();
  });

  test.each(["string", "integer", "boolean"])("with an annotated %s, also inside an object", (type) => {
    expect(checkParamHeaders(withProperty(annotated("Region", type)))).toBeUndefined();
    expect(checkParamHeaders(withProperty(withProperty(annotated("Region", type))))).toBeUndefined();
  });
});

describe("a tool is set aside", () => {
  test.each<[string, JsonValue]>([
    ["an empty name", ""],
    ["a space", "My Region"],
    ["a colon", "Region:"],
    ["a letter outside ASCII", "Région"],
    ["a tab", "a\tb"],
    ["a line break", "a\r\nEvil: 1"],
    ["a number", 7],
    ["null", null],
    ["an object", {}],
  ])("for %s as a name", (_, header) => {
    expect(checkParamHeaders(withProperty(annotated(header)))).toMatch(/is no header name/);
  });

  test.each<[string, JsonValue]>([
    ["number", "number"],
    ["object", "object"],
    ["array", "array"],
    ["null", "null"],
    ["a list of types", ["string", "null"]],
  ])("for an annotated %s", (_, type) => {
    expect(checkParamHeaders(withProperty(annotated("A", type)))).toMatch(/no string, integer or boolean/);
  });

  test("for an annotation without a type", () => {
    expect(checkParamHeaders(withProperty({ "x-mcp-header": "A" }))).toMatch(/no string, integer or boolean/);
  });

  test("for the same name twice, whatever its case and place", () => {
    const twice = { type: "object", properties: { a: annotated("Region"), b: withProperty(annotated("rEGION")) } };
    expect(checkParamHeaders(twice)).toMatch(/used twice/);
  });

  test.each<[string, JsonObject]>([
    ["the root", { ...annotated("A"), type: "string" }],
    ["items", withProperty({ type: "array", items: annotated("A") })],
    ["prefixItems", withProperty({ type: "array", prefixItems: [annotated("A")] })],
    ["additionalProperties", { type: "object", additionalProperties: annotated("A") }],
    ["patternProperties", { type: "object", patternProperties: { "^a": annotated("A") } }],
    ["anyOf", { type: "object", anyOf: [withProperty(annotated("A"))] }],
    ["if", { type: "object", if: withProperty(annotated("A")) }],
    ["else", { type: "object", else: withProperty(annotated("A")) }],
    ["$defs", { type: "object", $defs: { a: annotated("A") } }],
    ["definitions", { type: "object", definitions: { a: annotated("A") } }],
    ["properties below items", withProperty({ type: "array", items: withProperty(annotated("A")) })],
  ])("for an annotation in %s", (_, schema) => {
    expect(checkParamHeaders(schema)).toMatch(/not on a plain property/);
  });

  test("when its schema is too large to be searched, and however deep it is the search ends", () => {
    let deep: JsonObject = annotated("A");
    for (let level = 0; level < 20_000; level++) deep = withProperty(deep);
    expect(checkParamHeaders(deep)).toBeUndefined();
    for (let level = 0; level < 40_000; level++) deep = withProperty(deep);
    expect(checkParamHeaders(deep)).toMatch(/more than 50000 parts/);
    const wide = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`p${n}`, { type: "string" }]));
    expect(checkParamHeaders({ type: "object", properties: wide })).toMatch(/more than 50000 parts/);
  });
});

describe("the headers of a call", () => {
  const schema: JsonObject = {
    type: "object",
    properties: {
      region: annotated("Region"),
      count: annotated("Count", "integer"),
      dry: annotated("Dry", "boolean"),
      method: annotated("Method"),
      inner: { type: "object", properties: { zone: annotated("Zone") } },
      plain: { type: "string" },
    },
  };

  test("mirror exactly the annotated arguments, false and the empty text included", () => {
    const args = { region: "", count: 42, dry: false, method: "GET", inner: { zone: "z" }, plain: "secret" };
    expect(paramHeaders(schema, args)).toEqual({
      "Mcp-Param-Region": "=?base64??=",
      "Mcp-Param-Count": "42",
      "Mcp-Param-Dry": "false",
      "Mcp-Param-Method": "GET",
      "Mcp-Param-Zone": "z",
    });
  });

  test("leave out what is absent, null, no integer or of no header form", () => {
    expect(paramHeaders(schema, {})).toEqual({});
    expect(paramHeaders(schema, { region: null, count: 1.5, dry: {}, method: [], inner: "x" })).toEqual({});
    expect(paramHeaders(schema, { count: 2 ** 53 })).toEqual({});
    expect(paramHeaders(schema, { count: -0 })).toEqual({ "Mcp-Param-Count": "0" });
  });

  test("take no value from the prototype", () => {
    const tricky: JsonObject = {
      type: "object",
      properties: { constructor: annotated("A"), toString: annotated("B") },
    };
    expect(paramHeaders(tricky, {})).toEqual({});
  });

  test("are none for a schema that is not fit", () => {
    expect(paramHeaders(withProperty(annotated("a b")), { p: "x" })).toEqual({});
  });
});

describe("a header value", () => {
  test.each([
    ["eu west", "eu west"],
    [" x", "=?base64?IHg=?="],
    ["x ", "=?base64?eCA=?="],
    ["a\tb", "=?base64?YQli?="],
    ["a\r\nEvil: 1", "=?base64?YQ0KRXZpbDogMQ==?="],
    ["ü", "=?base64?w7w=?="],
    ["=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="],
    ["file:///path/to/file%20name.txt", "file:///path/to/file%20name.txt"],
  ])("%j is sent as %s", (text, header) => {
    expect(encodeHeaderValue(text)).toBe(header);
  });

  test("of any text is plain ASCII without blanks at its ends, and can be read back", () => {
    const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary-ascii" }), fc.string());
    fc.assert(
      fc.property(text, (value) => {
        const header = encodeHeaderValue(value);
        expect(header).toMatch(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/);
        expect(decode(header)).toBe(value);
      }),
    );
  });
});
