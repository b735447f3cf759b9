// Reads kept results: piece by piece, as a whole, one page, or the one value a JSON pointer leads to.
import { Pace } from "../../base/async/pace.js";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { parseJson, pointerSteps } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { markForeign, quoted } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import { isMiddle, type TextBound } from "./blocks.js";
import { PointerScan, type ScanResult } from "./pointer-scan.js";
import { type ByteRange, isHandle, type KeptResult, type ResultStore } from "./store.js";

/** A result, or a part of it, cannot be read. The message is for the model, without a full stop. */
export class Unreadable extends Error {}

const LISTED_HANDLES = 20;

/** Throws `Unreadable` with the handles there are. */
export async function findResult(store: ResultStore, handle: string): Promise<KeptResult> {
  const found = await store.find(handle);
  if (found) return found;
  if (await store.isGone(handle)) {
    throw new Unreadable(`the result ${handle} is no longer kept: it made room for later ones. Call the tool again`);
  }
  const all = (await store.list()).map((result) => result.handle);
  const more = all.length > LISTED_HANDLES ? ` and ${all.length - LISTED_HANDLES} older ones` : "";
  const known = `there are ${all.slice(-LISTED_HANDLES).join(", ")}${more}`;
  const problem = isHandle(handle) ? `there is no result ${handle}` : `${quoted(handle, 60)} is no handle of a result`;
  throw new Unreadable(`${problem}; ${all.length === 0 ? "no result is kept in this session yet" : known}`);
}

async function readBytes(store: ResultStore, handle: string, range: ByteRange): Promise<Uint8Array> {
  try {
    return await store.read(handle, range);
  } catch (error) {
    throw new Unreadable(`${handle} cannot be read any more: ${messageOf(error)}`);
  }
}

/** Three bytes belong together in base64. */
const PIECE_BYTES: number = TOOL_LIMITS.resultPieceBytes - (TOOL_LIMITS.resultPieceBytes % 3);

/** The bytes from `start` on. The event loop is free between two pieces. */
export async function* pieces(store: ResultStore, handle: string, start = 0): AsyncGenerator<Uint8Array, void, void> {
  const pace = Pace.of(store.world);
  for (let at = start, size = PIECE_BYTES; size === PIECE_BYTES; at += size) {
    const bytes = await readBytes(store, handle, { start: at, length: PIECE_BYTES });
    size = bytes.length;
    if (size === 0) return;
    await pace.run(() => undefined); // results in memory come at once
    yield bytes;
  }
}

/** All of a result as one text; bytes as base64. */
export async function readWhole(store: ResultStore, result: KeptResult, maxBytes: number): Promise<string> {
  const { handle, form, bytes } = result;
  const length = form === "bytes" ? Math.ceil(bytes / 3) * 4 : bytes;
  if (length > maxBytes) {
    throw new Unreadable(`${handle} has ${length} bytes, and at most ${maxBytes} can be passed on`);
  }
  if (form !== "bytes") return await readBetween(store, handle, { start: 0, end: bytes });
  const parts: string[] = [];
  for await (const piece of pieces(store, handle)) parts.push(Buffer.from(piece).toString("base64"));
  return parts.join("");
}

/** Where the JSON of a value lies among the bytes of the result. */
export type ValuePlace = Readonly<Record<"start" | "end", number>>;

export async function findValue(store: ResultStore, result: KeptResult, pointer: string): Promise<ValuePlace> {
  const { handle, form } = result;
  const steps = pointerSteps(pointer);
  if (!steps) {
    const rule = 'it begins with "/", and "~" and "/" inside a key are written "~0" and "~1"';
    throw new Unreadable(`${quoted(pointer)} is no JSON pointer: ${rule}`);
  }
  if (form !== "text" && form !== "json") throw new Unreadable(`${handle} is no text, so it holds no JSON`);
  const pace = Pace.of(store.world);
  const scan = new PointerScan(steps);
  let scanned: ScanResult | undefined;
  for await (const piece of pieces(store, handle)) {
    scanned = await pace.run(() => scan.push(piece));
    if (scanned) break;
  }
  scanned ??= scan.end();
  if (scanned.kind === "found") return scanned;
  if (scanned.kind === "not_json") throw new Unreadable(`${handle} is not JSON: byte ${scanned.at} cannot be there`);
  const way = steps.slice(0, scanned.steps).map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  const where = way.length === 0 ? handle : `${handle} at ${quoted(way.join(""))}`;
  throw new Unreadable(`there is nothing at ${quoted(pointer)}: of ${where}, ${scanned.reason}`);
}

/** The text between two bytes, which must be ends of characters. */
export async function readBetween(store: ResultStore, handle: string, { start, end }: ValuePlace): Promise<string> {
  const decoder = utf8();
  const parts: string[] = [];
  let left = end - start;
  for await (const piece of pieces(store, handle, start)) {
    parts.push(decoder.decode(piece.subarray(0, left), STREAM));
    left -= piece.length;
    if (left <= 0) break;
  }
  parts.push(decoder.decode());
  return parts.join("");
}

/** The text of a JSON string; any other JSON as it is. */
export function asText(json: string): string {
  if (!json.startsWith('"')) return json;
  const parsed = parseJson(json);
  return parsed.ok && typeof parsed.value === "string" ? parsed.value : json;
}

/** UTF-8 in pieces cut anywhere; invalid bytes become U+FFFD, and a byte order mark stays what it is. */
export function utf8(): InstanceType<typeof TextDecoder> {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

/** More pieces follow. */
export const STREAM = { stream: true } as const;

export type PageStart = { readonly line: number } | { readonly byte: number };

/** One page of a kept text: from a line or a byte on, as much as a result may hold, and where to go on. */
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

/** The most a page may hold, so that it is not clipped once more on its way, lines of our own included. */
export const PAGE_BOUND: TextBound = {
  maxBytes: LIMITS.resultMaxBytes - 1_024,
  maxLines: LIMITS.resultMaxLines - 10,
};

const NEWLINE = 0x0a;

export async function readPage(
  store: ResultStore,
  { handle, bytes: total }: KeptResult,
  start: PageStart,
  bound: TextBound,
): Promise<Page> {
  const place = "line" in start ? await findLine(store, handle, start.line) : { byte: start.byte, lines: 0 };
  if (place.byte > total || (place.byte === total && total > 0)) {
    throw new Unreadable(`${handle} has only ${"line" in start ? `${place.lines} lines` : `${total} bytes`}`);
  }
  const bytes = await readBytes(store, handle, { start: place.byte, length: bound.maxBytes });
  return pageOf(bytes, place.byte, { start, bound, total });
}

/** Where a line begins; infinity when the text has fewer lines. */
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

function pageOf(
  bytes: Uint8Array,
  from: number,
  { start, bound, total }: { readonly start: PageStart; readonly bound: TextBound; readonly total: number },
): Page {
  let first = 0; // past the rest of a character that begins before this page
  while (first < bytes.length && first < 3 && isMiddle(bytes[first])) first += 1;
  const shown = (until: number) =>
    markForeign(Buffer.from(bytes.buffer, bytes.byteOffset + first, until - first).toString());
  let end = wholeCharacters(bytes, linesEnd(bytes, first, bound.maxLines), from + bytes.length >= total);
  let text = shown(end);
  // Marks take more room than the characters they mark: then the page holds less.
  for (let size = Buffer.byteLength(text); size > bound.maxBytes && end > first; size = Buffer.byteLength(text)) {
    end = wholeCharacters(bytes, first + Math.floor(((end - first) * bound.maxBytes) / size), false);
    text = shown(end);
  }
  const isEnd = from + end >= total;
  const lastBreak = bytes.lastIndexOf(NEWLINE, end - 1);
  if (!isEnd && bytes[end - 1] !== NEWLINE && lastBreak > first) {
    end = lastBreak + 1;
    text = shown(end);
  }
  const place = { text, from: from + first, to: from + end };
  if (!("line" in start)) return { ...place, ...defined({ next: isEnd ? undefined : { byte: place.to } }) };
  let breaks = 0;
  for (let at = bytes.indexOf(NEWLINE, first); at !== -1 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) breaks += 1;
  const endsWithLine = bytes[end - 1] === NEWLINE;
  const lastLine = start.line + breaks - (endsWithLine ? 1 : 0);
  const next: PageStart = endsWithLine ? { line: start.line + breaks } : { byte: place.to };
  return { ...place, firstLine: start.line, lastLine, ...defined({ next: isEnd ? undefined : next }) };
}

function linesEnd(bytes: Uint8Array, start: number, maxLines: number): number {
  let at = start - 1;
  for (let line = 0; line < maxLines; line++) {
    at = bytes.indexOf(NEWLINE, at + 1);
    if (at === -1) return bytes.length;
  }
  return at + 1;
}

/** Back to the end of a whole character; at the end of the text a cut character stays cut. */
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
