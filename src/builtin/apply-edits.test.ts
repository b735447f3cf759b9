// Edits do what replacing by hand would do, and nothing else.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { applyEdits, usesCrlf } from "./edit-file.js";

const UNITS = ["a", "b", " ", "\n", "\r\n", "ü", "😀"];
const piece = fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 12 });
/** A CR of its own is no line ending, and stays what it is. */
const oddPiece = fc.string({ unit: fc.constantFrom(...UNITS, "\r"), maxLength: 12 });
const word = fc.string({ unit: fc.constantFrom("a", "b", "\n", "x"), minLength: 1, maxLength: 4 });
const plain = (text: string) => text.replaceAll("\r\n", "\n");

test("an edit succeeds exactly when its text is there once, and then replaces just that", () => {
  fc.assert(
    fc.property(piece, word, word, (text, oldText, newText) => {
      fc.pre(oldText !== newText);
      const count = plain(text).split(oldText).length - 1;
      const edited = applyEdits(text, [{ oldText, newText, replaceAll: false }]);
      expect(edited.ok).toBe(count === 1);
      if (edited.ok) expect(plain(edited.text)).toBe(plain(text).replace(oldText, () => newText));
    }),
    { numRuns: 2_000 },
  );
});

test("replace_all replaces all, from the left", () => {
  fc.assert(
    fc.property(piece, word, word, (text, oldText, newText) => {
      fc.pre(oldText !== newText && plain(text).includes(oldText));
      const edited = applyEdits(text, [{ oldText, newText, replaceAll: true }]);
      expect(edited.ok && plain(edited.text)).toBe(plain(text).replaceAll(oldText, () => newText));
    }),
  );
});

test("what is not replaced keeps every byte, mixed line endings too", () => {
  fc.assert(
    fc.property(oddPiece, oddPiece, word, (before, after, newText) => {
      const crlf = usesCrlf(`${before}OLD${after}`);
      const edited = applyEdits(`${before}OLD${after}`, [{ oldText: "OLD", newText, replaceAll: false }]);
      expect(edited).toMatchObject({
        ok: true,
        text: before + (crlf ? newText.replaceAll("\n", "\r\n") : newText) + after,
      });
    }),
  );
});

test("all or nothing: of several edits with one that fails, no text comes back", () => {
  const good = { oldText: "a", newText: "b", replaceAll: false };
  expect(applyEdits("a", [good, { oldText: "zz", newText: "b", replaceAll: false }])).toMatchObject({ ok: false });
  expect(applyEdits("a", [good, { oldText: "b", newText: "a", replaceAll: false }])).toEqual({
    ok: false,
    reason: "The edits leave the text as it is.",
  });
});

test("a text that is only indented otherwise is pointed at", () => {
  const edited = applyEdits("x\n    if (a) {\n", [{ oldText: "  if (a) {\n  b", newText: "", replaceAll: false }]);
  expect(edited.ok ? "" : edited.reason).toContain("Its first line is like line 2");
});
