// Images, sounds and documents of a result: which of them the model is given as they are, and the words about the others.
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import { base64Bytes, type ContentBlock, type TextBlock, text } from "../../base/text/content.js";
import { hostLine, markForeign, quoted } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ResultStore } from "./store.js";

const own = new WeakSet<ContentBlock>();

/**
 * Text that Tenon itself wrote, recognized by identity: no tool can make one. It reaches the model as it is, lines of our own
 * included. Words of others in it must have been through `markForeign`. A copy of the block is marked like any other text.
 */
export function hostText(words: string): TextBlock {
  const block = text(words);
  own.add(block);
  return block;
}

export function isHostText(block: ContentBlock): boolean {
  return own.has(block);
}

/** The media that the model takes as they are. */
export interface ModelMedia {
  readonly images: boolean;
  readonly audio: boolean;
  /** PDF. */
  readonly documents: boolean;
}

export interface ResultContext {
  readonly store: ResultStore;
  /** `server / tool`. */
  readonly origin: string;
  readonly media: ModelMedia;
}

export interface Media {
  /** The block as the model would get it. */
  readonly block: ContentBlock;
  readonly kind: "image" | "audio" | "document" | "data";
  /** base64 */
  readonly data: string;
  readonly bytes: number;
  readonly mimeType: string;
  readonly uri?: string;
}

/** Undefined for blocks without data. */
export function mediaOf(block: ContentBlock): Media | undefined {
  if (block.type === "image" || block.type === "audio") {
    const { type: kind, data, mimeType } = block;
    return { block, kind, data, bytes: base64Bytes(data), mimeType };
  }
  if (block.type !== "resource" || block.text !== undefined) return undefined;
  const { uri, blob: data = "", mimeType = "application/octet-stream" } = block;
  return { block, kind: mediaKind(mimeType), data, bytes: base64Bytes(data), mimeType, uri };
}

function mediaKind(mimeType: string): Media["kind"] {
  const [family] = mimeType.split("/", 1);
  if (family === "image" || family === "audio") return family;
  return mimeType === "application/pdf" ? "document" : "data";
}

/** One for each result: media that were given count against those that follow. */
export class MediaAllowance {
  readonly #context: ResultContext;
  #count = 0;
  #bytes = 0;
  #keptCount = 0;

  constructor(context: ResultContext) {
    this.#context = context;
  }

  /** The block for the model, or a line about it instead. */
  async place(media: Media): Promise<ContentBlock | string> {
    const obstacle = this.#obstacle(media);
    if (obstacle !== undefined) return await this.#label(media, obstacle);
    const data = cleanBase64(media.data);
    if (data === undefined) return hostLine(`${describeMedia(media)}: its data is no base64, so nobody can see it`);
    this.#count += 1;
    this.#bytes += media.bytes;
    const { block } = media;
    if (data === media.data) return block;
    if (block.type === "image" || block.type === "audio") return { ...block, data };
    return block.type === "resource" ? { ...block, blob: data } : block;
  }

  #obstacle({ kind, bytes }: Media): string | undefined {
    if (kind === "data") return "not text, so not shown";
    const { images, audio, documents } = this.#context.media;
    const isTaken = kind === "image" ? images : kind === "audio" ? audio : documents;
    if (!isTaken) return "this model does not take it; the person has it";
    if (bytes > LIMITS.resultMaxImageBytes) return "too large for the model; the person has it";
    const { max, maxBytes } = TOOL_LIMITS.resultMedia;
    const isOver = this.#count >= max || this.#bytes + bytes > maxBytes;
    return isOver ? "one too many for the model; the person has it" : undefined;
  }

  /** Kept, so that other tools can be given it. Not all of a flood: each takes a file. */
  async #label(media: Media, obstacle: string): Promise<string> {
    const words = `${describeMedia(media)}: ${obstacle}`;
    if (this.#keptCount >= TOOL_LIMITS.resultMedia.max || media.bytes === 0) return hostLine(words);
    this.#keptCount += 1;
    const { mimeType, uri } = media;
    const { store, origin } = this.#context;
    const kept = await store.keepBase64(media.data, { origin, mimeType, ...defined({ uri }) });
    return hostLine(kept.ok ? `${words}. ${passOn(kept.result.handle)} as base64` : words);
  }
}

/** How a model hands on a result that it cannot see. */
export function passOn(handle: string): string {
  return `Kept as ${handle}; pass it to a tool as {"$result":"${handle}"}`;
}

/** `image "image/png", 5242880 bytes`. */
function describeMedia({ kind, mimeType, bytes, uri }: Media): string {
  const where = uri === undefined ? "" : ` of the resource ${quoted(uri, 2_000)}`;
  return `${kind} ${quoted(mimeType, 100)}${where}, ${bytes} bytes`;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The data as providers take it, or nothing when it is invalid: one of them refuses the whole conversation over a bad image.
 * Line breaks and the alphabet for URLs are put right.
 */
function cleanBase64(data: string): string | undefined {
  if (BASE64.test(data)) return data;
  const plain = data.replaceAll(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  return BASE64.test(plain) ? plain : undefined;
}

export type TextBound = Readonly<Record<"maxBytes" | "maxLines", number>>;

/** Of one unit of a text: short ones need not be counted. */
const MAX_UTF8_BYTES = 3;

export function fits(text: string, { maxBytes, maxLines }: TextBound): boolean {
  const isWithin =
    text.length * MAX_UTF8_BYTES <= maxBytes || (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes);
  return isWithin && lineCount(text, maxLines) <= maxLines;
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
