// The head of a message is found wherever its id and method stand, however the bytes are cut up.
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MessageHeadFinder } from "./ndjson.js";

function headOf(text: string, chunkBytes = 7) {
  const finder = new MessageHeadFinder();
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += chunkBytes) finder.feed(bytes.subarray(start, start + chunkBytes));
  return finder.head;
}

test.each([
  ['{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"id":8}}', { id: 7, hasMethod: true }],
  ['{"method":"m","params":{"id":8,"a":["{\\"id\\":9}"]},"id":"x\\"y"}', { id: 'x"y', hasMethod: true }],
  ['{"result":{"method":"no","id":1},"id":-12}', { id: -12, hasMethod: false }],
  ['{ "id" : 5 }', { id: 5, hasMethod: false }],
  ['{"method":"m","params":"\\\\\\\\"}', { hasMethod: true }],
  ['{"id":null,"method":"m"}', { hasMethod: true }],
  ['{"id":[[1]],"method":"m"}', { hasMethod: true }],
  ['["id",7,"method"]', { hasMethod: true }],
  [`{"id":"${"x".repeat(5_000)}","method":"m"}`, { hasMethod: true }],
  ["not json at all", { hasMethod: false }],
])("%s", (text, expected) => {
  for (const chunkBytes of [1, 2, 7, 100_000]) expect(headOf(text, chunkBytes)).toEqual(expected);
});

test("it agrees with the parser on any message", () => {
  const id = fc.oneof(fc.string(), fc.integer());
  const message = fc.record({ id, method: fc.string(), params: fc.jsonValue(), x: fc.string() }, { requiredKeys: [] });
  fc.assert(
    fc.property(message, fc.integer({ min: 1, max: 40 }), (value, chunkBytes) => {
      const expected = {
        ...(value.id === undefined ? {} : { id: value.id }),
        hasMethod: value.method !== undefined,
      };
      expect(headOf(JSON.stringify(value), chunkBytes)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});
