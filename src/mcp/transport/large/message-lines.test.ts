// Lines out of bytes: the same messages whatever the cuts, and a word for everything that is none.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../../base/json/json.js";
import { fakeWorld } from "../../../testing/index.js";
import { MessageLines } from "./message-lines.js";

function reader(): { lines: MessageLines; values: JsonValue[]; noise: string[] } {
  const values: JsonValue[] = [];
  const noise: string[] = [];
  const lines = new MessageLines(
    { world: fakeWorld(), folder: () => "/nowhere" },
    {
      onValue: (value) => values.push(value),
      onLost: (_, error) => noise.push(error.message),
      onNoise: (what) => noise.push(what),
      onFull: () => {},
    },
  );
  return { lines, values, noise };
}

test("messages of any length come whole and in order, however the bytes are cut", async () => {
  const text = fc
    .tuple(fc.string({ unit: "grapheme" }), fc.nat(60_000))
    .map(([piece, count]) => piece.repeat(Math.ceil(count / 20)).slice(0, count));
  const cut = fc.oneof(fc.nat(20), fc.nat(40_000), fc.nat(400_000));
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { maxLength: 8 }),
      fc.array(cut, { minLength: 1, maxLength: 30 }),
      fc.boolean(),
      async (texts, sizes, endsOpen) => {
        const all = Buffer.from(texts.map((one) => JSON.stringify({ one })).join("\n") + (endsOpen ? "" : "\n"));
        const { lines, values, noise } = reader();
        for (let at = 0, turn = 0; at < all.length; turn++) {
          const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
          const chunk = Buffer.from(all.subarray(at, at + size));
          lines.push(chunk);
          at += size;
        }
        await lines.end();
        expect(values).toEqual(texts.map((one) => ({ one })));
        expect(noise).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});

test("a line that is no JSON is told with its start, and empty ones are nothing", async () => {
  const { lines, values, noise } = reader();
  lines.push(Buffer.from(`\n \r\n${"no json ".repeat(1_000)}\n{"a":1}\n{"b":`));
  await lines.end();
  expect(values).toEqual([{ a: 1 }]);
  expect(noise.map((what) => what.slice(0, 24))).toEqual(["no JSON: no json no json", 'no JSON: {"b":']);
});
