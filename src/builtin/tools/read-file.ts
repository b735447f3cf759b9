// read_file: lines of a text file with their numbers, or an image.
import { dirname } from "node:path";
import { LIMITS } from "../../base/limits.js";
import type { ToolOutcome } from "../../tools/index.js";
import { integerField, textField } from "../fields.js";
import { BUILTIN_LIMITS } from "../limits.js";
import type { Place } from "../place/folders.js";
import { LineWindow } from "../text/line-window.js";
import { sniff } from "../text/sniff.js";
import { type BuiltinContext, type BuiltinTool, builtinTool, done, failed } from "../tool.js";

const path = textField("path", "The file: absolute, or relative to the session's directory.");
const offset = integerField("offset", "The first line to read, from 1.", { min: 1, max: 1_000_000_000, fallback: 1 });
const limit = integerField("limit", "How many lines to read.", {
  min: 1,
  max: LIMITS.resultMaxLines,
  fallback: LIMITS.resultMaxLines,
});

const CHUNK_BYTES = 1_048_576;
/** Room for the words around the lines. */
const MAX_BYTES = LIMITS.resultMaxBytes - 512;

interface Arguments {
  readonly path: string;
  readonly offset: number;
  readonly limit: number;
}

export const readFile: BuiltinTool<"read_file"> = builtinTool({
  name: "read_file",
  title: "Read a file",
  description:
    "Reads a text file, each line with its number and a tab before it, or shows an image (PNG, JPEG, GIF, WebP). " +
    "Long files come in parts: go on with offset. Unsaved changes in the person's editor are included.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  fields: [path, offset, limit],
  parse: (given) => ({ path: path.from(given), offset: offset.from(given), limit: limit.from(given) }),
  describe: (args, { folders }) => ({
    kind: "read",
    title: `Read ${folders.show(args.path)}${args.offset > 1 ? ` from line ${args.offset}` : ""}`,
    locations: [{ path: folders.absolute(args.path), line: args.offset }],
  }),
  run: async (args, { signal }, context) => {
    const placed = await context.folders.locate(args.path);
    if (!placed.ok) return failed(placed.reason);
    const { place } = placed;
    if (place.found && place.found.kind !== "file") {
      return failed(`${context.folders.show(args.path)} is not a file; use list_folder for folders.`);
    }
    return (await readSpecial(place, context)) ?? (await readLines(args, place, context, signal));
  },
});

/** What is no text: undefined for what is, or might be in the person's editor. */
async function readSpecial(place: Place, { folders, world }: BuiltinContext): Promise<ToolOutcome | undefined> {
  const { found, realPath } = place;
  if (!found) return undefined;
  const shown = folders.show(place.path);
  const sniffed = sniff(await world.files.readBytes(realPath, { start: 0, length: BUILTIN_LIMITS.sniffBytes }));
  switch (sniffed.kind) {
    case "text":
      return undefined;
    case "binary":
      return failed(`${shown} is ${sniffed.what} of ${found.bytes} bytes, not text that could be shown.`);
    case "image": {
      if (found.bytes > LIMITS.resultMaxImageBytes) {
        return failed(`${shown} is an image of ${found.bytes} bytes; at most ${LIMITS.resultMaxImageBytes} are shown.`);
      }
      const bytes = await world.files.readBytes(realPath, { start: 0, length: found.bytes });
      const data = Buffer.from(bytes).toString("base64");
      return done(
        { type: "image", mimeType: sniffed.mimeType, data },
        `${shown}: ${sniffed.mimeType}, ${bytes.length} bytes`,
      );
    }
  }
}

async function readLines(
  args: Arguments,
  place: Place,
  context: BuiltinContext,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const window = new LineWindow({ first: args.offset, maxLines: args.limit, maxBytes: MAX_BYTES });
  const isWhole = await fill(window, place, context, signal);
  if (isWhole === undefined) return failed(await notThere(place, context));
  window.end();
  const { keptLines, totalLines } = window;
  if (totalLines === 0) return done("(The file is empty.)");
  const known = isWhole ? `${totalLines} lines` : `more than ${totalLines} lines`;
  if (keptLines === 0) return failed(`There is no line ${args.offset}: the file has ${known}.`);
  const last = args.offset + keptLines - 1;
  if (args.offset === 1 && isWhole && last === totalLines) return done(window.text);
  const more = last < totalLines || !isWhole ? `; go on with offset ${last + 1}` : "";
  return done(`${window.text}\n[lines ${args.offset} to ${last} of ${known}${more}]`);
}

/** Whether all of the file was seen; undefined when there is none. */
async function fill(
  window: LineWindow,
  place: Place,
  context: BuiltinContext,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const isLong = place.found !== undefined && place.found.bytes > BUILTIN_LIMITS.editMaxBytes;
  // A file this long is in nobody's editor, and would have to come through the connection as a whole.
  const edited = isLong ? undefined : await context.texts.fromEditor(place, signal);
  if (!edited) return place.found ? await fillFromDisk(window, place.realPath, context, signal) : undefined;
  if (edited.kind === "unusable") throw new Error(edited.reason);
  if (edited.kind === "absent") return undefined;
  window.push(Buffer.from(edited.text));
  return true;
}

async function fillFromDisk(
  window: LineWindow,
  realPath: string,
  { world }: BuiltinContext,
  signal: AbortSignal,
): Promise<boolean> {
  for (let start = 0; ; start += CHUNK_BYTES) {
    signal.throwIfAborted();
    if (start >= (window.isFull ? BUILTIN_LIMITS.readMaxCountBytes : BUILTIN_LIMITS.readMaxScanBytes)) return false;
    const chunk = await world.files.readBytes(realPath, { start, length: CHUNK_BYTES });
    window.push(chunk);
    if (chunk.length < CHUNK_BYTES) return true;
  }
}

/** Names that are like it, since a wrong path is mostly a slip. */
async function notThere(place: Place, { folders, world }: BuiltinContext): Promise<string> {
  const entries = await world.files.entries(dirname(place.realPath)).catch(() => []);
  const wanted = place.path.slice(dirname(place.path).length + 1).toLowerCase();
  const stem = wanted.replace(/\.[^.]*$/u, "");
  const similar = entries.filter(({ name }) => stem !== "" && name.toLowerCase().includes(stem)).slice(0, 5);
  const hint = similar.length === 0 ? "" : ` There is ${similar.map(({ name }) => name).join(", ")}.`;
  return `There is no file ${folders.show(place.path)}.${hint}`;
}
