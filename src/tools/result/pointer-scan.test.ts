// The place that is found is the one a parser would find, however the text is cut.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../base/json/json.js";
import { valueAtPointer } from "../../base/json/json.js";
import { PointerScan, type ScanResult } from "./pointer-scan.js";

function scan(json: string, steps: readonly string[], partBytes = 1_000): ScanResult {
  const bytes = Buffer.from(json);
  const machine = new PointerScan(steps);
  for (let start = 0; start < bytes.length; start += partBytes) {
    const result = machine.push(bytes.subarray(start, start + partBytes));
    if (result) return result;
  }
  return machine.end();
}

function found(json: string, steps: readonly string[], partBytes?: number): unknown {
  const result = scan(json, steps, partBytes);
  if (result.kind !== "found") return undefined;
  const value: unknown = JSON.parse(Buffer.from(json).subarray(result.start, result.end).toString());
  return value;
}

test("every place of any value is found, and nothing where there is nothing", () => {
  const value: fc.Arbitrary<JsonValue> = fc.jsonValue({ maxDepth: 5, stringUnit: "grapheme" });
  const step = fc.oneof(fc.constantFrom("0", "1", "2", "01", "-", "", "a", "__proto__"), fc.string({ maxLength: 3 }));
  fc.assert(
    fc.property(value, fc.array(step, { maxLength: 3 }), fc.boolean(), fc.integer({ min: 1, max: 9 }), (...given) => {
      const [whole, steps, isSpaced, partBytes] = given;
      const json = JSON.stringify(whole, null, isSpaced ? 2 : 0);
      const pointer = steps.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
      const wanted = valueAtPointer(JSON.parse(json), pointer);
      expect(found(json, steps, partBytes)).toEqual(wanted);
    }),
    { numRuns: 1_000 },
  );
});

test("places that are there are found at any depth", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (raw) => {
      const json = JSON.stringify(raw);
      const whole: JsonValue = JSON.parse(json);
      for (const [steps, value] of places(whole, [])) expect(found(json, steps, 7)).toEqual(value);
    }),
  );
});

function* places(value: JsonValue, steps: readonly string[]): Generator<[readonly string[], JsonValue]> {
  yield [steps, value];
  if (typeof value !== "object" || value === null) return;
  const keys = new Set<string>();
  for (const [key, inner] of Object.entries(value)) {
    if (keys.has(key) || inner === undefined) continue;
    keys.add(key);
    yield* places(inner, [...steps, key]);
  }
}

test.each([
  ['{"rows":[1,2]}', ["rows", "2"], { kind: "missing", steps: 1, reason: "it is a list of 2" }],
  ['{"rows":[]}', ["rows", "0"], { kind: "missing", steps: 1, reason: "it is an empty list" }],
  [
    '{"rows":[1]}',
    ["rows", "-"],
    { kind: "missing", steps: 1, reason: 'it is a list, and "-" is no index (0, 1, 2…)' },
  ],
  ['{"a":{}}', ["a", "b"], { kind: "missing", steps: 1, reason: 'it has no key "b"' }],
  ['{"a":1}', ["a", "b"], { kind: "missing", steps: 1, reason: "there is a plain value, with nothing inside" }],
  ["hello {", ["a"], { kind: "missing", steps: 0, reason: "there is a plain value, with nothing inside" }],
  ['{"a":[1,', ["a", "5"], { kind: "not_json", at: 8 }],
  ["{a:1}", ["a"], { kind: "not_json", at: 1 }],
  ["", [], { kind: "not_json", at: 0 }],
  ["# no", [], { kind: "not_json", at: 0 }],
  ['{"a" 1}', ["a"], { kind: "not_json", at: 5 }],
])("%s at %j", (json, steps, expected) => expect(scan(json, steps)).toEqual(expected));

test("deep nesting and long keys beside the way cost nothing but time", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  expect(found(`{"${"k".repeat(100_000)}":1,"deep":${deep},"x":"here"}`, ["x"])).toBe("here");
  expect(found(`{"\\u0061\\/b":[true]}`, ["a/b", "0"])).toBe(true);
});
