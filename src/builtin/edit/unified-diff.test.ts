// A diff, applied to the old text, gives the new one.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LIMITS } from "../../base/limits.js";
import { diffLines, splitLines } from "./line-diff.js";
import { unifiedDiff } from "./unified-diff.js";

const lines = fc.array(fc.constantFrom("a", "b", "c", "", "\\ x", "- y"), { maxLength: 40 });
const text = fc
  .tuple(lines, fc.boolean())
  .map(([all, isEnded]) => all.join("\n") + (isEnded && all.length > 0 ? "\n" : ""));

/** What `patch` does, without any leniency: context and removed lines must be there. */
function patch(oldText: string, diff: string): string {
  const before = splitLines(oldText);
  const after: string[] = [];
  let at = 0;
  let last: string[] = [];
  for (const line of diff === "" ? [] : diff.split("\n")) {
    const header = /^@@ -(\d+),(\d+) \+\d+,\d+ @@$/u.exec(line);
    if (header) {
      const start = header[2] === "0" ? Number(header[1]) : Number(header[1]) - 1;
      after.push(...before.slice(at, start));
      at = start;
    } else if (line.startsWith("\\ No newline")) {
      if (last === after) after.push((after.pop() ?? "").replace(/\n$/u, ""));
    } else if (line.startsWith("+")) {
      after.push(`${line.slice(1)}\n`);
      last = after;
    } else {
      const found = before[at++];
      expect(found?.replace(/\n$/u, "")).toBe(line.slice(1));
      last = before;
      if (line.startsWith(" ")) after.push(found ?? "");
    }
  }
  return [...after, ...before.slice(at)].join("");
}

test("for any two texts", () => {
  fc.assert(
    fc.property(text, text, (oldText, newText) => {
      const diff = unifiedDiff(oldText, newText);
      expect(patch(oldText, diff.text)).toBe(newText);
      expect(diff.text === "").toBe(oldText === newText);
      expect(diff.added - diff.removed).toBe(splitLines(newText).length - splitLines(oldText).length);
    }),
    { numRuns: 1_000 },
  );
});

test("no shorter way from one text to the other is missed", () => {
  const table = (before: readonly string[], after: readonly string[]) => {
    let row = Array.from({ length: after.length + 1 }, () => 0);
    for (const one of before) {
      const next = [0];
      for (const [index, other] of after.entries()) {
        next.push(one === other ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
      }
      row = next;
    }
    return row[after.length] ?? 0;
  };
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const removed = diffLines(before, after).reduce((sum, change) => sum + change.oldEnd - change.oldStart, 0);
      expect(before.length - removed).toBe(table(before, after));
    }),
  );
});

test("two long texts with nothing in common end as one change, soon", () => {
  const before = Array.from({ length: 50_000 }, (_, index) => `a${index}\n`);
  const after = Array.from({ length: 50_000 }, (_, index) => `b${index}\n`);
  expect(diffLines(before, after)).toEqual([{ oldStart: 0, oldEnd: 50_000, newStart: 0, newEnd: 50_000 }]);
  expect(LIMITS.diffMaxLines).toBeLessThan(50_000);
});
