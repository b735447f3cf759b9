// The values that a text holds.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blank, scan } from "./spans.js";

function found(text: string): unknown[] {
  return scan(text).map(({ kind, value }) => [kind, value]);
}

describe("scan", () => {
  test.each([
    [
      "add 2 and 40",
      [
        ["number", 2],
        ["number", 40],
      ],
    ],
    [
      "-3, 1,000 and 2.5e3",
      [
        ["number", -3],
        ["number", 1000],
        ["number", 2500],
      ],
    ],
    [
      "7-3",
      [
        ["number", 7],
        ["number", 3],
      ],
    ],
    [
      "800x600",
      [
        ["number", 800],
        ["number", 600],
      ],
    ],
    [
      "wait 5s, 20%",
      [
        ["number", 5],
        ["number", 20],
      ],
    ],
    ["version v1.2 of page2", []],
    ['say "hello there" now', [["quoted", "hello there"]]],
    ["don't use 'it's fine' here", [["quoted", "it's fine"]]],
    [
      "“curly” and `code`",
      [
        ["quoted", "curly"],
        ["quoted", "code"],
      ],
    ],
    ["read notes/a.txt.", [["path", "notes/a.txt"]]],
    [
      "README.md, ./b and ~/c",
      [
        ["path", "README.md"],
        ["path", "./b"],
        ["path", "~/c"],
      ],
    ],
    [
      "find **/*.ts in . please",
      [
        ["path", "**/*.ts"],
        ["path", "."],
      ],
    ],
    ["C:\\Users\\me\\a.txt", [["path", "C:\\Users\\me\\a.txt"]]],
    ["list the files in /", [["path", "/"]]],
    [
      "12 / 4 // 2",
      [
        ["number", 12],
        ["number", 4],
        ["number", 2],
      ],
    ],
    ["e.g. this and/or that, etc.", []],
    ["open https://example.com/a?b=c.", [["url", "https://example.com/a?b=c"]]],
    ['call {"a": [1, "}"]} now', [["json", { a: [1, "}"] }]]],
    ["broken {json and [brackets", []],
  ])("finds the values of %j", (text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  test("never fails; its spans are in order, apart, and where they say they are", () => {
    const part = fc.oneof(
      fc.string(),
      fc.json(),
      fc.webUrl(),
      fc.constantFrom("'", '"', "{", "a/b", "1.2", "*", "-", " "),
    );
    fc.assert(
      fc.property(
        fc.array(part).map((parts) => parts.join("")),
        (text) => {
          let last = 0;
          for (const { start, end } of scan(text)) {
            expect(start).toBeGreaterThanOrEqual(last);
            expect(end).toBeGreaterThan(start);
            expect(end).toBeLessThanOrEqual(text.length);
            last = end;
          }
        },
      ),
    );
  });
});

test("blanking keeps every position, whatever the order and overlap of the ranges", () => {
  expect(
    blank("abcdef", [
      { start: 3, end: 5 },
      { start: 1, end: 4 },
    ]),
  ).toBe("a    f");
  const range = fc
    .tuple(fc.nat(20), fc.nat(20))
    .map(([one, other]) => ({ start: Math.min(one, other), end: Math.max(one, other) }));
  fc.assert(
    fc.property(fc.string({ minLength: 20, maxLength: 20 }), fc.array(range), (text, ranges) => {
      const result = blank(text, ranges);
      expect(result).toHaveLength(text.length);
      for (let at = 0; at < text.length; at++) {
        const isBlanked = ranges.some(({ start, end }) => at >= start && at < end);
        expect(result[at]).toBe(isBlanked ? " " : text[at]);
      }
    }),
  );
});
