// The canonical form: stable under key order, faithful to the value, not to be brought down by depth.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, isJsonObject, type JsonValue, parseJson } from "./json.js";

function parsed(text: string): JsonValue {
  const result = parseJson(text);
  if (!result.ok) throw new Error(result.reason);
  return result.value;
}

/** The same value with the keys of every object in another order. */
function reordered(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reordered);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(
    ([key, field]) => [key, field === undefined ? undefined : reordered(field)] as const,
  );
  return Object.fromEntries(entries.reverse());
}

const key = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("__proto__", "constructor", "toString", "1", "10", "2", "é", "😀"),
);
const { value: anyJson } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

describe("canonicalJson", () => {
  test("gives one text for a value, in whatever order its keys come", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(canonicalJson(reordered(value))).toBe(canonicalJson(value));
      }),
      { numRuns: 1_000 },
    );
  });

  test("loses nothing: the text parses to the value, `__proto__` keys included", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = canonicalJson(value);
        expect(parsed(text)).toEqual(parsed(JSON.stringify(value)));
        expect(canonicalJson(parsed(text))).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  test("differs for values that differ only below a `__proto__` key", () => {
    const one = parsed('{"__proto__":{"a":1},"b":2}');
    expect(canonicalJson(one)).toBe('{"__proto__":{"a":1},"b":2}');
    expect(canonicalJson(parsed('{"b":2,"__proto__":{"a":1}}'))).toBe(canonicalJson(one));
    expect(canonicalJson(parsed('{"__proto__":{"a":2},"b":2}'))).not.toBe(canonicalJson(one));
    expect(canonicalJson(parsed('{"b":2}'))).not.toBe(canonicalJson(one));
  });

  test("sorts by code unit, keeps the order of arrays, leaves undefined fields out", () => {
    expect(canonicalJson({ b: [3, 1, { z: null, a: "x" }], B: true, 10: 1, 9: 2, gone: undefined })).toBe(
      '{"10":1,"9":2,"B":true,"b":[3,1,{"a":"x","z":null}]}',
    );
    for (const [value, text] of [
      ["\ud800", '"\\ud800"'],
      [-0, "0"],
      [[], "[]"],
      [{}, "{}"],
      [{ a: undefined }, "{}"],
      [null, "null"],
    ] as const) {
      expect(canonicalJson(value)).toBe(text);
    }
  });

  test("takes nesting deeper than the call stack", () => {
    const depth = 200_000;
    const text = '{"a":['.repeat(depth) + "]}".repeat(depth);
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  });
});

describe("isJsonObject", () => {
  test("is true for objects, not for arrays, null and primitives", () => {
    for (const value of [{}, { a: 1 }, Object.create(null)]) expect(isJsonObject(value)).toBe(true);
    for (const value of [[], null, undefined, 0, "", true, () => {}]) expect(isJsonObject(value)).toBe(false);
  });
});

describe("parseJson", () => {
  test("refuses what is nested deeper than the limit, and names the limit", () => {
    const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
    expect(parseJson(nested(256)).ok).toBe(true);
    for (const text of [nested(257), nested(4_500), nested(1_000_000), `{"a":${nested(256)}}`, `${nested(300)} `])
      expect(parseJson(text)).toEqual({ ok: false, isDeep: true, reason: expect.stringContaining("256") });
    expect(parseJson(nested(300), 300).ok).toBe(true);
  });

  test("counts no brackets in strings, and no siblings", () => {
    const text = JSON.stringify({ a: `${'[{"\\'.repeat(250_000)}`, b: Array.from({ length: 60_000 }, () => [[{}]]) });
    expect(parseJson(text).ok).toBe(true);
  });

  test("finds depth as a plain recursion does, in short texts and in long ones", () => {
    const depthOf = (value: unknown): number =>
      typeof value === "object" && value !== null
        ? 1 + Math.max(0, ...Object.values(value).map((field) => depthOf(field)))
        : 0;
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 0, max: 6 }), fc.boolean(), (value, maxDepth, isLong) => {
        const text = JSON.stringify(isLong ? { ...{ pad: "x".repeat(1_100_000) }, value } : { value });
        expect(parseJson(text, maxDepth).ok).toBe(depthOf({ value }) <= maxDepth);
      }),
      { numRuns: 200 },
    );
  });

  test("gives back any value from its text, and a reason for a text that is none", () => {
    fc.assert(
      fc.property(anyJson, fc.constantFrom("", "{", "]", "nul", "'a'", "{a:1}", "1,"), (value, broken) => {
        const result = parseJson(JSON.stringify(value));
        expect(result).toEqual({ ok: true, value: parsed(canonicalJson(value)) });
        expect(parseJson(broken)).toEqual({ ok: false, isDeep: false, reason: expect.stringMatching(/JSON/) });
      }),
    );
  });
});
