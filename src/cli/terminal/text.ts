// Makes text from models, tools and servers safe to print: nothing in it can move the cursor, hide, or reorder what is read.
import { replaceHidden } from "../../base/text/marking.js";

const DELETE = 0x7f;
const CONTROL_PICTURES = 0x2400;
const DELETE_PICTURE = "\u2421";

/** The text with every hidden character replaced by a visible stand-in; line breaks and tabs are kept. */
export function visible(text: string): string {
  return replaceHidden(text, standIn);
}

/** A letter, picture or key, and the joiners, selectors and carriage return whose meaning depends on what follows. */
const OPEN_END =
  /(?:[^\x00-\x7f]|[0-9#*])(?:(?:\u200c|\u200d|[\ufe00-\ufe0f])(?:(?!\u200c|\u200d|[\ufe00-\ufe0f])[^\x00-\x7f])?)*$|\r$/u;
/** No picture is joined of more. */
const OPEN_END_CHARS = 64;

/** Where the end of a text begins that may look otherwise once it goes on; its length where there is none. */
export function openEndAt(text: string): number {
  const [end] = OPEN_END.exec(text.slice(-OPEN_END_CHARS)) ?? [];
  return text.length - (end?.length ?? 0);
}

/** The same on one line, for titles and table cells: breaks, tabs and runs of blanks become one blank. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll(/\s+/gu, " ").trim();
}

/** JSON text that means the same and holds no hidden character: they are written as escapes. */
export function visibleJson(json: string): string {
  return replaceHidden(json, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at)).toLowerCase()}`).join(""),
  );
}

function standIn(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
  return code === DELETE ? DELETE_PICTURE : `<U+${hex(code)}>`;
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, "0");
}

// How many cells a text takes in a terminal, and cutting it to fit.

const COMBINING = /^[\p{Mn}\p{Me}\p{Cf}\ufe00-\ufe0f]$/u;
/** East Asian wide and full-width blocks, and what terminals draw as two-cell pictures. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;
const PICTURE = /^\p{Emoji_Presentation}$/u;
/** A flag, a keycap, a picture in its colourful form, or several pictures joined to one. */
const SEQUENCE = /^(?:\p{Regional_Indicator}{2}|[0-9#*]\ufe0f?\u20e3|\p{Extended_Pictographic}.*[\ufe0f\u200d].*)$/su;
/** Each of its characters takes one cell: Latin, Greek and Cyrillic letters, dashes, quotes, arrows, lines of boxes, marks. */
const NARROW =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u03ff\u0400-\u0482\u048a-\u052f\u2010-\u2015\u2018-\u2027\u2030-\u203b\u2190-\u21ff\u2212\u2500-\u259f\u2713\u2717\u276f]*$/;

/** Letters of the scripts of East Asia: none of them is joined with another of these or of `NARROW`. */
const UNJOINED =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u03ff\u0400-\u0482\u048a-\u052f\u2010-\u2015\u2018-\u2027\u3000-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]*$/;

let segmenter: Intl.Segmenter | undefined;

/** Made when it is needed: most text needs none, and the first one takes its time. */
function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** What a person takes for one character each: a letter with its accents, a family of pictures. */
export function graphemesOf(text: string): string[] {
  return UNJOINED.test(text) || NARROW.test(text)
    ? text.split("")
    : Array.from(segmentsOf(text), ({ segment }) => segment);
}

/** Escape sequences are not cells: see `withoutStyles` for text that has some. */
export function displayWidth(text: string): number {
  if (isNarrow(text)) return text.length;
  let width = 0;
  for (const character of graphemesOf(text)) width += cells(character);
  return width;
}

/** Whether each of its characters takes one cell, and can be cut off from the next one. */
export function isNarrow(text: string): boolean {
  return NARROW.test(text);
}

/** At most `columns` cells of the text; what was cut is marked by an ellipsis. */
export function clipToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return "";
  let kept = "";
  let width = 0;
  for (const character of graphemesOf(text)) {
    width += cells(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** How many cells one of `graphemesOf` takes. Terminals add up the code points of a syllable, and draw a sequence of pictures as one. */
export function cells(grapheme: string): number {
  if (SEQUENCE.test(grapheme)) return 2;
  let width = 0;
  for (const character of grapheme) {
    if (COMBINING.test(character)) continue;
    const isWide = WIDE.test(character) || PICTURE.test(character);
    // A skin tone colours the picture before it.
    if (!(width > 0 && /^[\u{1f3fb}-\u{1f3ff}]$/u.test(character))) width += isWide ? 2 : 1;
  }
  return width;
}

// Breaks text between words so that it fits a width.

/** At least one line. A word longer than the width stands on a line of its own, uncut. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(longer) > columns) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

// Plain tables: columns padded to their widest cell, the last one cut at the edge.

const GAP = "  ";

/** With blanks behind it, as wide as `columns`; longer text stays as it is. */
export function padToWidth(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - displayWidth(text)));
}

/** One string per row, after `indent` blanks. Cells must be single lines of visible text. */
export function renderTable(
  rows: readonly (readonly string[])[],
  { columns, indent = 0 }: { readonly columns: number; readonly indent?: number },
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, displayWidth(cell));
  }
  return rows.map((row) => {
    const cells = row.map((cell, at) => (at === row.length - 1 ? cell : padToWidth(cell, widths[at] ?? 0)));
    return clipToWidth(" ".repeat(indent) + cells.join(GAP), columns).trimEnd();
  });
}

/** Less than this of the last column says nothing. */
const LEAST_LAST = 24;

/** The same rows without the columns, in the order of `droppedFirst`, that leave no room for the last one. */
export function withRoomForLast(
  rows: readonly (readonly string[])[],
  columns: number,
  droppedFirst: readonly number[],
): readonly (readonly string[])[] {
  const width = (at: number) => Math.max(...rows.map((row) => displayWidth(row[at] ?? "")));
  const last = (rows[0]?.length ?? 1) - 1;
  const kept = new Set(Array.from({ length: last }, (_, at) => at));
  const taken = () => [...kept].reduce((sum, at) => sum + width(at) + GAP.length, 0);
  const wanted = Math.min(LEAST_LAST, width(last));
  for (const at of droppedFirst) if (taken() + wanted > columns) kept.delete(at);
  return rows.map((row) => row.filter((_, at) => at === last || kept.has(at)));
}
