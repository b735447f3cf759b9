// A change of a file: what a person reads before they say yes.
import { expect, it } from "vitest";
import { renderDiff } from "./diff.js";
import { fuzzyScore } from "./live/completion.js";
import { createPalette } from "./stream.js";
import { displayWidth } from "./text.js";

const palette = createPalette(false);

it("shows changed lines with their numbers and what is around them, and folds the rest", () => {
  const old = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join("");
  const { title, lines } = renderDiff(
    { path: "a.ts", oldText: old, newText: old.replace("line 10\n", "ten\nand\n") },
    palette,
  );
  expect(title).toBe("a.ts (+2 −1)");
  expect(lines).toEqual([
    "   ⋮ 6 unchanged lines",
    ...[" 7   line 7", " 8   line 8", " 9   line 9"],
    ...["10 - line 10", "10 + ten", "11 + and"],
    ...["12   line 11", "13   line 12", "14   line 13"],
    "   ⋮ 7 unchanged lines",
  ]);
});

it("says that a file is new, and makes what is hidden visible", () => {
  const { title, lines } = renderDiff({ path: "a\u001b.ts", oldText: null, newText: "x\u202ey\n" }, palette);
  expect(title).toBe("a␛.ts new file (+1 −0)");
  expect(lines).toEqual(["1 + x<U+202E>y"]);
});

it("counts cells as terminals do", () => {
  const widths: readonly (readonly [string, number])[] = [
    ["abc", 3],
    ["你好", 4],
    ["👩‍👩‍👧‍👦", 2],
    ["❤️", 2],
    ["🇩🇪", 2],
    ["1️⃣", 2],
    ["é", 1],
    ["🧑🏽‍🚀", 2],
    ["می‌خواهم", 7],
  ];
  for (const [text, width] of widths) expect([text, displayWidth(text)]).toEqual([text, width]);
});

it("finds names by letters in their order, the nearest first", () => {
  const best = (word: string, names: readonly string[]) =>
    [...names]
      .filter((name) => fuzzyScore(word, name) !== undefined)
      .sort((a, b) => (fuzzyScore(word, b) ?? 0) - (fuzzyScore(word, a) ?? 0))[0];
  expect(best("ch", ["attach", "chat", "c/h"])).toBe("chat");
  expect(best("sct", ["src/cli/text.ts", "select", "scout"])).toBe("scout");
  expect(fuzzyScore("xyz", "abc")).toBeUndefined();
});
