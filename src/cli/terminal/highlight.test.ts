// What is coloured in code, as tags.
import { describe, expect, it } from "vitest";
import { Highlighter } from "./highlight.js";
import { createPalette } from "./stream.js";

const tag = (name: string) => (text: string) => `<${name}>${text}</${name}>`;
const palette = {
  ...createPalette(false),
  ...{ dim: tag("c"), green: tag("t"), magenta: tag("w"), yellow: tag("n"), red: tag("-"), cyan: tag("@") },
};

function coloured(language: string, code: string): string[] {
  const highlighter = new Highlighter(palette, language);
  return code.split("\n").map((line) => highlighter.line(line));
}

describe("Highlighter", () => {
  it("colours key words, texts, numbers and comments, and nothing inside of names", () => {
    expect(coloured("ts", "const if2 = iffy + 0x1f + 1_000.5; // const")).toEqual([
      "<w>const</w> if2 = iffy + <n>0x1f</n> + <n>1_000.5</n>; <c>// const</c>",
    ]);
    expect(coloured("ts", 'say("a \\" b", \'c\'); élse $if')).toEqual([
      'say(<t>"a \\" b"</t>, <t>\'c\'</t>); élse $if',
    ]);
  });

  it("goes on with comments and texts over lines", () => {
    expect(coloured("ts", "a /* one\ntwo */ if\n`x\n1` 2")).toEqual([
      "a <c>/*</c><c> one</c>",
      "<c>two */</c> <w>if</w>",
      "<t>`</t><t>x</t>",
      "<t>1`</t> <n>2</n>",
    ]);
    expect(coloured("python", '"""x\n# y""" # z')).toEqual(['<t>"""</t><t>x</t>', '<t># y"""</t> <c># z</c>']);
  });

  it("takes no comment from an address or a word, and no text from an apostrophe", () => {
    expect(coloured("yaml", "url: http://x/#a # b")).toEqual(["url: http://x/#a <c># b</c>"]);
    expect(coloured("sh", "echo $# don't")).toEqual(["echo $# don<t>'</t>t"]);
  });

  it("colours changes by their first character, and leaves other languages alone", () => {
    expect(coloured("diff", "+a\n-b\n@@ c\n d")).toEqual(["<t>+a</t>", "<->-b</->", "<@>@@ c</@>", " d"]);
    expect(coloured("klingon", "if 1")).toEqual(["if 1"]);
  });

  it("looks at a line that is not whole without remembering it", () => {
    const highlighter = new Highlighter(palette, "ts");
    expect(highlighter.copy().line("/* a")).toBe("<c>/*</c><c> a</c>");
    expect(highlighter.line("if")).toBe("<w>if</w>");
  });
});
