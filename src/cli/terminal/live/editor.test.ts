// Editing several lines: words, wide characters, pasted text.
import { describe, expect, it } from "vitest";
import { watchEventLoop } from "../../../testing/lab/index.js";
import { Editor } from "./editor.js";
import { KeyDecoder } from "./keys.js";

function typed(...chunks: readonly string[]): Editor {
  const [editor, decoder] = [new Editor(), new KeyDecoder()];
  for (const chunk of chunks) for (const key of decoder.push(chunk)) editor.press(key);
  return editor;
}

describe("Editor", () => {
  it.each([
    ["Shift-Enter", "\u001b[13;2u"],
    ["Alt-Enter", "\u001b\r"],
    ["Ctrl-J", "\n"],
    ["a backslash and Enter", "\\\r"],
  ])("breaks the line at %s", (_, keys) => {
    expect(typed("one", keys, "two").whole).toBe("one\ntwo");
  });

  it("removes and moves by what a person takes for a character", () => {
    expect(typed("a👩‍👩‍👧‍👦", "\u007f").text).toBe("a");
    expect(typed("你好", "\u001b[D", "\u007f").text).toBe("好");
  });

  it("kills words and lines, and gives them back", () => {
    expect(typed("one two", "\u0017").text).toBe("one ");
    expect(typed("one two", "\u0015", "x", "\u0019").text).toBe("xone two");
    expect(typed("one two", "\u0001", "\u001bd").text).toBe(" two");
    const lines = typed("one\n", "two");
    lines.set("one\ntwo", 3);
    lines.erase("line", 1);
    expect(lines.text).toBe("onetwo");
  });

  it("knows words from other marks and blanks, also in a very long text", async () => {
    for (const [text, left] of [
      ["one two  ", "one "],
      ["a.b::", "a.b"],
      ["wörd_1", ""],
      ["x 👍👍", "x "],
      ["  ", ""],
    ] as const) {
      const editor = typed();
      editor.set(text, text.length);
      editor.erase("word", -1);
      expect(editor.text).toBe(left);
    }
    const editor = typed();
    const long = `${"a".repeat(60_000)}==`;
    editor.set(long, long.length);
    const { longestMs } = await watchEventLoop(async () => editor.erase("word", -1));
    expect(editor.text).toBe(long.slice(0, -2));
    expect(longestMs).toBeLessThan(50);
  });

  it("shows long pasted text by its size, sends all of it, and removes it as one", () => {
    const text = Array.from({ length: 30 }, (_, index) => `line ${index}`).join("\n");
    const editor = typed("see ", `\u001b[200~${text}\u001b[201~`, " end");
    expect(editor.text).toBe("see [Pasted text 1: 30 lines] end");
    expect(editor.whole).toBe(`see ${text} end`);
    const removed = typed("see ", `\u001b[200~${text}\u001b[201~`, "\u007f");
    expect(removed.text).toBe("see ");
  });

  it("says of pasted text that is longer than is taken that its end is missing", () => {
    const editor = typed(`\u001b[200~${"x".repeat(5_000_000)}\u001b[201~`);
    expect(editor.text).toBe("[Pasted text 1: 4194304 characters, too long: its end is left out]");
    expect(editor.whole).toHaveLength(4_194_304);
    expect(typed(`\u001b[200~${"x".repeat(4_194_304)}\u001b[201~`).text).toBe("[Pasted text 1: 4194304 characters]");
  });

  it("never makes a command for the shell of several pasted lines, nor any command of some that are not shown", () => {
    const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;
    expect(typed(paste("![badge](x)\nrm -rf .")).whole).toBe(" ![badge](x)\nrm -rf .");
    expect(typed(paste(`!${"x".repeat(2_000)}`)).whole).toBe(`Pasted text:\n!${"x".repeat(2_000)}`);
    expect(typed(paste(`!a${"\nb".repeat(30)}`)).whole).toBe(`Pasted text:\n !a${"\nb".repeat(30)}`);
    const add = `/mcp add x -- sh -c 'run'${"\nb".repeat(30)}`;
    expect(typed(paste(`\n${add}`)).whole).toBe(`Pasted text:\n\n${add}`);
    expect(typed("a", paste(add), "\u0001", "\u001b[3~").whole).toBe(`Pasted text:\n${add}`);
    expect(typed(paste("/help")).whole).toBe("/help");
    expect(typed(paste("!npm test")).whole).toBe("!npm test");
    expect(typed("!", paste("a\nb")).whole).toBe("!a\nb");
    expect(typed("see ", paste("!a\nb")).whole).toBe("see !a\nb");
  });

  it("puts the cursor where it belongs in wrapped lines of wide characters", () => {
    const editor = typed("你好世界你好");
    const { lines, row, column } = editor.view("> ", 2, 11);
    expect(lines).toEqual(["> 你好世界", "  你好"]);
    expect([row, column]).toEqual([1, 6]);
  });

  it("breaks lines between words, and words that are longer than a line where they end", () => {
    const shown = (text: string) => typed(text).view("> ", 2, 11);
    expect(shown("one two three").lines).toEqual(["> one two ", "  three"]);
    expect(shown("12345678 9")).toEqual({ lines: ["> 12345678 ", "  9"], row: 1, column: 3 });
    expect(shown("one 1234567890").lines).toEqual(["> one ", "  12345678", "  90"]);
    // Nothing is behind the blank at the edge: the cursor stays in the window.
    expect(shown("12345678 ")).toEqual({ lines: ["> 12345678 "], row: 0, column: 10 });
    expect(shown("")).toEqual({ lines: ["> "], row: 0, column: 2 });
  });

  it("makes hidden characters visible", () => {
    expect(typed("\u001b[200~a\u001b[2Jb\u202e\u001b[201~").view("> ", 2, 80).lines).toEqual(["> a␛[2Jb<U+202E>"]);
  });
});
