// What is clipped stays within its bounds and is made of the start and the end of the whole, whatever stands there.
import fc from "fast-check";
import { expect, test } from "vitest";
import { markForeign } from "../../base/text/marking.js";
import { bytesFrom, endOf, fits, headWithin, lineCount, startOf, tailWithin } from "./blocks.js";

const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.string({ unit: "binary", maxLength: 100 }),
  fc
    .array(fc.constantFrom("a", "\n", "é", "日", "👍", "\x1b", "\r\n"), { maxLength: 200 })
    .map((parts) => parts.join("")),
);
const bound = fc.record({ maxBytes: fc.integer({ min: 0, max: 200 }), maxLines: fc.integer({ min: 0, max: 30 }) });

test("head and tail keep to the bytes and lines they may take", () => {
  fc.assert(
    fc.property(anyText, bound, (whole, limit) => {
      for (const part of [headWithin(whole, limit), tailWithin(whole, limit)]) {
        expect(Buffer.byteLength(part)).toBeLessThanOrEqual(limit.maxBytes);
        if (part !== "") expect(lineCount(part, 1_000)).toBeLessThanOrEqual(Math.max(1, limit.maxLines));
        expect(markForeign(part)).toBe(part);
      }
    }),
    { numRuns: 1_000 },
  );
});

test("of plain text they are its start and its end, all of it when there is room", () => {
  const plain = fc.string({ unit: fc.constantFrom("a", "b", "\n", "é", "日", "👍"), maxLength: 300 });
  fc.assert(
    fc.property(plain, bound, (whole, limit) => {
      expect(whole.startsWith(headWithin(whole, limit))).toBe(true);
      expect(whole.endsWith(tailWithin(whole, limit))).toBe(true);
      if (!fits(whole, limit)) return;
      expect(headWithin(whole, limit)).toBe(whole);
      expect(tailWithin(whole, limit)).toBe(whole);
    }),
    { numRuns: 1_000 },
  );
});

test("a cut falls on the end of a line where one is near", () => {
  const whole = "a line of text\n".repeat(100);
  expect(headWithin(whole, { maxBytes: 100, maxLines: 50 })).toBe("a line of text\n".repeat(6).slice(0, -1));
  expect(tailWithin(whole, { maxBytes: 100, maxLines: 50 })).toBe("a line of text\n".repeat(6));
});

test("start and end of several texts are those of the texts one below the other", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 8 }), { maxLength: 8 }),
      fc.integer({ min: 1, max: 40 }),
      (texts, chars) => {
        const whole = texts.join("\n");
        expect(startOf(texts, chars)).toBe(whole.slice(0, chars));
        expect(endOf(texts, chars)).toBe(whole.slice(-chars));
      },
    ),
  );
});

test("bytes are cut between characters", () => {
  expect(bytesFrom("日本語", 7)).toBe("日本");
  expect(bytesFrom("ab👍", 5)).toBe("ab");
  expect(bytesFrom("ab👍", 6)).toBe("ab👍");
});
