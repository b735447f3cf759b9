// What is read of the tools that a client sets: anything may come.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { SESSION_LIMITS } from "../limits.js";
import { readTools } from "./extra-tools.js";

const { extraTools: MAX } = SESSION_LIMITS;
const SCHEMA = { type: "object", properties: { text: { type: "string" } } };

test("whatever is set, what is read has distinct names, fits its bounds, and every entry that is not used is named", () => {
  const name = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "echo", "toString", "\u0000"));
  const tool = fc.record(
    {
      name,
      description: fc.string(),
      inputSchema: fc.oneof(fc.constant(SCHEMA), fc.jsonValue()),
      title: fc.anything(),
    },
    { requiredKeys: [] },
  );
  const entries = fc.array(fc.oneof(tool, fc.jsonValue()), { maxLength: 300 });
  fc.assert(
    fc.property(entries, entries, (first, second) => {
      const given = (all: readonly unknown[]) => JSON.parse(JSON.stringify(all));
      const before = readTools(given(first), new Map()).tools;
      const { tools, rejected } = readTools(given(second), before);
      expect(tools.size).toBeLessThanOrEqual(MAX.tools);
      for (const [key, { tool: one }] of tools) {
        expect(key).toBe(one.name);
        expect(one.inputSchema["type"]).toBe("object");
        expect(one).not.toHaveProperty("annotations");
      }
      const named = given(second).filter((raw: unknown) => isJsonObject(raw) && typeof raw["name"] === "string");
      const used = named.filter((raw: JsonObject) => tools.has(String(raw["name"]))).length;
      if (second.length <= MAX.tools) expect(rejected.length + used).toBeGreaterThanOrEqual(second.length);
      return Object.getPrototypeOf({}) === Object.prototype;
    }),
    { numRuns: 200 },
  );
});
