// What a model gets of an outcome: bounded, marked, and never nothing.
import fc from "fast-check";
import { expect, test } from "vitest";
import { text } from "../base/content.js";
import { LIMITS } from "../base/limits.js";
import { clip, toModelResult } from "./result.js";

test("a result without content says so", () => {
  expect(toModelResult({ kind: "done", content: [] })).toEqual({
    isError: false,
    content: [text("(The tool returned nothing.)")],
  });
});

test("structured content is sent only when there is no other form of it", () => {
  expect(toModelResult({ kind: "done", content: [], structured: { a: 1 } }).content).toEqual([text('{"a":1}')]);
  expect(toModelResult({ kind: "done", content: [text("one")], structured: { a: 1 } }).content).toEqual([text("one")]);
});

test("failed, refused, cancelled and unknown outcomes are errors that say what happened", () => {
  expect(toModelResult({ kind: "failed", content: [text("no such file")] })).toEqual({
    isError: true,
    content: [text("no such file")],
  });
  expect(toModelResult({ kind: "refused", reason: "the person said no" }).isError).toBe(true);
  expect(toModelResult({ kind: "cancelled" }).isError).toBe(true);
  expect(JSON.stringify(toModelResult({ kind: "unknown", reason: "lost" }))).toContain("Do not assume it failed");
});

test("an image over the limit becomes a placeholder, a smaller one is passed on", () => {
  const image = (bytes: number) =>
    ({ type: "image", data: "A".repeat(Math.ceil(bytes / 3) * 4), mimeType: "image/png" }) as const;
  const small = image(1_000);
  expect(toModelResult({ kind: "done", content: [small] }).content).toEqual([small]);
  const [placeholder] = toModelResult({ kind: "done", content: [image(4_000_000)] }).content;
  expect(placeholder?.type).toBe("text");
});

test("all text of a result together stays within the bound", () => {
  const blocks = Array.from({ length: 30 }, () => text("x".repeat(10_000)));
  const { content } = toModelResult({ kind: "done", content: blocks });
  expect(Buffer.byteLength(JSON.stringify(content))).toBeLessThan(LIMITS.resultMaxBytes + 30 * 200);
});

test("clipping keeps head and tail, names the size, and leaves short text alone", () => {
  const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n");
  const clipped = clip(lines, LIMITS.resultMaxBytes);
  expect(clipped.startsWith("line 0\n")).toBe(true);
  expect(clipped).toContain("line 4999");
  expect(clipped).toContain("5000 lines");
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 300 }),
      fc.integer({ min: 0, max: 400 }),
      (whole, maxBytes) => {
        const kept = clip(whole, maxBytes);
        if (Buffer.byteLength(whole) <= maxBytes) expect(kept).toBe(whole);
        else expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(maxBytes + 120);
      },
    ),
  );
});

test("what is kept in a file is named with its place, after as much of it as fits", () => {
  const preview = "line\n".repeat(20_000);
  const block = { type: "spilled", kind: "text", bytes: 20_000_000, path: "/x/0", preview } as const;
  const [shown] = toModelResult({ kind: "done", content: [block] }).content;
  const words = shown?.type === "text" ? shown.text : "";
  expect(words).toContain("[text, 20000000 bytes, kept in the file /x/0]");
  expect(Buffer.byteLength(words)).toBeLessThan(LIMITS.resultMaxBytes + 500);
});
