// Widths, clipping, tables, durations and colours: what lines are composed of.

import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { columnsOf, createPalette, formatElapsed, isTerminal, mayColor } from "./stream.js";
import { clipToWidth, displayWidth, graphemesOf, openEndAt, renderTable, visible } from "./text.js";

describe("displayWidth", () => {
  it.each([
    ["abc", 3],
    ["é", 1],
    ["e\u0301", 1],
    ["你好", 4],
    ["🙂", 2],
    ["⏳", 2],
    ["✓", 1],
    ["", 0],
  ])("counts the cells of %s", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });

  it("takes every text apart as the segmenter does", () => {
    const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
    const any = fc.string({ unit: "binary" });
    const ofEastAsia = fc.string({
      unit: fc.integer({ min: 0x3000, max: 0xff60 }).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(
        fc.array(fc.oneof(any, ofEastAsia, fc.constantFrom("語", "か\u3099", "한\u11ab", "ｶﾞ", "。"))),
        (parts) => {
          const text = parts.join("");
          expect(graphemesOf(text)).toEqual(Array.from(segmenter.segment(text), ({ segment }) => segment));
        },
      ),
    );
  });
});

describe("clipToWidth", () => {
  it("cuts at the edge, marks the cut, and never splits a wide character", () => {
    expect(clipToWidth("hello", 5)).toBe("hello");
    expect(clipToWidth("hello", 4)).toBe("hel…");
    expect(clipToWidth("你好吗", 4)).toBe("你…");
    expect(clipToWidth("hello", 0)).toBe("");
  });

  it("never exceeds the width", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, columns) => {
        expect(displayWidth(clipToWidth(text, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe("openEndAt", () => {
  it.each(["👩‍👩‍👧‍👦 a family", "می‌خواهم", "❤️‍🔥 👩🏽‍🚀 1️⃣", "line\r\nline", "plain words"])(
    "shows %j whole, however it is cut into pieces",
    (text) => {
      for (let size = 1; size < text.length; size += 1) {
        let [held, shown] = ["", ""];
        for (let at = 0; at < text.length; at += size) {
          held += text.slice(at, at + size);
          const end = openEndAt(held);
          shown += visible(held.slice(0, end));
          held = held.slice(end);
        }
        expect(shown + visible(held)).toBe(text.replaceAll("\r\n", "\n"));
      }
    },
  );

  it("holds nothing of plain words back, and little of anything", () => {
    expect(openEndAt("plain")).toBe(5);
    expect(openEndAt("你好")).toBe(1);
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "\u200d", "\u200c", "\ufe0f", "\r", "👩", "ی")), (parts) => {
        const text = parts.join("").repeat(50);
        expect(text.length - openEndAt(text)).toBeLessThanOrEqual(64);
      }),
    );
  });
});

describe("renderTable", () => {
  it("aligns columns by their widest cell, wide characters included", () => {
    const rows = [
      ["a", "你好", "first"],
      ["long", "b", "second"],
    ];
    expect(renderTable(rows, { columns: 40, indent: 2 })).toEqual(["  a     你好  first", "  long  b     second"]);
  });

  it("cuts rows at the edge and has no row for no rows", () => {
    expect(renderTable([["name", "a long description"]], { columns: 12 })).toEqual(["name  a lon…"]);
    expect(renderTable([], { columns: 12 })).toEqual([]);
  });
});

describe("formatElapsed", () => {
  it.each([
    [0, "0 ms"],
    [999.4, "999 ms"],
    [1_000, "1.0 s"],
    [59_999, "59.9 s"],
    [60_000, "1 m 00 s"],
    [125_400, "2 m 05 s"],
  ])("writes %d ms as %s", (elapsedMs, text) => {
    expect(formatElapsed(elapsedMs)).toBe(text);
  });
});

describe("streams and colours", () => {
  const pipe = new PassThrough();
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 42 });

  it("tells a terminal from a pipe", () => {
    expect([isTerminal(pipe), isTerminal(terminal)]).toEqual([false, true]);
    expect(columnsOf(terminal)).toBe(42);
    expect(columnsOf(Object.assign(new PassThrough(), { isTTY: true, columns: 0 }))).toBe(80);
    expect(columnsOf(pipe)).toBe(160);
  });

  it("colours a terminal only, and not against NO_COLOR or on a dumb one", () => {
    expect(mayColor(terminal, {})).toBe(true);
    expect(mayColor(terminal, { NO_COLOR: "" })).toBe(true);
    expect(mayColor(terminal, { NO_COLOR: "1" })).toBe(false);
    expect(mayColor(terminal, { TERM: "dumb" })).toBe(false);
    expect(mayColor(pipe, {})).toBe(false);
  });

  it("writes escape sequences only when colour is on", () => {
    expect(createPalette(true).red("x")).toBe("\u001b[31mx\u001b[39m");
    expect(createPalette(true).red("")).toBe("");
    expect(createPalette(false).red("x")).toBe("x");
  });
});
