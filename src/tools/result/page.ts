// One page of a kept text: from a line or a byte on, as much as a result may hold, and where to go on.
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import { markForeign } from "../../base/text/marking.js";
import { pieces, type Read, unreadable } from "./reading.js";
import type { KeptResult, ResultStore } from "./store.js";

export type PageStart = { readonly line: number } | { readonly byte: number };

export interface Page {
  /** Marked: as a model may be shown it. */
  readonly text: string;
  /** Bytes of the kept text, the second not included. */
  readonly from: number;
  readonly to: number;
  /** Number of the first line, and of the last one that is shown to its end; only when the page was asked for by line. */
  readonly firstLine?: number;
  readonly lastLine?: number;
  /** Nothing at the end of the text. */
  readonly next?: PageStart;
}

export interface PageBound {
  readonly maxBytes: number;
  readonly maxLines: number;
}

const NEWLINE = 0x0a;

export async function readPage(
  store: ResultStore,
  result: KeptResult,
  { start, bound }: { readonly start: PageStart; readonly bound: PageBound },
): Promise<Read<Page>> {
  const { handle } = result;
  try {
    const place = "line" in start ? await findLine(store, handle, start.line) : { byte: start.byte, lines: 0 };
    if (place.byte > result.bytes || (place.byte === result.bytes && result.bytes > 0)) {
      const has = "line" in start ? `${place.lines} lines` : `${result.bytes} bytes`;
      return { ok: false, reason: `${handle} has only ${has}` };
    }
    const bytes = await store.read(handle, { start: place.byte, length: bound.maxBytes });
    return { ok: true, value: pageOf(bytes, place.byte, { start, bound, total: result.bytes }) };
  } catch (error) {
    return unreadable(handle, error);
  }
}

/** Where a line begins; the size of the text when it has fewer lines. */
async function findLine(store: ResultStore, handle: string, line: number): Promise<{ byte: number; lines: number }> {
  let lines = 1;
  let offset = 0;
  if (line <= 1) return { byte: 0, lines };
  for await (const piece of pieces(store, handle)) {
    for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, at + 1)) {
      lines += 1;
      if (lines === line) return { byte: offset + at + 1, lines };
    }
    offset += piece.length;
  }
  return { byte: Number.POSITIVE_INFINITY, lines };
}

interface PageFacts {
  readonly start: PageStart;
  readonly bound: PageBound;
  readonly total: number;
}

function pageOf(bytes: Uint8Array, from: number, { start, bound, total }: PageFacts): Page {
  const first = characterStart(bytes);
  let end = linesEnd(bytes, first, bound.maxLines);
  end = wholeCharacters(bytes, end, from + bytes.length >= total);
  let text = shown(bytes, first, end);
  // Marks take more room than what they mark: then the page holds less.
  for (let size = Buffer.byteLength(text); size > bound.maxBytes && end > first; size = Buffer.byteLength(text)) {
    end = wholeCharacters(bytes, first + Math.floor(((end - first) * bound.maxBytes) / size), false);
    text = shown(bytes, first, end);
  }
  const isEnd = from + end >= total;
  const lastBreak = bytes.lastIndexOf(NEWLINE, end - 1);
  const isCut = !isEnd && bytes[end - 1] !== NEWLINE;
  if (isCut && lastBreak > first) {
    end = lastBreak + 1;
    text = shown(bytes, first, end);
  }
  const place = { text, from: from + first, to: from + end };
  if (!("line" in start)) return { ...place, ...defined({ next: isEnd ? undefined : { byte: place.to } }) };
  const breaks = countBreaks(bytes, first, end);
  const endsWithLine = bytes[end - 1] === NEWLINE;
  const lastLine = start.line + breaks - (endsWithLine ? 1 : 0);
  const next: PageStart = endsWithLine ? { line: start.line + breaks } : { byte: place.to };
  return { ...place, firstLine: start.line, lastLine, ...defined({ next: isEnd ? undefined : next }) };
}

function shown(bytes: Uint8Array, start: number, end: number): string {
  return markForeign(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString());
}

function countBreaks(bytes: Uint8Array, start: number, end: number): number {
  let breaks = 0;
  for (let at = bytes.indexOf(NEWLINE, start); at !== -1 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) breaks += 1;
  return breaks;
}

function linesEnd(bytes: Uint8Array, start: number, maxLines: number): number {
  let at = start - 1;
  for (let line = 0; line < maxLines; line++) {
    at = bytes.indexOf(NEWLINE, at + 1);
    if (at === -1) return bytes.length;
  }
  return at + 1;
}

/** Past the rest of a character that begins before this page. */
function characterStart(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length && at < 3 && isMiddle(bytes[at])) at += 1;
  return at;
}

/** Back to the end of a whole character; at the end of the text what is cut stays cut. */
function wholeCharacters(bytes: Uint8Array, end: number, isLast: boolean): number {
  if (isLast && end === bytes.length) return end;
  let at = end;
  while (at > 0 && end - at < 3 && isMiddle(bytes[at])) at -= 1;
  // At a cut the byte after it is unknown: look at how the last character begins.
  if (end === bytes.length) at = lastWhole(bytes, end);
  return at > 0 ? at : end;
}

function lastWhole(bytes: Uint8Array, end: number): number {
  let lead = end - 1;
  while (lead > 0 && end - lead < 4 && isMiddle(bytes[lead])) lead -= 1;
  const byte = bytes[lead] ?? 0;
  const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return lead + length > end ? lead : end;
}

function isMiddle(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** What a page may hold, so that it is not clipped once more on its way, lines of our own included. */
export const PAGE_BOUND: PageBound = {
  maxBytes: LIMITS.resultMaxBytes - 1_024,
  maxLines: LIMITS.resultMaxLines - 10,
};
