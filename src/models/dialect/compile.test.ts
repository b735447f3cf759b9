// What becomes of each trap in a schema: kept where the provider has a word for it, told in words where it has not.
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { JsonObject, JsonSchema } from "../../base/json/json.js";
import type { DialectName } from "../model.js";
import { compileSchema } from "./compile.js";
import type { DialectOptions } from "./rules.js";

function formOf(raw: JsonSchema, dialect: DialectName = "anthropic", options: DialectOptions = {}): JsonObject {
  const form = compileSchema(raw, dialect, options);
  if (!form.ok) throw new Error(form.reason);
  return form.schema;
}

/** The form of one property. */
function property(schema: JsonSchema, dialect: DialectName = "anthropic", options: DialectOptions = {}): unknown {
  const { properties } = formOf({ type: "object", properties: { p: schema } }, dialect, options);
  return Object.entries(properties ?? {})[0]?.[1];
}

describe("the root", () => {
  test("is an object with properties, whatever it was", () => {
    expect(formOf({}, "openai-chat")).toEqual({ type: "object", properties: {} });
    expect(formOf({ type: ["object", "null"] })).toEqual({ type: "object", properties: {} });
    expect(
      formOf({ $schema: "https://json-schema.org/draft/2020-12/schema", $id: "x", "x-a": 1, type: "object" }),
    ).toEqual({
      type: "object",
      properties: {},
    });
  });

  test("of another type has no form", () => {
    expect(compileSchema({ type: "string" }, "anthropic")).toEqual({
      ok: false,
      reason: "its arguments are not an object but a string",
    });
    expect(compileSchema({ anyOf: [{ type: "string" }, { type: "array" }] }, "gemini").ok).toBe(false);
  });

  test("with alternatives becomes one object: shared requirements stay, the others are told", () => {
    const raw: JsonSchema = {
      oneOf: [
        { properties: { kind: { const: "id" }, id: { type: "string" } }, required: ["kind", "id"] },
        {
          title: "By name",
          properties: { kind: { const: "name" }, name: { type: "string" } },
          required: ["kind", "name"],
        },
      ],
    };
    expect(formOf(raw)).toEqual({
      type: "object",
      description:
        'At least one of these forms must hold: (1) needs "kind": "id" and "id"; (2) By name: needs "kind": "name" and "name".',
      properties: { kind: { type: "string", enum: ["id", "name"] }, id: { type: "string" }, name: { type: "string" } },
      required: ["kind"],
    });
  });

  test("with alternatives that only require keeps its own properties and says which must be given", () => {
    const raw: JsonSchema = {
      type: "object",
      properties: { project: { type: "string" }, title: { type: "string" }, body: { type: "string" } },
      required: ["project"],
      anyOf: [{ required: ["title"] }, { required: ["body"] }],
    };
    expect(formOf(raw, "openai-responses")).toMatchObject({
      description: 'At least one of these forms must hold: (1) needs "title"; (2) needs "body".',
      required: ["project"],
    });
  });

  test("made of parts is their sum", () => {
    const raw: JsonSchema = {
      allOf: [{ $ref: "#/$defs/base" }, { properties: { b: { type: "integer", minimum: 5 } }, required: ["b"] }],
      $defs: { base: { type: "object", properties: { a: true, b: { type: "number", minimum: 1 } }, required: ["a"] } },
    };
    expect(formOf(raw)).toEqual({
      type: "object",
      properties: { a: {}, b: { type: "integer", minimum: 5 } },
      required: ["a", "b"],
    });
  });

  test("with conditions shows the properties of every branch and tells the rule", () => {
    const raw: JsonSchema = JSON.parse(
      `{"type":"object","properties":{"kind":{"enum":["a","b"]}},"required":["kind"],
        "if":{"properties":{"kind":{"const":"a"}}},"then":{"properties":{"x":{"type":"string"}},"required":["x"]}}`,
    );
    const form = formOf(raw);
    expect(form["properties"]).toHaveProperty("x", { type: "string" });
    expect(form["description"]).toBe('If it is an object with "kind": "a", it must be an object with "x".');
  });
});

describe("references", () => {
  const tree: JsonSchema = {
    type: "object",
    properties: { root: { $ref: "#/$defs/Node", description: "The root." } },
    $defs: {
      Node: {
        type: "object",
        description: "A node.",
        properties: { id: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/Node" } } },
        required: ["id"],
      },
    },
  };

  test("are inlined; one that never ends becomes an open object that says so", () => {
    const node = {
      type: "object",
      description: 'Again of the form "Node", one level further in. Needs "id".',
      properties: {},
    };
    expect(formOf(tree)["properties"]).toEqual({
      root: {
        type: "object",
        description: "The root.",
        properties: { id: { type: "string" }, children: { type: "array", items: node } },
        required: ["id"],
      },
    });
  });

  test("that lead nowhere are named", () => {
    expect(property({ $ref: "https://example.com/a.json" })).toEqual({
      description: 'Its form is described elsewhere, as "a.json".',
    });
  });
});

describe("what a provider has no keyword for", () => {
  test.each<[DialectName, DialectOptions, string]>([
    ["gemini", {}, 'Words. At least 2 characters. Must match the pattern `^a+$`. Default: "aa".'],
    ["openai-compatible", {}, "Words. Must match the pattern `^a+$`."],
    ["anthropic", { strict: true }, "Words. At least 2 characters. Must match the pattern `^a+$`."],
    ["openai-chat", { strict: true }, 'Words. At least 2 characters. Default: "aa".'],
  ])("is told in words: %s %o", (dialect, options, told) => {
    const schema: JsonSchema = { type: "string", description: "Words.", minLength: 2, pattern: "^a+$", default: "aa" };
    const raw: JsonSchema = { type: "object", properties: { p: schema }, required: ["p"] };
    expect(formOf(raw, dialect, options)).toMatchObject({ properties: { p: { description: told } } });
  });

  test("is kept where it has one", () => {
    const schema: JsonSchema = { type: "string", minLength: 2, pattern: "^a+$", default: "aa", format: "uri" };
    expect(property(schema)).toEqual(schema);
    expect(property({ type: "number", exclusiveMinimum: 0 }, "openai-chat")).toEqual({
      type: "number",
      exclusiveMinimum: 0,
    });
    expect(property({ type: "number", exclusiveMinimum: 0 }, "gemini")).toEqual({
      type: "number",
      description: "Greater than 0.",
    });
  });

  test("of rules on keys and between properties stands in the description", () => {
    const raw: JsonSchema = {
      type: "object",
      properties: {
        map: { type: "object", propertyNames: { pattern: "^[a-z]+$" }, additionalProperties: { type: "number" } },
      },
      dependentRequired: { a: ["b"] },
      not: { required: ["c"] },
    };
    const form = formOf(raw);
    expect(form["description"]).toBe('If "a" is given, "b" must be given too. Must not be an object with "c".');
    expect(form["properties"]).toEqual({
      map: {
        type: "object",
        description: "Keys: Must match the pattern `^[a-z]+$`.",
        properties: {},
        additionalProperties: { type: "number" },
      },
    });
  });

  test("of patterns for keys becomes a form for all further keys", () => {
    const raw: JsonSchema = {
      type: "object",
      patternProperties: { "^x-": { type: "string" } },
      additionalProperties: false,
    };
    expect(property(raw)).toEqual({
      type: "object",
      description: "Keys matching ^x- hold a string.",
      properties: {},
      additionalProperties: { type: "string" },
    });
  });
});

describe("kinds and values", () => {
  test("a constant is a list of one", () => {
    expect(property({ const: "x" })).toEqual({ type: "string", enum: ["x"] });
    expect(property({ const: 3 }, "gemini")).toEqual({ type: "integer", description: "Must be 3." });
  });

  test("alternatives of single values are one list, with their words", () => {
    const schema: JsonSchema = {
      oneOf: [
        { const: "a", description: "First." },
        { const: "b", title: "Second" },
      ],
    };
    expect(property(schema)).toEqual({ type: "string", description: '"a": First.; "b": Second.', enum: ["a", "b"] });
  });

  test("null is said in each provider's way", () => {
    const schema: JsonSchema = { anyOf: [{ type: "string" }, { type: "null" }], description: "D." };
    expect(property(schema, "openai-chat")).toEqual({ type: ["string", "null"], description: "D." });
    expect(property(schema, "gemini")).toEqual({ anyOf: [{ type: "string", description: "D." }, { type: "null" }] });
    expect(property({ type: "string", nullable: true }, "anthropic")).toEqual({ type: ["string", "null"] });
  });

  test("nothing stands beside anyOf where that is refused, and a null among several forms stays", () => {
    const schema: JsonSchema = { type: ["string", "number", "null"], description: "D.", maxLength: 3, default: null };
    expect(property(schema, "gemini")).toEqual({
      anyOf: [
        { anyOf: [{ type: "string", description: "D. At most 3 characters. Default: null." }, { type: "null" }] },
        { type: "number" },
      ],
    });
  });

  test("a list says what it holds, and a tuple in which order", () => {
    expect(property({ type: "array" }, "openai-chat")).toEqual({ type: "array", items: {} });
    expect(property({ items: [{ type: "number" }, { type: "string" }], additionalItems: false }, "gemini")).toEqual({
      type: "array",
      description: "In this order: 1. a number; 2. a string. At most 2 items.",
      items: { anyOf: [{ type: "number" }, { type: "string" }] },
    });
  });

  test("a required property nobody described is described", () => {
    expect(formOf({ type: "object", required: ["q"] }, "gemini")).toMatchObject({
      required: ["q"],
      properties: { q: {} },
    });
  });
});

describe("strict", () => {
  const raw: JsonSchema = {
    type: "object",
    properties: {
      a: { type: "string" },
      b: { enum: ["x", "y"] },
      c: { type: "object", properties: { d: { type: "integer" } } },
    },
    required: ["a"],
  };

  test("for OpenAI requires everything, and what was optional may be null", () => {
    const form = compileSchema(raw, "openai-responses", { strict: true });
    expect(form).toMatchObject({ ok: true, strict: true });
    expect(form.ok && form.schema).toEqual({
      type: "object",
      properties: {
        a: { type: "string" },
        b: { type: ["string", "null"], enum: ["x", "y", null] },
        c: {
          type: ["object", "null"],
          properties: { d: { type: ["integer", "null"] } },
          required: ["d"],
          additionalProperties: false,
        },
      },
      required: ["a", "b", "c"],
      additionalProperties: false,
    });
  });

  test("arguments come back without the nulls that meant nothing", () => {
    const form = compileSchema(raw, "openai-responses", { strict: true });
    expect(form.ok && form.restore?.({ a: "1", b: null, c: { d: null } })).toEqual({ a: "1", c: {} });
    const kept: JsonSchema = { type: "object", properties: { n: { type: ["string", "null"] } } };
    const nullable = compileSchema(kept, "openai-responses", { strict: true });
    expect(nullable.ok && (nullable.restore?.({ n: null }) ?? { n: null })).toEqual({ n: null });
  });

  test("falls back where there is no strict form, unless it is required", () => {
    const free: JsonSchema = { type: "object", properties: { map: { type: "object", additionalProperties: true } } };
    expect(compileSchema(free, "openai-chat", { strict: true })).toMatchObject({
      ok: true,
      strict: false,
    });
    expect(compileSchema(free, "openai-chat", { strict: "required" })).toEqual({
      ok: false,
      reason: "it has no strict form: it has an object with keys of any name",
    });
  });

  test("is said to OpenAI in every case, and to others only where it holds", () => {
    expect(compileSchema(raw, "openai-responses")).toMatchObject({ strict: false });
    expect(compileSchema(raw, "anthropic")).not.toHaveProperty("strict");
    expect(compileSchema(raw, "anthropic", { strict: true })).toMatchObject({ strict: true });
    expect(compileSchema(raw, "gemini", { strict: true })).not.toHaveProperty("strict");
  });

  test("puts what tells forms apart first", () => {
    const form = (kind: string): JsonSchema => ({
      type: "object",
      properties: { name: { type: "string" }, kind: { const: kind } },
      required: ["name", "kind"],
    });
    const union: JsonSchema = { type: "object", properties: { u: { oneOf: [form("a"), form("b")] } } };
    const compiled = compileSchema(union, "openai-chat", { strict: true });
    expect(compiled).toMatchObject({ ok: true, strict: true });
    expect(JSON.stringify(compiled)).toMatch(/"kind":.*"name":.*"kind":.*"name":/);
  });
});

describe("names a provider refuses", () => {
  const raw: JsonSchema = JSON.parse(
    '{"type":"object","properties":{"filter[id]":{"type":"string"},"__proto__":{"type":"object","properties":{"$top":{}}}},"required":["filter[id]"]}',
  );

  test("are shown under others, which lead back", () => {
    const form = compileSchema(raw, "anthropic");
    if (!form.ok || form.restore === undefined) throw new Error("no form");
    const [id = "", proto = ""] = Object.keys(form.schema["properties"] ?? {});
    expect(id).toMatch(/^filter_id__[0-9a-f]{8}$/);
    expect(form.schema["required"]).toEqual([id]);
    expect(JSON.stringify(form.schema)).toContain(String.raw`The tool itself calls it \"filter[id]\".`);
    const inner = JSON.stringify(form.schema).match(/_top_[0-9a-f]{8}/)?.[0] ?? "";
    const args = form.restore({ [id]: "7", [proto]: { [inner]: 1, free: 2 } });
    expect(JSON.stringify(args)).toBe('{"filter[id]":"7","__proto__":{"$top":1,"free":2}}');
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
  });

  test("stay where they are taken", () => {
    const names = Object.keys(formOf(raw, "openai-chat")["properties"] ?? {});
    expect(names[0]).toBe("filter[id]");
    expect(names[1]).toMatch(/^__proto___/);
  });
});

describe("the plain form", () => {
  test("is the schema itself, unless its root must be told differently", () => {
    const raw: JsonSchema = { type: "object", properties: { a: { const: 1 } } };
    expect(formOf(raw, "plain")).toBe(raw);
    expect(formOf({ anyOf: [raw] }, "plain")).toEqual({
      type: "object",
      properties: { a: { type: "integer", enum: [1] } },
    });
  });
});

describe("a schema that says only what is usual", () => {
  const words = fc.constantFrom("a", "Some words.", "", " ", "[tenon: x]", "ä");
  const said = { description: words, title: words, "x-y": fc.constant(1) };
  const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(2 ** 53, 0.5, "1", true));
  const preset = fc.oneof(words, number, fc.constantFrom(null, [], {}));
  const optional = { requiredKeys: ["type" as const] };
  const name = fc.constantFrom("a", "b", "type", "properties", "", "a b", "constructor", "__proto__");
  const { usual } = fc.letrec<{ usual: JsonSchema }>((tie) => ({
    usual: fc.oneof(
      { maxDepth: 4 },
      fc.record(
        {
          ...said,
          type: fc.constantFrom("string", "integer", "number", "boolean", "null", "String"),
          enum: fc.array(fc.oneof({ weight: 8, arbitrary: words }, number), { maxLength: 3 }),
          minimum: number,
          maximum: number,
          minLength: number,
          maxLength: fc.oneof(number, fc.constant(101)),
          default: preset,
        },
        { requiredKeys: ["type"] },
      ),
      fc.record(
        { ...said, type: fc.constant("array"), items: tie("usual"), minItems: number, maxItems: number },
        optional,
      ),
      fc.record(
        {
          ...said,
          type: fc.constant("object"),
          properties: fc.dictionary(name, tie("usual"), { maxKeys: 4 }),
          required: fc.array(name, { maxLength: 3 }),
          additionalProperties: fc.oneof(fc.boolean(), tie("usual")),
        },
        optional,
      ),
    ),
  }));
  const dialects: readonly DialectName[] = [
    "anthropic",
    "openai-chat",
    "openai-responses",
    "gemini",
    "openai-compatible",
  ];

  test("has the form it has when something beside is ignored, which is read and written in full", () => {
    const properties = fc.dictionary(name, usual, { maxKeys: 4 });
    const root = fc.record({ type: fc.constant("object"), properties, required: fc.array(name, { maxLength: 3 }) });
    const isSame = (raw: JsonSchema, dialect: DialectName) => {
      const [short, long] = [raw, { ...raw, "x-ignored": 1 }].map((schema) => compileSchema(schema, dialect));
      expect(JSON.stringify(short)).toBe(JSON.stringify(long));
    };
    fc.assert(fc.property(root, fc.constantFrom(...dialects), isSame), { numRuns: 3_000 });
  });

  test("is refused where reading it in full would take too long", () => {
    const options = Array.from({ length: 200 }, (_, index) => `value-${index}`);
    const property = { type: "string", enum: options } as const;
    const properties = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`p${index}`, { ...property }]));
    const [short, long] = [{}, { "x-ignored": 1 }].map((more) => {
      return compileSchema({ type: "object", properties, ...more }, "anthropic");
    });
    expect(short).toEqual(long);
    expect(short?.ok).toBe(false);
  });

  test("takes no time that grows with properties times what is required", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 4_000 }, (_, index) => [`p${index}`, { type: "string" }]),
    );
    const required = Array.from({ length: 500_000 }, (_, index) => `other${index}`);
    const compared = vi.spyOn(Array.prototype, "includes");
    expect(compileSchema({ type: "object", properties, required }, "anthropic").ok).toBe(false);
    expect(compared.mock.contexts.some((list) => list === required)).toBe(false);
    compared.mockRestore();
  });
});
