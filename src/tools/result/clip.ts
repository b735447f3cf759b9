// The start and the end of a text within a bound of bytes and lines, marked, without looking at what lies between.
import { markForeign } from "../../base/text/marking.js";

export interface TextBound {
  readonly maxBytes: number;
  readonly maxLines: number;
}

export function fits(text: string, { maxBytes, maxLines }: TextBound): boolean {
  return text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes && lineCount(text, maxLines) <= maxLines;
}

/** How many lines, counted no further than one above `upTo`. */
export function lineCount(text: string, upTo: number): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1 && lines <= upTo; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** The first `chars` of texts that are read one below the other. */
export function startOf(texts: readonly string[], chars: number): string {
  let start = "";
  for (const [index, text] of texts.entries()) {
    start += index === 0 ? text.slice(0, chars) : `\n${text.slice(0, chars)}`;
    if (start.length >= chars) break;
  }
  return start.slice(0, chars);
}

export function endOf(texts: readonly string[], chars: number): string {
  const last: string[] = [];
  let length = -1;
  for (const text of texts.toReversed()) {
    last.push(text.slice(-chars));
    length += 1 + Math.min(text.length, chars);
    if (length >= chars) break;
  }
  return last.toReversed().join("\n").slice(-chars);
}

/** Of a text that goes on: its start, marked, as much as the bound allows, up to the end of a line where one is near. Give it one character more than fits. */
export function headWithin(start: string, { maxBytes, maxLines }: TextBound): string {
  const whole = markForeign(start.slice(0, maxBytes).replace(/[\r\ud800-\udbff]$/u, ""));
  const byLines = whole.slice(0, endOfLine(whole, maxLines));
  const kept = bytesFrom(byLines, maxBytes);
  const lineEnd = kept.lastIndexOf("\n");
  const isCut = start.length > maxBytes || kept !== byLines;
  return isCut && lineEnd > kept.length / 2 ? kept.slice(0, lineEnd) : kept;
}

/** Of a text that began earlier: its end. */
export function tailWithin(end: string, { maxBytes, maxLines }: TextBound): string {
  const whole = markForeign(end.slice(Math.max(0, end.length - maxBytes)).replace(/^[\udc00-\udfff]/u, ""));
  const byLines = whole.slice(startOfLine(whole, maxLines));
  const kept = bytesTo(byLines, maxBytes);
  const lineStart = kept.indexOf("\n") + 1;
  const isCut = end.length > maxBytes || kept !== byLines;
  return isCut && lineStart > 0 && lineStart < kept.length / 2 ? kept.slice(lineStart) : kept;
}

/** Index of the end of the n-th line. */
function endOfLine(text: string, lines: number): number {
  if (lines <= 0) return 0;
  let at = -1;
  for (let line = 0; line < lines; line++) {
    at = text.indexOf("\n", at + 1);
    if (at === -1) return text.length;
  }
  return at;
}

/** Index of the start of the n-th line from the end. */
function startOfLine(text: string, lines: number): number {
  if (lines <= 0) return text.length;
  let at = text.length;
  for (let line = 0; line < lines; line++) {
    at = at === 0 ? -1 : text.lastIndexOf("\n", at - 1);
    if (at === -1) return 0;
  }
  return at + 1;
}

/** The longest start of at most so many bytes of UTF-8 that ends at the end of a character. */
export function bytesFrom(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(0, maxBytes));
  if (bytes.length <= maxBytes && text.length <= maxBytes) return text;
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && end < bytes.length && isMiddle(bytes[end])) end -= 1;
  return bytes.toString("utf8", 0, end);
}

function bytesTo(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(Math.max(0, text.length - maxBytes)));
  if (bytes.length <= maxBytes && text.length <= maxBytes) return text;
  let start = Math.max(0, bytes.length - maxBytes);
  while (start < bytes.length && isMiddle(bytes[start])) start += 1;
  return bytes.toString("utf8", start);
}

/** A byte that continues a character of UTF-8. */
export function isMiddle(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
