// Output against its schema: right verdicts, and no schema or value that can hold the event loop.

import fc from "fast-check";
import { expect, test } from "vitest";
import { longestStandstillMs } from "../../../test/standstill.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { checkAgainstSchema } from "../../base/schema/schema-check.js";
import { fakeWorld } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { OUTPUT_CHECK } from "./call.js";

async function verdict(schema: JsonObject, value: JsonValue): Promise<string> {
  const found = await checkAgainstSchema(schema, value, fakeWorld(), OUTPUT_CHECK);
  return found.kind === "misfit" ? (found.problems[0] ?? "") : found.kind;
}

// As text: an object with a `then` of its own looks like a promise to those who read the code.
const conditional: JsonObject = JSON.parse('{"if":{"type":"number"},"then":{"minimum":1},"else":false}');
const undecided: JsonObject = JSON.parse('{"if":{"pattern":"(?=a)"},"then":false}');

const tree: JsonObject = {
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, n: { type: "integer" } } } },
  $ref: "#/$defs/node",
};

test.each<[string, JsonObject, JsonValue]>([
  ["types", { type: ["string", "null"] }, null],
  ["an integer written as 1.0", { type: "integer" }, 1],
  ["enum with objects, whatever the order of keys", { enum: [{ a: 1, b: 2 }] }, { b: 2, a: 1 }],
  ["const null", { const: null }, null],
  ["limits of numbers", { minimum: 1, exclusiveMaximum: 3, multipleOf: 0.1 }, 2.3],
  ["length in characters", { maxLength: 1 }, "\u{1f600}"],
  ["pattern", { pattern: "^a+$" }, "aaa"],
  ["tuples", { prefixItems: [{ type: "string" }], items: { type: "number" } }, ["a", 1, 2]],
  ["tuples of old", { items: [{ type: "string" }], additionalItems: false }, ["a"]],
  ["contains", { contains: { const: 1 }, minContains: 2, maxContains: 2 }, [1, 2, 1]],
  ["no contains needed", { contains: { const: 1 }, minContains: 0 }, []],
  ["uniqueItems", { uniqueItems: true }, [1, "1", { a: 1 }, { a: 2 }]],
  ["properties", { properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }, { a: "" }],
  [
    "patternProperties",
    { patternProperties: { "^x-": { type: "number" } }, additionalProperties: false },
    { "x-a": 1 },
  ],
  ["dependencies", { dependentRequired: { a: ["b"] }, dependencies: { c: { required: ["d"] } } }, { a: 1, b: 1 }],
  ["anyOf", { anyOf: [{ type: "string" }, { type: "number" }] }, 1],
  ["oneOf", { oneOf: [{ type: "string" }, { type: "number" }] }, 1],
  ["not", { not: { type: "string" } }, 1],
  ["if, then", conditional, 1],
  ["recursive references", tree, { next: { next: { n: 1 } } }],
  ["references by anchor", { $defs: { a: { $anchor: "A", type: "string" } }, $ref: "#A" }, "x"],
  ["references with escapes", { $defs: { "a/b~c%": { type: "string" } }, $ref: "#/$defs/a~1b~0c%25" }, "x"],
  [
    "references by the schema's own id",
    { $id: "https://x.test/s", $defs: { a: true }, $ref: "https://x.test/s#/$defs/a" },
    1,
  ],
  [
    "old references, which stand for all beside them",
    { $schema: "http://json-schema.org/draft-07/schema#", $defs: { a: true }, $ref: "#/$defs/a", type: "string" },
    1,
  ],
  ["formats, which are only hints", { format: "email" }, "no mail"],
  ["keywords nobody knows", { "x-thing": 1, type: "strange" }, 1],
  [
    "properties named like those of every object",
    { required: ["__proto__", "toString"] },
    JSON.parse('{"__proto__":1,"toString":2}'),
  ],
])("fits: %s", async (_, schema, value) => {
  expect(await verdict(schema, value)).toBe("fits");
});

test.each<[string, JsonObject, JsonValue]>([
  ["the value must be of type object", { type: "object" }, []],
  ["the value must be of type string or null", { type: ["string", "null"] }, 1],
  ["/a/0 must be of type integer", { properties: { a: { items: { type: "integer" } } } }, { a: [1.5] }],
  ["the value must be one of the values its schema names", { enum: ["a", "b"] }, "c"],
  ["the value must be the one value its schema names", { const: { a: 1 } }, { a: 2 }],
  ["the value is too small", { exclusiveMinimum: 1 }, 1],
  ["the value is too large", { maximum: 1, exclusiveMaximum: true }, 1],
  ["the value is no multiple of 0.1", { multipleOf: 0.1 }, 0.25],
  ["the value is shorter than 2", { minLength: 2 }, "\u{1f600}"],
  ["the value does not match the pattern ^a$", { pattern: "^a$" }, "b"],
  ["the value has more than 1 items", { maxItems: 1 }, [1, 2]],
  [
    "the value has the same item twice",
    { uniqueItems: true },
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
  ],
  ["the value lacks an item it must contain", { contains: { const: 1 } }, [2]],
  ['the value lacks the required property "__proto__"', { required: ["__proto__"] }, {}],
  ["/b is a property that is not allowed", { properties: { a: true }, additionalProperties: false }, { b: 1 }],
  ["/b must be of type number", { additionalProperties: { type: "number" } }, { b: "x" }],
  ["/B does not match the pattern ^[a-z]$", { propertyNames: { pattern: "^[a-z]$" } }, { B: 1 }],
  ['the value lacks "b", which "a" needs', { dependentRequired: { a: ["b"] } }, { a: 1 }],
  ["the value fits none of the 2 forms allowed", { anyOf: [{ type: "string" }, { type: "number" }] }, true],
  ["the value must be of type string", { anyOf: [{ type: "string" }] }, true],
  ["the value fits 2 of its forms where only one is allowed", { oneOf: [{}, true] }, 1],
  ["the value must not be what its schema excludes", { not: {} }, 1],
  ["the value is too small", conditional, 0],
  ["/next/next/n must be of type integer", tree, { next: { next: { n: "x" } } }],
  ["/a nothing is allowed here", { properties: { a: false } }, { a: 1 }],
])("does not fit: %s", async (warning, schema, value) => {
  expect(await verdict(schema, value)).toBe(warning);
});

test.each<[string, JsonObject, JsonValue]>([
  ["a reference out of the schema, which is never fetched", { $ref: "https://x.test/schema.json" }, 1],
  ["a reference to nowhere", { $ref: "#/$defs/none" }, 1],
  ["a dynamic reference", { $dynamicRef: "#node" }, 1],
  ["references in a schema made of several", { $defs: { a: { $id: "a" } }, $ref: "#/$defs/a" }, 1],
  ["a pattern with lookahead", { pattern: "^(?=a)" }, "b"],
  ["the opposite of what cannot be decided", { not: { pattern: "(?=a)" } }, "b"],
  ["one of two that cannot be decided", { oneOf: [{ pattern: "(?=a)" }, { type: "number" }] }, "b"],
  ["a condition that cannot be decided", undecided, "b"],
  [
    "properties whose patterns cannot be decided",
    { patternProperties: { "(?=a)": {} }, additionalProperties: false },
    { b: 1 },
  ],
  ["unevaluated properties", { unevaluatedProperties: false }, { b: 1 }],
  ["a list where a schema belongs", { properties: { a: [] } }, { a: 1 }],
])("is left undecided: %s", async (_, schema, value) => {
  expect(await verdict(schema, value)).toBe("unchecked");
});

test("what is decided against the value counts, however much else is undecided", async () => {
  expect(await verdict({ $ref: "https://x.test", type: "string" }, 1)).toBe("the value must be of type string");
});

const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type: "string", minLength: 1 }]));
const values = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, "x"]));
const doubling: JsonObject = Object.fromEntries(
  Array.from({ length: 60 }, (_, level) => [
    `l${level}`,
    { anyOf: [{ $ref: `#/$defs/l${level + 1}` }, { $ref: `#/$defs/l${level + 1}` }] },
  ]),
);
const classes = Array.from({ length: 600 }, (_, index) => `[\\p{L}${String.fromCodePoint(0x4e00 + index)}]`);

const HOSTILE: readonly [string, JsonObject, JsonValue, string | RegExp][] = [
  ["^(a+)+$ on 33 characters", { pattern: "^(a+)+$" }, `${"a".repeat(32)}!`, /does not match/],
  ["^(a+)+$ on a megabyte", { pattern: "^(a+)+$" }, `${"a".repeat(1_000_000)}!`, "unchecked"],
  [
    "3,000 properties",
    { type: "object", properties: properties(3_000), required: Object.keys(properties(3_000)) },
    values(3_000),
    "fits",
  ],
  ["a reference to itself", { $ref: "#" }, 1, "unchecked"],
  [
    "references in a circle",
    { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
    1,
    "unchecked",
  ],
  ["branches that double at every level", { $defs: { ...doubling, l60: false }, $ref: "#/$defs/l0" }, 1, "unchecked"],
  [
    "an enum of 40,000",
    { enum: Array.from({ length: 40_000 }, (_, index) => `v${index}`) },
    "none",
    /one of the values/,
  ],
  ["an enum of a million", { enum: Array.from({ length: 1_000_000 }, (_, index) => index) }, "none", "unchecked"],
  ["uniqueItems on 10,000 lists", { uniqueItems: true }, Array.from({ length: 10_000 }, (_, index) => [index]), "fits"],
  [
    "uniqueItems on 1,000,000 numbers",
    { uniqueItems: true },
    Array.from({ length: 1_000_000 }, (_, index) => index),
    "unchecked",
  ],
  [
    "uniqueItems on long texts",
    { uniqueItems: true },
    Array.from({ length: 100 }, (_, index) => `${index}${"x".repeat(9_000)}`),
    "unchecked",
  ],
  ["100,000 levels of value", {}, JSON.parse("[".repeat(100_000) + "]".repeat(100_000)), "unchecked"],
  [
    "100,000 levels of schema",
    { items: JSON.parse(`${'{"items":'.repeat(99_999)}{}${"}".repeat(99_999)}`) },
    [],
    "unchecked",
  ],
  ["classes that are slow to prepare", { pattern: `^${classes.join("")}$` }, "x", "unchecked"],
  [
    "patterns for every name",
    { patternProperties: Object.fromEntries(classes.map((name) => [`${name}{1,50}`, {}])) },
    values(1_000),
    "unchecked",
  ],
  [
    "a long text measured at every branch",
    { allOf: Array.from({ length: 9_000 }, () => ({ not: { maxLength: 99_000 } })) },
    "x".repeat(100_000),
    "unchecked",
  ],
];

test.each(HOSTILE)("is decided or given up by its cost alone: %s", async (_, schema, value, expected) => {
  const found = await verdict(schema, value);
  if (typeof expected === "string") expect(found).toBe(expected);
  else expect(found).toMatch(expected);
});

test.each(HOSTILE)("does not hold the event loop: %s", async (_, schema, value) => {
  const world = nodeWorld();
  expect(
    await longestStandstillMs(async () => checkAgainstSchema({ ...schema }, value, world, OUTPUT_CHECK)),
  ).toBeLessThan(50);
});

test("many answers at once are checked a few per turn of the event loop", async () => {
  const real = nodeWorld();
  // Each look at the clock is a millisecond later, so that the pace of the machine decides nothing.
  let nowMs = 0;
  let turns = 0;
  const world: World = Object.assign(Object.create(real), {
    monotonicMs: () => {
      nowMs += 1;
      return nowMs;
    },
    soon: (run: () => void) => {
      turns += 1;
      setImmediate(run);
    },
  });
  const checks = Array.from({ length: 50 }, async () =>
    checkAgainstSchema({ pattern: "^(a+)+$" }, "aa!", world, OUTPUT_CHECK),
  );
  await Promise.all(checks);
  // 50 checks of three lumps each; a turn has its share after five milliseconds of them.
  expect(turns).toBeGreaterThan(20);
});

test("any schema and any value get a verdict", async () => {
  const keyword = fc.constantFrom(
    ...[
      "type",
      "enum",
      "const",
      "pattern",
      "items",
      "prefixItems",
      "contains",
      "minContains",
      "properties",
      "required",
    ],
    ...["patternProperties", "additionalProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then"],
    ...["$ref", "$defs", "minimum", "multipleOf", "uniqueItems", "dependentRequired", "maxLength", "__proto__"],
  );
  const word = fc.constantFrom("string", "object", "array", "#", "#/$defs/a", "^a", "a", "(");
  const { schema } = fc.letrec<{ schema: JsonObject; value: JsonValue }>((tie) => ({
    schema: fc.dictionary(keyword, tie("value"), { maxKeys: 5 }),
    value: fc.oneof(
      { depthSize: "small" },
      fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null)),
      tie("schema"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "__proto__"), tie("value"), { maxKeys: 3 }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(schema, fc.jsonValue(), async (given, value) => {
      const json: JsonValue = JSON.parse(JSON.stringify(value));
      expect(typeof (await verdict(given, json))).toBe("string");
    }),
    { numRuns: 500 },
  );
});
