// Markdown for a terminal: whole, and in pieces as a model sends it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderMarkdown } from "./markdown.js";
import { MarkdownStream } from "./markdown-stream.js";
import { createPalette, withoutStyles } from "./stream.js";
import { displayWidth } from "./text.js";

const PLAIN = { columns: 40, palette: createPalette(false) };

describe("renderMarkdown", () => {
  it("wraps between words, with hanging indents", () => {
    expect(
      renderMarkdown(
        "- a long item that does not fit into one line\n  1. inner item that is too long as well\n",
        PLAIN,
      ),
    ).toEqual(["• a long item that does not fit into one", "  line", "  1. inner item that is too long as well"]);
  });

  it("draws tables that fit, with cells that wrap", () => {
    const table = "| a | b |\n|---|--:|\n| short | 1 |\n| words that are too long for the window they are in | 22 |\n";
    const lines = renderMarkdown(table, PLAIN);
    expect(lines[1]).toMatch(/^─+┼─+$/u);
    expect(lines.every((line) => displayWidth(line) <= 40)).toBe(true);
  });

  it("leaves code as it is, longer than the window too", () => {
    expect(renderMarkdown(`\`\`\`\n${"x".repeat(60)}\n\`\`\``, PLAIN)).toEqual([`  ${"x".repeat(60)}`]);
  });

  it("shows where a link leads, and makes it clickable only in colour", () => {
    expect(renderMarkdown("[here](https://e.org/x)", PLAIN)).toEqual(["here (https://e.org/x)"]);
    const coloured = renderMarkdown("<https://e.org/x>", { columns: 40, palette: createPalette(true) }).join("");
    expect(coloured).toContain("\u001b]8;;https://e.org/x\u001b\\");
    expect(withoutStyles(coloured)).toBe("https://e.org/x");
  });

  it("puts no address of a model into an escape sequence that it could end", () => {
    const palette = createPalette(true);
    for (const url of ["javascript:alert(1)", "https://e.org/\u001b]0;x\u0007", "https://e.org/a b"])
      expect(palette.link("x", url)).toBe("x");
  });
});

const ENTITY_PARTS = [
  ...["&#27;", "&#x1b;", "&#7;", "&#155;", "&#x202e;", "&#8206;", "&#x2066;", "&#13;", "&#0;", "&amp;#27;", "&#127;"],
  ...["[", "](", ")", "<", ">", "`", "**", "*", "~~", "| ", "\n", "\n\n", "# ", "- ", "    ", "```\n", "|---|\n", "!"],
  ...["https://e.org/", "a", "b c", "<b>", "> ", "[x]: "],
];

describe("entities by number", () => {
  it("let no control character through, and nothing that reorders what is read", () => {
    expect(renderMarkdown("&#27;[2J", PLAIN)).toEqual(["␛[2J"]);
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...ENTITY_PARTS), { maxLength: 14 }), (parts) => {
        const shown = renderMarkdown(parts.join(""), PLAIN).join("\n");
        expect(shown).not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}/u);
        const coloured = renderMarkdown(parts.join(""), { ...PLAIN, palette: createPalette(true) }).join("\n");
        expect(withoutStyles(coloured)).not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}/u);
      }),
    );
  });
});

const BLOCKS = [
  "# head\n\n",
  "words **bold** and `code` here ",
  "and more\n\n",
  "- one\n- two\n\n",
  "1. a\n\n   b\n2. c\n\n",
  "```ts\nconst a = 1;\n\n/* x\n",
  "*/ y\n```\n\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
  "> quote\n\n",
  "---\n\n",
  "<b>raw</b>\n\n",
  "a\u001b[31m",
  "你好👩‍👧 ",
  "\r\n",
];

describe("MarkdownStream", () => {
  it("gives the same lines in the end, however the text is cut, and nothing that could be obeyed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...BLOCKS), { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (blocks, cuts) => {
          const text = blocks.join("");
          const stream = new MarkdownStream(() => PLAIN);
          const lines: string[] = [];
          for (let [at, index] = [0, 0]; at < text.length; index += 1) {
            const size = cuts[index % cuts.length] ?? 1;
            stream.push(text.slice(at, at + size));
            at += size;
            lines.push(...stream.take());
            stream.live();
          }
          lines.push(...stream.end());
          expect(lines.join("\n")).not.toContain("\u001b");
          // In one go, through the same door.
          const whole = new MarkdownStream(() => PLAIN);
          whole.push(text);
          const words = (all: readonly string[]) => all.join(" ").replaceAll(/[\s│─┼•\d.]+/gu, "");
          expect(words(lines)).toBe(words(whole.end()));
        },
      ),
    );
  });

  it("hands out finished blocks, items and lines of code at once, and shows the rest", () => {
    const stream = new MarkdownStream(() => PLAIN);
    stream.push("para\n\n- one\n- two");
    expect(stream.take()).toEqual(["para", "", "• one"]);
    expect(stream.live()).toEqual(["• two"]);
    stream.push("\n\n```js\nlet a;\nlet b");
    expect(stream.take()).toEqual(["• two", "", "  let a;"]);
    expect(stream.live()).toEqual(["  let b"]);
    stream.push(";\n```\nend");
    expect([...stream.take(), ...stream.end()]).toEqual(["  let b;", "", "end"]);
  });

  it("numbers a list as when it comes at once, and a table without rows is one", () => {
    const shown = (parts: readonly string[]) => {
      const stream = new MarkdownStream(() => PLAIN);
      const lines: string[] = [];
      for (const part of parts) {
        stream.push(part);
        lines.push(...stream.take());
        stream.live();
      }
      return [...lines, ...stream.end()];
    };
    const list = "3. a\n3. b\n3. c\n\nwords\n\n7. d\n7. e\n";
    for (const text of [list, "| A | B\n|---|---|\n\nwords", "| A | B |\n|---|---"]) {
      const whole = renderMarkdown(text, PLAIN);
      expect(shown([...text])).toEqual(whole);
      expect(shown([text])).toEqual(whole);
      expect(shown(text.split(/(?<=\n)/u))).toEqual(whole);
    }
    expect(renderMarkdown(list, PLAIN).slice(0, 3)).toEqual(["3. a", "4. b", "5. c"]);
  });

  it.each([
    ["quotes", ">".repeat(3_000)],
    ["lists", "- ".repeat(2_000)],
    ["numbers", "1. ".repeat(2_000)],
    ["both", "> - ".repeat(2_000)],
    ["lists over lines", Array.from({ length: 400 }, (_, at) => `${"  ".repeat(at)}- a`).join("\n")],
    ["quotes over lines", Array.from({ length: 400 }, (_, at) => `${">".repeat(at)} a`).join("\n")],
    ["brackets", "[".repeat(20_000)],
  ])("shows what is nested too deep: %s", (_, text) => {
    const stream = new MarkdownStream(() => PLAIN);
    stream.push(text);
    stream.take();
    stream.live();
    stream.push("\nmore\n");
    stream.take();
    stream.live();
    stream.end();
    expect(renderMarkdown(text, PLAIN).length).toBeGreaterThan(0);
  });

  it.each(["x", "a ", "**b** ", "- ", "```\n"])("hands out a line that never ends: %j", (part) => {
    const stream = new MarkdownStream(() => PLAIN);
    const lines: string[] = [];
    stream.push(part);
    for (let at = 0; at < 20; at += 1) {
      stream.push((part.endsWith("\n") ? "code " : part).repeat(1_000));
      lines.push(...stream.take());
    }
    stream.push("y".repeat(20_000));
    expect([...lines, ...stream.take()].join("").length).toBeGreaterThan(10_000);
    expect(stream.live().join("").length).toBeLessThan(40_000);
  });
});
