// The cursor of a page that nobody has read: found where servers put it, and never taken from what lies inside of a text.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import { nextCursorIn } from "./lists.js";

const find = (text: string) => nextCursorIn({ head: text.slice(0, 1_024), tail: text.slice(-1_024) });
const LONG = "x".repeat(5_000);

describe("the next cursor", () => {
  test.each([
    ["a server by hand", `{"jsonrpc":"2.0","id":7,"result":{"tools":["${LONG}"],"nextCursor":"250"}}`, "250"],
    ["the TypeScript SDK", `{"result":{"tools":["${LONG}"],"nextCursor":"a="},"jsonrpc":"2.0","id":7}`, "a="],
    ["an id before the version", `{"result":{"tools":["${LONG}"],"nextCursor":"ü"},"id":"z","jsonrpc":"2.0"}\r`, "ü"],
    ["the Python SDK", `{"jsonrpc":"2.0","id":7,"result":{"nextCursor":"p2","tools":["${LONG}"]}}`, "p2"],
    ["spaces", ` { "jsonrpc" : "2.0" , "result" : { "nextCursor" : "p 2" , "tools":["${LONG}"] } , "id" : 1 } `, "p 2"],
    ["no tools", `{"result":{"nextCursor":"1"}}`, "1"],
  ])("is found as written by %s", (_, text, expected) => {
    expect(find(text)).toBe(expected);
  });

  test.each([
    ["there is none", `{"jsonrpc":"2.0","id":7,"result":{"tools":["${LONG}"]}}`],
    ["it is empty", `{"result":{"tools":["${LONG}"],"nextCursor":""}}`],
    ["it is null", `{"result":{"tools":["${LONG}"],"nextCursor":null}}`],
    ["it has escapes", String.raw`{"result":{"tools":["${LONG}"],"nextCursor":"a\"b"}}`],
    ["it stands in a tool", `{"result":{"tools":[{"a":"${LONG}","nextCursor":"1"}]}}`],
    ["it stands in a text", String.raw`{"result":{"tools":["${LONG},\"nextCursor\":\"1\"}}"]}}`],
    ["it ends a key", String.raw`{"result":{"tools":["${LONG}"],"a\"nextCursor":"1"}}`],
    ["the message is an error", `{"id":7,"error":{"code":1,"message":"${LONG}"}}`],
  ])("is not seen when %s", (_, text) => {
    expect(find(text)).toBeUndefined();
  });

  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(`"nextCursor":"1"}}`, `,"nextCursor":"2"},"jsonrpc":"2.0","id":3}`, `\\","nextCursor":"3"}}`),
  );
  const value: fc.Arbitrary<unknown> = fc.oneof(texts, fc.dictionary(texts, fc.oneof(texts, fc.integer())));
  const result = fc
    .tuple(fc.array(value, { maxLength: 5 }), fc.option(texts), fc.boolean(), fc.dictionary(texts, value))
    .map(([tools, cursor, isFirst, rest]): JsonObject => {
      const given = cursor === null ? {} : { nextCursor: cursor };
      return JSON.parse(JSON.stringify(isFirst ? { ...given, tools, ...rest } : { ...rest, tools, ...given }));
    });

  test("is the one of the result or none, whatever the texts in it say", () => {
    fc.assert(
      fc.property(result, fc.integer(), fc.nat(2), (page, id, order) => {
        const head = { jsonrpc: "2.0", id };
        const message =
          order === 0 ? { ...head, result: page } : order === 1 ? { result: page, ...head } : { result: page };
        const found = find(JSON.stringify(message));
        if (found !== undefined) expect(found).toBe(page["nextCursor"]);
      }),
      { numRuns: 2_000 },
    );
  });
});
