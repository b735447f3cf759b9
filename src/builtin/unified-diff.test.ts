// A diff, applied to the old text, gives the new one.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { BUILTIN_LIMITS } from "./limits.js";
import { editLimit, unifiedDiff } from "./unified-diff.js";

const lines = fc.array(fc.constantFrom("a", "b", "c", "", "\\ x", "- y"), { maxLength: 40 });
const text = fc
  .tuple(lines, fc.boolean())
  .map(([all, isEnded]) => all.join("\n") + (isEnded && all.length > 0 ? "\n" : ""));

/** With their line ends, so that a missing last one counts. */
function splitLines(whole: string): string[] {
  return whole.split(/(?<=\n)/u).filter((line) => line !== "");
}

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
      const joined = (all: readonly string[]) => all.map((line) => `${line}\n`).join("");
      const { removed } = unifiedDiff(joined(before), joined(after));
      expect(before.length - removed).toBe(table(before, after));
    }),
  );
});

test("two long texts with nothing in common end as one change", () => {
  const before = Array.from({ length: 50_000 }, (_, index) => `a${index}\n`).join("");
  const after = Array.from({ length: 50_000 }, (_, index) => `b${index}\n`).join("");
  const diff = unifiedDiff(before, after);
  expect(diff).toMatchObject({ added: 50_000, removed: 50_000, firstLine: 1 });
  expect(diff.text).toMatch(/^@@ -1,50000 \+1,50000 @@\n-a0\n-a1\n/u);
  expect(BUILTIN_LIMITS.diff.maxEdits).toBeLessThan(50_000);
});

test("a change in a long text is found where it is, and one too large to compare is shown in part", () => {
  const old = Array.from({ length: 130_000 }, (_, index) => `line ${index}\n`);
  const changed = old.with(70_000, "other\n").with(70_004, "more\n");
  const diff = unifiedDiff(old.join(""), changed.join(""));
  expect(diff).toMatchObject({ added: 2, removed: 2, firstLine: 70_001 });
  expect(diff.text).toMatch(/^@@ -69998,11 \+69998,11 @@\n line 69997\n/u);
  expect(patch(old.join(""), diff.text)).toBe(changed.join(""));
  const all = unifiedDiff(old.join(""), old.map((line) => `x${line}`).join(""));
  expect(all).toMatchObject({ added: 130_000, removed: 130_000, firstLine: 1 });
  expect(all.text.length).toBeLessThanOrEqual(BUILTIN_LIMITS.diff.maxShownBytes + 100);
  expect(all.text).toMatch(/\[The diff is cut here: it is too long to be shown\.\]$/u);
  const lines = unifiedDiff("\n".repeat(5_000_000), "x\n".repeat(2_500_000));
  expect(lines).toMatchObject({ added: 2_500_000, removed: 5_000_000 });
});

test("no two texts cost more steps than the limits allow", () => {
  const period = "a\nb\n".repeat(20_000);
  const pairs: [string, string][] = [
    [`x\n${period}m\n${period}`, `y\n${period}n\nn\nn\n${period}y`],
    ["\n".repeat(5_000_000), "x\n".repeat(2_500_000)],
    [`${"a".repeat(5_000_000)}x`, `${"a".repeat(5_000_000)}y`],
    [
      Array.from({ length: 130_000 }, (_, index) => `a${index}\n`).join(""),
      Array.from({ length: 130_000 }, (_, index) => `b${index}\n`).join(""),
    ],
    ...([1_000, 2_000, 3_000, 5_000].map((count) => [
      Array.from({ length: count }, (_, index) => `a${index % 7}\n`).join(""),
      Array.from({ length: count }, (_, index) => `a${index % 11}\n`).join(""),
    ]) satisfies [string, string][]),
  ];
  const { maxEdits, maxLines, maxComparedLines, maxComparedChars } = BUILTIN_LIMITS.diff;
  for (const [before, after] of pairs) {
    const edits = editLimit(before, after);
    const counts = [splitLines(before).length, splitLines(after).length] as const;
    expect(edits).toBeLessThanOrEqual(maxEdits);
    expect(edits * (counts[0] + counts[1])).toBeLessThanOrEqual(maxComparedLines);
    expect(edits * (before.length + after.length)).toBeLessThanOrEqual(maxComparedChars);
    if (Math.max(...counts) >= maxLines) expect(edits).toBe(0);
    // More edits than the limit: the texts count as wholly different, all lines of both but those at their common ends.
    const { added, removed } = unifiedDiff(before, after);
    if (added + removed > edits) expect(unifiedDiff(before, after).text.match(/^@@ /gmu)).toHaveLength(1);
  }
});

test("two changes far apart in 130,000 lines are two hunks, and nothing between them is compared twice", () => {
  const lines = Array.from({ length: 130_000 }, (_, index) => `line ${index}`);
  const changed = lines.with(10, "first").with(129_990, "second");
  const { text, added, removed, firstLine } = unifiedDiff(lines.join("\n"), changed.join("\n"));
  expect({ added, removed, firstLine }).toEqual({ added: 2, removed: 2, firstLine: 11 });
  expect(text.match(/^@@ .*$/gmu)).toEqual(["@@ -8,7 +8,7 @@", "@@ -129988,7 +129988,7 @@"]);
});
