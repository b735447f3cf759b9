// Whatever a tool or a model sends, only visible characters reach the terminal.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { visible, visibleJson, visibleLine } from "./text.js";

/** Written as ranges of numbers, so that a mistake in the pattern under test is not repeated here. */
const DANGEROUS: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x061c, 0x061c],
  [0x180e, 0x180e],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0xfeff, 0xfeff],
  [0xfff9, 0xfffb],
  [0x1160, 0x1160],
  [0x3164, 0x3164],
  [0xe0000, 0xe0fff],
  [0xd800, 0xdfff],
];

function isDangerous(code: number): boolean {
  return DANGEROUS.some(([from, to]) => code >= from && code <= to);
}

/** Joiners between letters beyond Latin, Greek and Cyrillic, or between pictures, are part of the writing. */
function isJoiner(characters: readonly string[], at: number): boolean {
  const code = (index: number) => characters[index]?.codePointAt(0) ?? 0;
  const before = code(at - 1) === 0xfe0f ? code(at - 2) : code(at - 1);
  return (
    [0x200c, 0x200d].includes(code(at)) &&
    [before, code(at + 1)].every((side) => side >= 0x590 || side === 0xa9 || side === 0xae)
  );
}

function dangerousIn(text: string): string[] {
  const characters = [...text];
  return characters.filter((character, at) => isDangerous(character.codePointAt(0) ?? 0) && !isJoiner(characters, at));
}

const dangerous = fc
  .oneof(...DANGEROUS.map(([min, max]) => fc.integer({ min, max })))
  .map((code) => String.fromCodePoint(code));
const hostile = fc
  .array(fc.oneof(fc.string({ unit: "binary" }), dangerous, fc.constantFrom("\n", "\t", "\r\n", "\u001b[2J")))
  .map((parts) => parts.join(""));

describe("visible", () => {
  it("lets no dangerous character through, whatever the text", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(dangerousIn(visible(text))).toEqual([]);
        expect(dangerousIn(visibleLine(text))).toEqual([]);
        expect(visibleLine(text)).not.toMatch(/[\n\t]/);
      }),
    );
  });

  it("replaces every dangerous character on its own", () => {
    for (const [from, to] of DANGEROUS) {
      for (let code = from; code <= to; code += 1) {
        expect(dangerousIn(visible(`a${String.fromCodePoint(code)}b`)), code.toString(16)).toEqual([]);
      }
    }
  });

  it("says which character was there", () => {
    expect(visible("\u001b[31mred\u0007")).toBe("\u241b[31mred\u2407");
    expect(visible("file\u202egpj.exe")).toBe("file<U+202E>gpj.exe");
    expect(visible("a\u200bb\u{e0041}")).toBe("a<U+200B>b<U+E0041>");
    expect(visible("\u007f\u009b")).toBe("\u2421<U+009B>");
    expect(visible("over\rwritten")).toBe("over\u240dwritten");
  });

  it("leaves ordinary text of any script alone, with its line breaks and tabs", () => {
    const text = "Grüße,\n\tمرحبا 你好 🙂 e\u0301 \u0600\u0661 ❤\ufe0f";
    expect(visible(text)).toBe(text);
    expect(visible("a\r\nb")).toBe("a\nb");
  });

  it("changes nothing the second time", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(visible(visible(text))).toBe(visible(text));
      }),
    );
  });
});

describe("visibleLine", () => {
  it("puts everything on one line", () => {
    expect(visibleLine("  one\n two\t three \r\n")).toBe("one two three");
  });
});

describe("visibleJson", () => {
  it("keeps the meaning of any JSON and holds no dangerous character", () => {
    fc.assert(
      fc.property(fc.record({ text: hostile }), (value) => {
        const json = visibleJson(JSON.stringify(value));
        expect(JSON.parse(json)).toEqual(value);
        expect(dangerousIn(json)).toEqual([]);
      }),
    );
  });
});
