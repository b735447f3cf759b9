// Styled text in pieces, broken between words so that it fits a width. Styles are put on after that, so that no line leaves one open.
import { cells, displayWidth, graphemesOf, isNarrow } from "./text.js";

export interface Span {
  readonly text: string;
  readonly style?: ((text: string) => string) | undefined;
}

export type StyledLine = readonly Span[];

/** A word, perhaps of several styles (`**bold**,`); a blank; or a line break. */
interface Unit {
  readonly kind: "word" | "blank" | "break";
  readonly spans: Span[];
  cells: number;
}

/** Scripts that are written without blanks: a line may end between any two of their characters. */
const UNSPACED = /[\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/u;
const PIECES = /\n|[^\S\n]+|\S+/gu;

/** At least one line, each at most `columns` wide. Blanks at a break are dropped; words longer than a line are cut. */
export function wrapSpans(spans: readonly Span[], columns: number): StyledLine[] {
  const width = Math.max(1, columns);
  const plain = plainOf(spans);
  if (isNarrow(plain)) {
    if (plain.length <= width && plain.trim().length === plain.length) return [spans];
    return wrapNarrow(spans, plain, width);
  }
  if (plain.includes("\n") && isNarrow(plain.replaceAll("\n", " "))) return wrapNarrow(spans, plain, width);
  let line: Span[] = [];
  const lines: Span[][] = [line];
  let used = 0;
  let blank: Unit | undefined;
  const breakLine = () => {
    line = [];
    lines.push(line);
    used = 0;
    blank = undefined;
  };
  const put = (unit: Pick<Unit, "spans" | "cells">) => {
    line.push(...unit.spans);
    used += unit.cells;
  };
  for (const unit of unitsOf(spans)) {
    if (unit.kind === "break") breakLine();
    else if (unit.kind === "blank") blank = unit;
    else {
      if (used > 0 && used + (blank?.cells ?? 0) + unit.cells > width) breakLine();
      if (blank && used > 0) put(blank);
      blank = undefined;
      for (const [index, part] of (unit.cells <= width ? [unit] : cut(unit, width)).entries()) {
        if (index > 0) breakLine();
        put(part);
      }
    }
  }
  return lines;
}

function plainOf(spans: readonly Span[]): string {
  const [first] = spans;
  if (spans.length === 1 && first) return first.text;
  let plain = "";
  for (const { text } of spans) plain += text;
  return plain;
}

/** Where every character takes one cell, places in the text are columns. `plain` is the text of all spans. */
function wrapNarrow(spans: readonly Span[], plain: string, width: number): StyledLine[] {
  const lines: StyledLine[] = [];
  let [first, firstBegin] = [0, 0]; // the span that the last line ended in
  const only = spans.length === 1 ? spans[0] : undefined;
  const take = (from: number, to: number) => {
    if (only) {
      lines.push([{ text: plain.slice(from, to), style: only.style }]);
      return;
    }
    const line: Span[] = [];
    let [index, begin] = [first, firstBegin];
    for (let span = spans[index]; span !== undefined && begin < to; span = spans[index]) {
      const end = begin + span.text.length;
      if (end > from) {
        [first, firstBegin] = [index, begin];
        const isWhole = begin >= from && end <= to;
        line.push(isWhole ? span : { text: plain.slice(Math.max(begin, from), Math.min(end, to)), style: span.style });
      }
      begin = end;
      index += 1;
    }
    lines.push(line);
  };
  for (let begin = 0, end = 0; begin <= plain.length; begin = end + 1) {
    end = plain.indexOf("\n", begin);
    if (end < 0) end = plain.length;
    const last = endOfWord(plain, begin, end);
    let at = begin;
    do {
      while (at < last && plain.charAt(at) === " ") at += 1;
      const blank = last - at <= width ? last : plain.lastIndexOf(" ", at + width);
      const to = blank <= at ? Math.min(last, at + width) : endOfWord(plain, at, blank);
      take(at, to);
      at = to;
    } while (at < last);
  }
  return lines;
}

/** Of the last word before an index. */
function endOfWord(plain: string, from: number, before: number): number {
  let end = before;
  while (end > from && plain.charAt(end - 1) === " ") end -= 1;
  return end;
}

function unitsOf(spans: readonly Span[]): Unit[] {
  const units: Unit[] = [];
  let isOpen = false; // the last unit is a word that may go on
  const add = (kind: Unit["kind"], span: Span, width: number) => {
    const last = units.at(-1);
    if (last && ((kind === "word" && isOpen) || (kind === "blank" && last.kind === "blank"))) {
      last.spans.push(span);
      last.cells += width;
    } else units.push({ kind, spans: [span], cells: width });
  };
  for (const { text, style } of spans) {
    for (const [piece] of text.matchAll(PIECES)) {
      const kind = piece === "\n" ? "break" : piece.trim() === "" ? "blank" : "word";
      if (kind === "word" && UNSPACED.test(piece)) {
        for (const character of graphemesOf(piece)) {
          const isUnspaced = UNSPACED.test(character);
          if (isUnspaced) isOpen = false;
          add("word", { text: character, style }, cells(character));
          isOpen = !isUnspaced;
        }
      } else {
        add(kind, { text: piece, style }, kind === "break" ? 0 : displayWidth(piece));
        isOpen = kind === "word";
      }
    }
  }
  return units;
}

/** Each part fits the width. */
function cut(unit: Unit, width: number): Pick<Unit, "spans" | "cells">[] {
  let part: { spans: Span[]; cells: number } = { spans: [], cells: 0 };
  const parts = [part];
  for (const { text, style } of unit.spans) {
    let taken = "";
    for (const character of graphemesOf(text)) {
      const taking = cells(character);
      if (part.cells + taking > width && part.cells > 0) {
        if (taken !== "") part.spans.push({ text: taken, style });
        taken = "";
        part = { spans: [], cells: 0 };
        parts.push(part);
      }
      taken += character;
      part.cells += taking;
    }
    if (taken !== "") part.spans.push({ text: taken, style });
  }
  return parts;
}

export function styled(line: StyledLine): string {
  let shown = "";
  for (const { text, style } of line) shown += style && text !== "" ? style(text) : text;
  return shown;
}

export function spansWidth(line: StyledLine): number {
  let width = 0;
  for (const { text } of line) width += displayWidth(text);
  return width;
}
