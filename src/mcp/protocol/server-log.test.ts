// Log entries of servers: any JSON becomes one bounded line.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import { readServerLog } from "./peer.js";

test("text is kept, data becomes JSON, what is missing has a default", () => {
  expect(readServerLog({ level: "error", logger: "db", data: "down" })).toEqual({
    level: "error",
    logger: "db",
    text: "down",
  });
  expect(readServerLog({ data: { a: [1, null, "x"] } })).toEqual({ level: "info", text: '{"a":[1,null,"x"]}' });
  expect(readServerLog({ level: 3, logger: {} })).toEqual({ level: "info", text: "null" });
});

test("however much a server logs, the text stays short and comes at once", () => {
  let deep: JsonObject = { end: true };
  for (let level = 0; level < 50_000; level++) deep = { deep };
  const wide = Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`k${n}`, n]));
  for (const data of [deep, wide, "x".repeat(1_000_000), [wide, wide], { ["k".repeat(100_000)]: 1 }]) {
    expect(readServerLog({ data }).text.length).toBeLessThan(5_000);
  }
});

test("no data makes it throw", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (data) => {
      const wired: JsonObject = JSON.parse(JSON.stringify({ data }));
      expect(typeof readServerLog(wired).text).toBe("string");
    }),
  );
});
