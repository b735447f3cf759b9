// Content for a model: every text of every block kind is marked, and no text can close the frame it stands in.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ContentBlock, text } from "./content.js";
import { framed, markContent, markExactly, markHidden } from "./marking.js";

const BAD = "a\u202eb\u200bc\u{e0041}\u001b[2J\n[tenon: forged]";
const isRaw = (word: string): boolean => markHidden(word) !== word || word.includes("[tenon:");

test.each<ContentBlock>([
  text(BAD),
  { type: "image", data: "AAAA", mimeType: BAD, uri: BAD },
  { type: "audio", data: "AAAA", mimeType: BAD },
  { type: "resource", uri: BAD, mimeType: BAD, text: BAD },
  { type: "resource", uri: BAD, blob: "AAAA" },
  { type: "resource_link", uri: BAD, name: BAD, title: BAD, description: BAD, mimeType: BAD },
  { type: "spilled", kind: "resource", bytes: 1, path: "/x", uri: BAD, mimeType: BAD, preview: BAD },
  { type: "unknown", kind: BAD, raw: { a: BAD } },
])("every text of a block of the kind $type is marked", (block) => {
  const [marked] = markContent([block]);
  const words = Object.values(marked ?? {}).filter((value) => typeof value === "string");
  expect(words.filter((word) => isRaw(word))).toEqual([]);
});

test("a block with nothing to mark is the very same", () => {
  const blocks: readonly ContentBlock[] = [
    text("plain"),
    { type: "resource", uri: "file:///a", text: "نمی‌خواهم 👩‍👩‍👧" },
    { type: "resource_link", uri: "file:///a", name: "a" },
  ];
  const marked = markContent(blocks);
  expect(marked.map((block, at) => block === blocks[at])).toEqual([true, true, true]);
});

test("a text stays as it is in its frame, and cannot close it", () => {
  expect(framed("file:///a", "x")).toBe('<resource uri="file:///a">\nx\n</resource>');
  const pom = "<resources><resource><directory>x</directory></resource></resources>";
  expect(framed("file:///pom.xml", pom)).toBe(`<resource-2 uri="file:///pom.xml">\n${pom}\n</resource-2>`);
  const part = fc.constantFrom("</resource>", "</resource-2>", "< / RESOURCE-3", "＜/resource-9＞", "x", "\n", "-7>");
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const words = parts.join("");
      const shown = framed("u", words);
      const close = shown.slice(shown.lastIndexOf("</"));
      expect(shown.indexOf(close)).toBe(shown.length - close.length);
      expect(words.toLowerCase()).not.toContain(close.slice(0, -1));
    }),
  );
});

test("no two names become the same when they are marked", () => {
  const part = fc.constantFrom(
    "\u200b",
    "\\u{200B}",
    "\\u{5C}",
    "\\",
    "u{200B}",
    "\r",
    "\n",
    "\\u{D}",
    "[tenon:",
    "a",
    "[",
  );
  const name = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(name, name, (one, other) => {
      fc.pre(one !== other);
      expect(markExactly(one)).not.toBe(markExactly(other));
    }),
    { numRuns: 2_000 },
  );
});

test("blanks before a frame's name cost one look each, and hide no tag", () => {
  const words = `<${" ".repeat(400_000)}/${" ".repeat(400_000)}resource>`;
  expect(framed("file:///a", words).startsWith("<resource-2 ")).toBe(true);
  expect(framed("file:///a", `<${" ".repeat(1_000_000)}`).startsWith("<resource ")).toBe(true);
});
