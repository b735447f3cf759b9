// read_file: lines of a text file with their numbers, or an image.
import { dirname } from "node:path";
import { LIMITS } from "../base/limits.js";
import type { ToolOutcome } from "../tools/index.js";
import { integerField, textField, type Values } from "./fields.js";
import type { LocatedPath } from "./folders.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { type BuiltinContext, type BuiltinTool, builtinTool, done, failed, READ_ONLY, sniff } from "./tool.js";

const { resultMaxLines: max } = LIMITS;
const fields = {
  path: textField("The file: absolute, or relative to the session's directory."),
  offset: integerField("The first line to read, from 1.", { min: 1, max: 1_000_000_000, fallback: 1 }),
  limit: integerField("How many lines to read.", { min: 1, max, fallback: max }),
};

const CHUNK_BYTES = 1_048_576;
/** Room for the words around the lines. */
const MAX_BYTES = LIMITS.resultMaxBytes - 512;

export const readFile: BuiltinTool = builtinTool({
  name: "read_file",
  title: "Read a file",
  description:
    "Reads a text file, each line with its number and a tab before it, or shows an image (PNG, JPEG, GIF, WebP). " +
    "Long files come in parts: go on with offset. Unsaved changes in the person's editor are included.",
  annotations: READ_ONLY,
  fields,
  look: ({ path, offset: line }, { folders }) => {
    return { kind: "read", title: `Read ${folders.show(path)}${line > 1 ? ` from line ${line}` : ""}`, path, line };
  },
  run: async (args, { signal }, context) => {
    const place = await context.folders.place(args.path);
    if (place.found && place.found.kind !== "file") {
      return failed(`${context.folders.show(args.path)} is not a file; use list_folder for folders.`);
    }
    return (await readSpecial(place, context)) ?? (await readLines(args, place, context, signal));
  },
});

/** Images and binary files; undefined for text, and for a file that only the editor may have. */
async function readSpecial(place: LocatedPath, { folders, world }: BuiltinContext): Promise<ToolOutcome | undefined> {
  const { found, realPath } = place;
  if (!found) return undefined;
  const shown = folders.show(place.path);
  const sniffed = sniff(await world.files.readBytes(realPath, { start: 0, length: BUILTIN_LIMITS.sniffBytes }));
  if (sniffed.kind === "text") return undefined;
  if (sniffed.kind === "binary") {
    return failed(`${shown} is ${sniffed.what} of ${found.bytes} bytes, not text that could be shown.`);
  }
  if (found.bytes > LIMITS.resultMaxImageBytes) {
    return failed(`${shown} is an image of ${found.bytes} bytes; at most ${LIMITS.resultMaxImageBytes} are shown.`);
  }
  const { mimeType } = sniffed;
  const bytes = await world.files.readBytes(realPath, { start: 0, length: found.bytes });
  const data = Buffer.from(bytes).toString("base64");
  return done({ type: "image", mimeType, data }, `${shown}: ${mimeType}, ${bytes.length} bytes`);
}

async function readLines(
  { offset, limit }: Values<typeof fields>,
  place: LocatedPath,
  context: BuiltinContext,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const window = new LineWindow(offset, limit);
  const isWhole = await fill(window, place, context, signal);
  if (isWhole === undefined) return failed(await notThere(place, context));
  window.end();
  const { lines, totalLines } = window;
  if (totalLines === 0) return done("(The file is empty.)");
  const known = isWhole ? `${totalLines} lines` : `more than ${totalLines} lines`;
  if (lines.length === 0) return failed(`There is no line ${offset}: the file has ${known}.`);
  const last = offset + lines.length - 1;
  if (offset === 1 && isWhole && last === totalLines) return done(lines.join("\n"));
  const more = last < totalLines || !isWhole ? `; go on with offset ${last + 1}` : "";
  return done(`${lines.join("\n")}\n[lines ${offset} to ${last} of ${known}${more}]`);
}

/** Whether all of the file was seen; undefined when there is none. */
async function fill(
  window: LineWindow,
  place: LocatedPath,
  { texts, world }: BuiltinContext,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const { found, realPath } = place;
  // A file this long is in nobody's editor, and would have to come through the connection as a whole.
  const isLong = found !== undefined && found.bytes > BUILTIN_LIMITS.editMaxBytes;
  const edited = isLong ? undefined : await texts.fromEditor(place, signal);
  if (edited?.kind === "unusable") throw new Error(edited.reason);
  if (edited?.kind === "absent" || (!edited && !found)) return undefined;
  if (edited) {
    window.push(Buffer.from(edited.text));
    return true;
  }
  for (let start = 0; ; start += CHUNK_BYTES) {
    signal.throwIfAborted();
    if (start >= (window.isFull ? BUILTIN_LIMITS.readMaxCountBytes : BUILTIN_LIMITS.readMaxScanBytes)) return false;
    const chunk = await world.files.readBytes(realPath, { start, length: CHUNK_BYTES });
    window.push(chunk);
    if (chunk.length < CHUNK_BYTES) return true;
  }
}

/** With similar names, since a wrong path is mostly a slip. */
async function notThere(place: LocatedPath, { folders, world }: BuiltinContext): Promise<string> {
  const entries = await world.files.entries(dirname(place.realPath)).catch(() => []);
  const wanted = place.path.slice(dirname(place.path).length + 1).toLowerCase();
  const stem = wanted.replace(/\.[^.]*$/u, "");
  const similar = entries.filter(({ name }) => stem !== "" && name.toLowerCase().includes(stem)).slice(0, 5);
  const hint = similar.length === 0 ? "" : ` There is ${similar.map(({ name }) => name).join(", ")}.`;
  return `There is no file ${folders.show(place.path)}.${hint}`;
}

const NEWLINE = 0x0a;
/** A character of UTF-8 takes up to four bytes. */
const MAX_LINE_BYTES = BUILTIN_LIMITS.lineMaxChars * 4;

class LineWindow {
  readonly #first: number;
  readonly #maxLines: number;
  /** The lines kept, with their numbers. */
  readonly lines: string[] = [];
  #bytes = 0;
  /** Of the line under way: its number, what is kept of it, and its length. */
  #number = 1;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #lineBytes = 0;
  /** Nothing more will be kept; what still comes is only counted. */
  isFull = false;

  constructor(first: number, maxLines: number) {
    this.#first = first;
    this.#maxLines = maxLines;
  }

  /** Lines so far, an unended last one included. */
  get totalLines(): number {
    return this.#lineBytes > 0 ? this.#number : this.#number - 1;
  }

  push(chunk: Uint8Array): void {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = buffer.indexOf(NEWLINE); end !== -1; end = buffer.indexOf(NEWLINE, start)) {
      this.#hold(buffer.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
    this.#hold(buffer.subarray(start));
  }

  end(): void {
    if (this.#lineBytes > 0) this.#finish();
  }

  #hold(part: Buffer): void {
    this.#lineBytes += part.length;
    const room = MAX_LINE_BYTES - this.#heldBytes;
    if (this.isFull || this.#number < this.#first || room <= 0 || part.length === 0) return;
    this.#held.push(Buffer.from(part.subarray(0, room)));
    this.#heldBytes += Math.min(part.length, room);
  }

  #finish(): void {
    if (this.#number >= this.#first && !this.isFull) this.#keep();
    this.#number += 1;
    this.#held = [];
    this.#heldBytes = 0;
    this.#lineBytes = 0;
  }

  #keep(): void {
    const whole = Buffer.concat(this.#held).toString("utf8").replace(/\r$/u, "");
    const isCut = this.#lineBytes > this.#heldBytes || whole.length > BUILTIN_LIMITS.lineMaxChars;
    const shown = isCut ? `${whole.slice(0, BUILTIN_LIMITS.lineMaxChars)}… [line of ${this.#lineBytes} bytes]` : whole;
    const line = `${this.#number}\t${shown}`;
    const bytes = Buffer.byteLength(line) + 1;
    const hasRoom = this.lines.length === 0 || this.#bytes + bytes <= MAX_BYTES;
    if (hasRoom) this.lines.push(line);
    this.#bytes += bytes;
    this.isFull = !hasRoom || this.lines.length >= this.#maxLines;
  }
}
