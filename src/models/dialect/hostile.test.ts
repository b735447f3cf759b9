// Schemas nobody should write: compiling never throws, never stalls, and what comes out passes the provider's checker.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anthropicFaults } from "../../../test/dialect-checkers/anthropic.js";
import { arbitrarySchema } from "../../../test/dialect-checkers/arbitrary-schema.js";
import { geminiFaults } from "../../../test/dialect-checkers/gemini.js";
import { jsonSchemaFaults } from "../../../test/dialect-checkers/json-schema.js";
import { openaiFaults } from "../../../test/dialect-checkers/openai.js";
import { openaiCompatibleFaults } from "../../../test/dialect-checkers/openai-compatible.js";
import { ANTHROPIC_REFUSALS } from "../../../test/dialect-checkers/refusals-anthropic.js";
import { GEMINI_REFUSALS } from "../../../test/dialect-checkers/refusals-gemini.js";
import { OPENAI_REFUSALS } from "../../../test/dialect-checkers/refusals-openai.js";
import { isData } from "../../../test/dialect-checkers/walk.js";
import type { JsonObject, JsonSchema, JsonValue } from "../../base/json/json.js";
import type { DialectName } from "../model.js";
import { loadModel } from "../providers/providers.js";
import { compileSchema, compileTools } from "./compile.js";

const DIALECTS = ["anthropic", "openai-chat", "openai-responses", "gemini", "openai-compatible", "plain"] as const;
const STRICTNESS = [false, true, "required"] as const;

function faultsOf(dialect: DialectName, schema: JsonSchema, strict: boolean): string[] {
  switch (dialect) {
    case "anthropic":
      return anthropicFaults(schema, { strict });
    case "openai-chat":
    case "openai-responses":
      return openaiFaults(schema, { strict });
    case "openai-compatible":
      return openaiCompatibleFaults(schema, { strict });
    case "gemini":
      return geminiFaults(schema["properties"] === undefined ? undefined : schema);
    case "plain":
      return [];
  }
}

/** The names the original requires at its root, as far as that can be read off it without reading it as we do. */
function plainlyRequired(raw: JsonSchema): string[] {
  const { required } = raw;
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function checkAll(raw: JsonSchema): void {
  const before = JSON.stringify(raw);
  for (const dialect of DIALECTS) {
    for (const strict of STRICTNESS) {
      const form = compileSchema(raw, dialect, { strict });
      if (!form.ok) {
        expect(form.reason).not.toBe("");
        continue;
      }
      expect(faultsOf(dialect, form.schema, form.strict === true), `${dialect} ${strict}: ${before}`).toEqual([]);
      const { required } = form.schema;
      const names = Array.isArray(required) ? required : [];
      const isRenamed = (name: string) =>
        form.restore?.(Object.fromEntries(names.map((key) => [String(key), 1]))) ?? name;
      for (const name of plainlyRequired(raw).slice(0, 50)) {
        const restored = isRenamed(name);
        const isKept = names.includes(name) || (typeof restored === "object" && Object.hasOwn(restored ?? {}, name));
        expect(isKept, `${dialect} ${strict} lost ${JSON.stringify(name)} of ${before}`).toBe(true);
      }
    }
  }
  expect(JSON.stringify(raw)).toBe(before);
}

describe("any schema", () => {
  test("compiles to what the checker of the provider passes, or gives a reason; required fields stay", () => {
    fc.assert(fc.property(arbitrarySchema, checkAll), { numRuns: 1_500 });
  });

  test("that a provider is on record for refusing compiles to one it takes", () => {
    for (const { schema } of [...ANTHROPIC_REFUSALS, ...OPENAI_REFUSALS, ...GEMINI_REFUSALS]) {
      const raw: JsonObject = JSON.parse(JSON.stringify(schema));
      checkAll(raw);
      // One of them is refused by us as well: 5,001 properties are more than a model should be told of.
      if (raw["type"] !== "object" || JSON.stringify(raw).length > 100_000) continue;
      for (const dialect of DIALECTS) expect(compileSchema(raw, dialect).ok, JSON.stringify(raw)).toBe(true);
    }
  });

  test("gives the same form each time, from equal definitions too", () => {
    fc.assert(
      fc.property(arbitrarySchema, (raw) => {
        const copy = JSON.parse(JSON.stringify(raw));
        fc.pre(JSON.stringify(copy) === JSON.stringify(raw));
        const first = compileSchema(raw, "anthropic");
        expect(compileSchema(raw, "anthropic")).toBe(first);
        expect(JSON.stringify(compileSchema(copy, "anthropic"))).toBe(JSON.stringify(first));
      }),
      { numRuns: 300 },
    );
  });

  test("survives what Gemini's adapter makes of it", async () => {
    let body: unknown;
    const fetch = async (_url: unknown, init?: RequestInit) => {
      body = JSON.parse(String(init?.body));
      return new Response("{}", { status: 400 });
    };
    const model = await loadModel("google/gemini-pro-latest", { env: { GEMINI_API_KEY: "k" }, fetch });
    const raw = fc.sample(arbitrarySchema, 1_500);
    const { tools } = compileTools(
      raw.map((inputSchema, index) => ({ name: `t${index}`, description: "", inputSchema })),
      model,
    );
    expect(tools.length).toBeGreaterThan(80);
    const request = { system: "", messages: [{ role: "user" as const, content: [] }], tools };
    const drain = async () => {
      for await (const _ of model.stream(request, new AbortController().signal));
    };
    await expect(drain()).rejects.toThrow("400");
    const [sent] = isData(body) && Array.isArray(body["tools"]) ? body["tools"] : [];
    const declarations: readonly JsonObject[] = sent["functionDeclarations"];
    expect(declarations.length).toBe(tools.length);
    for (const [index, { parameters }] of declarations.entries()) {
      expect(geminiFaults(parameters), JSON.stringify(tools[index]?.inputSchema)).toEqual([]);
    }
  });
});

describe("a bomb", () => {
  const nest = (levels: number, wrap: (inner: JsonValue) => JsonValue): JsonObject => {
    let schema: JsonValue = { type: "string" };
    for (let level = 0; level < levels; level++) schema = wrap(schema);
    return { type: "object", properties: { p: schema } };
  };
  const doubling = (count: number): JsonObject => {
    const part = (index: number) => ({ $ref: `#/$defs/d${index}` });
    const defs = Array.from({ length: count }, (_, index) => [
      `d${index}`,
      { type: "object", properties: { l: part(index + 1), r: part(index + 1) }, required: ["l"] },
    ]);
    return { type: "object", properties: { p: part(0) }, $defs: Object.fromEntries(defs) };
  };
  const wide = (count: number, make: (index: number) => JsonValue): JsonObject => {
    return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, make(index)]));
  };
  const long = Array.from({ length: 20_000 }, (_, index) => ({ properties: { [`p${index}`]: { type: "string" } } }));
  const BOMBS: Readonly<Record<string, JsonObject>> = {
    "objects 20,000 deep": nest(20_000, (inner) => ({ type: "object", properties: { p: inner }, required: ["p"] })),
    "lists 20,000 deep": nest(20_000, (inner) => ({ type: "array", items: inner })),
    "alternatives 20,000 deep": nest(20_000, (inner) => ({ anyOf: [inner, { type: "null" }] })),
    "sums 20,000 deep": nest(20_000, (inner) => ({ allOf: [inner] })),
    "negations 20,000 deep": nest(20_000, (inner) => ({ not: inner })),
    "references that double 60 times": doubling(60),
    "alternatives that double 40 times": nest(40, (inner) => ({
      type: "object",
      items: inner,
      anyOf: [{ minItems: 1 }, { minItems: 2 }],
    })),
    "products of alternatives": {
      type: "object",
      properties: {
        p: {
          allOf: Array.from({ length: 30 }, (_, i) => ({ anyOf: [{ minimum: i }, { maxLength: i }, { minItems: i }] })),
        },
      },
    },
    "20,000 sums": { type: "object", allOf: long },
    "20,000 forms": { type: "object", anyOf: long },
    "100,000 values": {
      type: "object",
      properties: { p: { enum: Array.from({ length: 100_000 }, (_, index) => `v${index}`) } },
    },
    "a deep default": {
      type: "object",
      properties: { p: { default: nest(20_000, (inner) => [inner]), enum: [nest(20_000, (inner) => [inner])] } },
    },
    "a root that refers to itself": { $ref: "#" },
    "two that refer to each other": {
      $ref: "#/$defs/a",
      $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
    },
    "a long reference": { type: "object", properties: { p: { $ref: `#/${"a/".repeat(1_000_000)}` } } },
    "100,000 properties": { type: "object", properties: wide(100_000, () => ({ type: "string" })) },
  };

  test.each(Object.keys(BOMBS))("of %s is compiled or refused in no time", (name) => {
    const bomb = BOMBS[name] ?? {};
    for (const dialect of DIALECTS) {
      const start = performance.now();
      const form = compileSchema(bomb, dialect);
      // Far above what it takes (50 ms), for the sake of busy machines; a bomb that goes off takes minutes.
      expect(performance.now() - start).toBeLessThan(2_000);
      if (!form.ok) expect(form.reason).not.toBe("");
      else if (dialect !== "plain") expect(JSON.stringify(form.schema).length).toBeLessThan(5_000_000);
    }
  });

  test("is told from a large schema: 3,000 properties compile for every provider", () => {
    const raw: JsonObject = {
      type: "object",
      properties: wide(3_000, (index) => ({ type: "string", description: `Number ${index}.`, minLength: 1 })),
      required: Array.from({ length: 3_000 }, (_, index) => `p${index}`),
    };
    for (const dialect of DIALECTS) {
      const form = compileSchema(raw, dialect, { strict: true });
      expect(form.ok).toBe(true);
      if (!form.ok) continue;
      expect(form.schema["required"]).toHaveLength(3_000);
      expect(jsonSchemaFaults(form.schema)).toEqual([]);
    }
  });
});
