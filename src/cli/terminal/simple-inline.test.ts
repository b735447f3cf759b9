// The single pass over simple text must come to what the Markdown parser makes of it.
import fc from "fast-check";
import { Lexer } from "marked";
import { describe, expect, it } from "vitest";
import { simpleInline } from "./simple-inline.js";

const parsed = (text: string) => new Lexer({ gfm: true }).inlineTokens(text);

describe("simpleInline", () => {
  it("reads words, code and bold", () => {
    const text = "The function **reads** the `file` twice: once in `open()` (**slow**), and\nonce more — 你好.";
    expect(simpleInline(text)?.map(({ type }) => type)).toEqual([
      ...["text", "strong", "text", "codespan", "text", "codespan", "text", "strong", "text"],
    ]);
    expect(simpleInline(text)).toEqual(parsed(text));
  });

  it.each([
    "a **b",
    "`a",
    "a*b*",
    "snake_case_name",
    "[a](b)",
    "see https://example.com",
    "a  \nb",
    "``a``",
    "<b>",
    "a&amp;b",
    "**www.b**",
  ])("leaves %s to the parser", (text) => {
    expect(simpleInline(text)).toBeUndefined();
  });

  it("never reads anything in another way than the parser", () => {
    const unit = fc.constantFrom(
      ..."a b 1 . , ; : ( ) ' \" - # | é 你 🙂 \n `x` ** **x** **a b** ` * _ www. http:// // @ \\".split(" "),
      " ",
      "  ",
    );
    let simple = 0;
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 14 }), (text) => {
        const tokens = simpleInline(text);
        if (!tokens) return;
        simple += 1;
        expect(tokens).toEqual(parsed(text));
      }),
      { numRuns: 3_000 },
    );
    expect(simple).toBeGreaterThan(300);
  });
});
