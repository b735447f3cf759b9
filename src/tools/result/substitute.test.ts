// References in arguments become what they stand for, nothing else does, and every refusal says why.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { fakeWorld } from "../../testing/index.js";
import { TOOL_LIMITS } from "../limits.js";
import { ResultStore } from "./store.js";
import { substituteResults } from "./substitute.js";

const ORIGIN = { origin: "s / t" };
const ROWS = { rows: [{ name: "Ada" }, { name: "Bo/b" }], "a/b": { "~": [true] }, text: "x".repeat(70_000) };

/** r1: a text, r2: JSON, r3: base64, r4: a text that is JSON. */
async function filled(): Promise<ResultStore> {
  const store = new ResultStore({ world: fakeWorld() });
  await store.keepText(["first\nsecond"], ORIGIN);
  await store.keepJson(ROWS, ORIGIN);
  await store.keepBase64("AAEC", { ...ORIGIN, mimeType: "image/png" });
  await store.keepText([' {"n": 1}\n'], ORIGIN);
  return store;
}

async function into(value: JsonValue): Promise<JsonValue | undefined> {
  const done = await substituteResults({ value }, await filled());
  if (!done.ok) throw new Error(done.reason);
  return done.arguments["value"];
}

async function refusal(value: JsonValue): Promise<string> {
  const done = await substituteResults({ value }, await filled());
  return done.ok ? "it was not refused" : done.reason;
}

test.each<[string, JsonValue, JsonValue]>([
  ["the whole text", { $result: "r1" }, "first\nsecond"],
  ["a value of JSON", { $result: "r2", pointer: "/rows/1/name" }, "Bo/b"],
  ["an object of JSON", { $result: "r2", pointer: "/rows/0" }, { name: "Ada" }],
  ["escaped steps", { $result: "r2", pointer: "/a~1b/~0/0" }, true],
  ["a text that is JSON", { $result: "r4", pointer: "" }, { n: 1 }],
  ["that text as it is", { $result: "r4" }, ' {"n": 1}\n'],
  ["a long text", { $result: "r2", pointer: "/text" }, ROWS.text],
  ["bytes as base64", { $result: "r3" }, "AAEC"],
  ["anywhere inside", [{ deep: [{ $result: "r2", pointer: "/rows/0/name" }, 1] }], [{ deep: ["Ada", 1] }]],
  ["written as a text", '{"$result":"r2","pointer":"/rows/0/name"}', "Ada"],
])("a reference becomes %s", async (_, value, expected) => expect(await into(value)).toEqual(expected));

describe("what is no reference stays as it is", () => {
  test.each<[string, JsonValue]>([
    ["an object with other keys", { $result: "r1", other: 1 }],
    ["a value that is no text", { $result: 5 }],
    ["a pointer that is no text", { $result: "r1", pointer: 5 }],
    ["a text about one", 'use {"$result":"r1"} here'],
    ["a text that breaks off", '{"$result":"r1"'],
    ["an object of that name inside a text with more", '{"$result":"r1","x":1}'],
  ])("%s", async (_, value) => expect(await into(value)).toEqual(value));

  test("any arguments without the key are handed back as the same object", async () => {
    const store = await filled();
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (raw) => {
        const given: JsonObject = JSON.parse(JSON.stringify(raw));
        const done = await substituteResults(given, store);
        expect(done.ok && done.arguments).toBe(given);
      }),
    );
  });
});

test("one more $ means the object itself, as an object and as a text", async () => {
  expect(await into({ $$result: "r1" })).toEqual({ $result: "r1" });
  expect(await into({ $$$result: "r1", pointer: "/x" })).toEqual({ $$result: "r1", pointer: "/x" });
  expect(await into('{"$$result":"r1"}')).toBe('{"$result":"r1"}');
  expect(await into([{ $$result: "r1" }, { $result: "r1" }])).toEqual([{ $result: "r1" }, "first\nsecond"]);
});

test("what is put in is not looked through again", async () => {
  const store = new ResultStore({ world: fakeWorld() });
  await store.keepText(["secret"], ORIGIN);
  await store.keepJson({ inner: { $result: "r1" }, text: '{"$result":"r1"}' }, ORIGIN);
  const given = { a: { $result: "r2", pointer: "/inner" }, b: { $result: "r2", pointer: "/text" } };
  const done = await substituteResults(given, store);
  expect(done).toMatchObject({ ok: true, arguments: { a: { $result: "r1" }, b: '{"$result":"r1"}' } });
});

test("a key named __proto__ stays a key", async () => {
  const value: JsonValue = JSON.parse('{"__proto__":{"$result":"r1"}}');
  const made = await into(value);
  expect(isJsonObject(made) && Object.entries(made)).toEqual([["__proto__", "first\nsecond"]]);
});

test("what was put in is told, for journals and people", async () => {
  const given = { a: { $result: "r1" }, b: { $result: "r2", pointer: "/rows/0/name" } };
  expect(await substituteResults(given, await filled())).toMatchObject({
    inserted: [
      { handle: "r1", bytes: 12 },
      { handle: "r2", pointer: "/rows/0/name", bytes: 5 },
    ],
  });
});

describe("refusals", () => {
  test.each<[string, JsonValue, RegExp]>([
    ["an unknown handle", { $result: "r9" }, /there is no result r9; there are r1, r2, r3, r4\. .*"\$\$result"/],
    ["no handle", { $result: "last" }, /"last" is no handle of a result/],
    [
      "a place where nothing is",
      { $result: "r2", pointer: "/rows/7" },
      /nothing at "\/rows\/7": of r2 at "\/rows", it is a list of 2/,
    ],
    ["no pointer", { $result: "r2", pointer: "rows" }, /"rows" is no JSON pointer/],
    ["a pointer into what is no JSON", { $result: "r1", pointer: "/a" }, /nothing at "\/a"|not JSON/],
    ["all of what is no JSON", { $result: "r1", pointer: "" }, /not JSON/],
    ["a pointer into bytes", { $result: "r3", pointer: "/a" }, /r3 is no text/],
    [
      "too many",
      Array.from({ length: TOOL_LIMITS.resultInsert.max + 1 }, () => ({ $result: "r1" })),
      /at most 64 results/,
    ],
  ])("%s", async (_, value, words) => expect(await refusal(value)).toMatch(words));

  test("the arguments as a whole", async () => {
    expect(await substituteResults({ $result: "r1" }, await filled())).toMatchObject({
      ok: false,
      reason: expect.stringContaining("the arguments as a whole"),
    });
  });

  test("a list too long to be parsed in passing, but not a text of that size", async () => {
    const store = new ResultStore({ world: fakeWorld() });
    const size = TOOL_LIMITS.resultInsert.maxParsedBytes;
    await store.keepJson({ list: ["x".repeat(size)], text: "y".repeat(size) }, ORIGIN);
    const list = await substituteResults({ a: { $result: "r1", pointer: "/list" } }, store);
    expect(list).toMatchObject({ ok: false, reason: expect.stringMatching(/at most 2097152 can be put in, unless/) });
    const long = await substituteResults({ a: { $result: "r1", pointer: "/text" } }, store);
    expect(long).toMatchObject({ ok: true, arguments: { a: "y".repeat(size) } });
  });

  test("a result that is gone, and a session that has none yet", async () => {
    const store = new ResultStore({ world: fakeWorld(), folder: "/r", maxBytes: 10 });
    expect(await substituteResults({ a: { $result: "r1" } }, store)).toMatchObject({
      reason: expect.stringContaining("no result is kept in this session yet"),
    });
    await store.keepText(["12345678"], ORIGIN);
    await store.keepText(["12345678"], ORIGIN);
    expect(await substituteResults({ a: { $result: "r1" } }, store)).toMatchObject({
      reason: expect.stringContaining("r1 is no longer kept"),
    });
  });
});
