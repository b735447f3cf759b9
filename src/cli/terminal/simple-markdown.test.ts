// The single pass over simple text must come to what the Markdown parser makes of it.
import fc from "fast-check";
import { Lexer } from "marked";
import { describe, expect, it } from "vitest";
import { simpleBlocks, simpleInline } from "./simple-markdown.js";

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
    "a **b*",
    "`a*",
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

/** Without the table of link targets that the parser puts on its list. */
const lexed = (text: string) => [...new Lexer({ gfm: true }).lex(text)];

describe("simpleBlocks", () => {
  it("reads headings, paragraphs, flat lists, quotes and tables", () => {
    const text = [
      "## What was **found**\n\nWords\nand `code`.\n\n1. **One**: this\n2. Two\n\n",
      "> Quoted\n> twice\n\n| a | b |\n|---|--:|\n| x | |\n| y\n\n\n",
      "```ts\nconst a = 1;\n\nmore();\n```\n\n- last\n\n~~~\nnot over\n\n",
    ].join("");
    const { tokens, length } = simpleBlocks(text, false);
    expect(length).toBe(text.length);
    expect(tokens).toEqual(lexed(text));
  });

  it.each([
    "- a\n\n- b",
    "- a\n\n  b",
    "- a\n  - b",
    "- [ ] a",
    "- - a",
    "- a\n* b",
    "a\n===",
    "a\n- b",
    "# a #",
    "> a\nb",
    "> > a",
    "    code",
    "| a |\n|---|---|\n| b |",
    "| a\\|b |\n|---|",
    "| A | B\n|---|---|",
    "| A | B |\n|---|---",
    "| a |\n|\t---|",
    "| a |\n|\u00a0---|",
    "|- \n|-|",
    "- ` ",
    "[a]: b",
    "<p>",
    "***",
  ])("leaves %j to the parser", (text) => {
    expect(simpleBlocks(text, false)).toEqual({ tokens: [], length: 0 });
  });

  it("takes the beginning of a table for words while its rule may go on", () => {
    const text = "| A | B\n|---|--";
    expect(simpleBlocks(text, true)).toMatchObject({ tokens: [{ type: "paragraph", text }], length: text.length });
    expect(simpleBlocks(text, false).length).toBe(0);
  });

  it("never reads anything in another way than the parser, whatever follows", () => {
    const unit = fc.constantFrom(
      ...[
        "\n",
        "\n",
        "\n\n",
        "\n\n",
        "# ",
        "## a",
        "- ",
        "- a",
        "* b",
        "1. ",
        "2. b",
        "3) c",
        "> ",
        "> a",
        "| a | b |",
        "|---|:-:|",
        "```ts\n",
        "\n```",
        "\n```\n",
      ],
      ..."|-| | -- == a b A# # . ` `x` **x** ** [a]: [x] [ ] <p> ``` ~~~ \\ \t : 你".split(" "),
      ...[" ", "  ", "    "],
    );
    let simple = 0;
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 14 }), (text) => {
        const { tokens, length } = simpleBlocks(text, false);
        if (length > 0) simple += 1;
        expect([...tokens, ...lexed(text.slice(length))]).toEqual(lexed(text));
      }),
      { numRuns: 10_000 },
    );
    expect(simple).toBeGreaterThan(1_000);
  });
});
