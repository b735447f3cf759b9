// The signature of a tool from schemas of every kind; one that refers to itself, or is no schema at all, ends too.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../base/json/json.js";
import { watchEventLoop } from "../../../testing/lab/index.js";
import { createPalette } from "../../terminal/stream.js";
import { signatureLines } from "./signature.js";

function shown(inputSchema: JsonObject, columns = 80): readonly string[] {
  const tool = { name: "look", description: "Looks.", inputSchema };
  return signatureLines("s", { tool, tokens: 5 }, { palette: createPalette(false), columns });
}

test.each([
  [{ type: "object" }, "look()"],
  [{ properties: { a: { type: "string" }, b: {} }, required: ["b"] }, "look(b: any, a?: string)"],
  [{ properties: { a: { enum: ["x", "y"] } } }, 'look(a?: "x" | "y")'],
  [{ properties: { a: { type: "array", items: { type: "number" } } } }, "look(a?: number[])"],
  [{ properties: { a: { type: "array", items: { type: ["string", "null"] } } } }, "look(a?: (string | null)[])"],
  [{ properties: { a: { anyOf: [{ type: "string" }, { const: 1 }] } } }, "look(a?: string | 1)"],
  [{ properties: { a: { properties: { b: { type: "number" } }, required: ["b"] } } }, "look(a?: { b: number })"],
  [
    {
      properties: { a: { $ref: "#/$defs/node" } },
      $defs: { node: { properties: { next: { $ref: "#/$defs/node" } } } },
    },
    "look(a?: { next?: object })",
  ],
])("of %j", (schema, expected) => {
  expect(shown(schema)).toContain(expected);
});

test("of any schema is made without throwing, and shows no control character", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (schema) => {
      const lines = shown(JSON.parse(JSON.stringify(schema)));
      expect(lines.join("")).not.toMatch(/\p{Cc}/u);
    }),
  );
});

const nested = (depth: number): JsonObject =>
  depth === 0 ? { type: "string" } : { type: ["array", "array"], items: nested(depth - 1) };
const toItself = { anyOf: Array.from({ length: 120 }, () => ({ $ref: "#/$defs/a" })) };

test.each<[string, JsonObject]>([
  ["arrays of arrays, two at a time", { properties: { a: nested(20) } }],
  ["many references to itself", { properties: { a: toItself }, $defs: { a: toItself } }],
])("of %s is made at once, and says that there is more", async (_, schema) => {
  const { value, longestMs } = await watchEventLoop(async () => shown(schema));
  expect(value.find((line) => line.startsWith("look("))).toContain("…");
  expect(longestMs).toBeLessThan(50);
});
