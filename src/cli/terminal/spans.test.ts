// Breaking lines: text of narrow characters takes a shorter way, which must come to the same lines.
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type Span, spansWidth, styled, wrapSpans } from "./spans.js";
import { displayWidth, isNarrow } from "./text.js";

const bold = (text: string) => `<b>${text}</b>`;
const wrap = (text: string, columns: number) => wrapSpans([{ text }], columns).map((line) => styled(line));
const words = (line: readonly Span[]) => line.map(({ text }) => text).join("");

describe("wrapSpans", () => {
  it("breaks between words, drops blanks there, and cuts words that are longer than a line", () => {
    expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrap("  one   two ", 20)).toEqual(["one   two"]);
    expect(wrap("abcdefgh ij", 3)).toEqual(["abc", "def", "gh", "ij"]);
    expect(wrap("a\n\nb\n", 5)).toEqual(["a", "", "b", ""]);
    expect(wrap("你好吗 ok", 4)).toEqual(["你好", "吗", "ok"]);
  });

  it("puts a style once on what stands together", () => {
    const lines = wrapSpans([{ text: "a " }, { text: "bold words here", style: bold }, { text: "." }], 12);
    expect(lines.map((line) => styled(line))).toEqual(["a <b>bold words</b>", "<b>here</b>."]);
  });

  it("puts no style on what is empty", () => {
    for (const text of ["   ", "", "x\n"]) {
      const lines = wrapSpans([{ text, style: bold }], 40).map((line) => styled(line));
      expect(lines.at(-1)).toBe("");
    }
    expect(wrapSpans([{ text: "", style: bold }, { text: "a" }], 40).map((line) => styled(line))).toEqual(["a"]);
  });

  it.each(["日本語の文。", "e\u0301\u0302", "👩‍👩‍👧", "e\u0301語"])(
    "takes a long %s apart once, not each character again",
    (piece) => {
      const segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
      const lines = wrap(piece.repeat(1_000), 80);
      expect(segment.mock.calls.length).toBeLessThan(4);
      expect(lines.join("")).toBe(piece.repeat(1_000));
      expect(lines.every((line) => displayWidth(line) <= 80)).toBe(true);
    },
  );

  it("comes to the same lines for narrow text as for all other", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "bc", "é", "—", " ", "  ", "\n", "longer"), maxLength: 40 });
    const spans = fc.array(fc.record({ text, style: fc.constantFrom(undefined, bold) }), { maxLength: 5 });
    fc.assert(
      fc.property(spans, fc.integer({ min: 1, max: 12 }), (given, columns) => {
        const narrow = wrapSpans(given, columns);
        // A wide character in a line of its own takes the other way.
        const other = wrapSpans([...given, { text: "\n你" }], columns).slice(0, -1);
        expect(narrow.map(words)).toEqual(other.map(words));
        expect(narrow.map(spansWidth).every((width) => width <= columns)).toBe(true);
      }),
    );
  });
});

describe("isNarrow", () => {
  it("is true only of characters that take one cell", () => {
    for (let code = 0; code < 0x10000; code += 1) {
      const character = String.fromCharCode(code);
      // With a wide one behind it every character is measured by itself.
      if (isNarrow(character)) expect(displayWidth(`${character}你`), code.toString(16)).toBe(3);
    }
    expect([..."\n\t\u00ad\u0301\u200d你🙂"].some(isNarrow)).toBe(false);
  });
});
