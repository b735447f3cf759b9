// grep: lines of files that match a regular expression, found by ripgrep where the machine has it, else by our own search.
import { dirname, join, posix, relative, win32 } from "node:path";
import { orAborted } from "../base/async/deadline.js";
import { Pace } from "../base/async/pace.js";
import { messageOf } from "../base/errors.js";
import { endTree } from "../base/io/process.js";
import { isJsonObject, type JsonValue, parseJson } from "../base/json/json.js";
import { type Line, LineSplitter } from "../base/json/ndjson.js";
import { LIMITS } from "../base/limits.js";
import type { Child, World } from "../base/ports/world.js";
import { compilePathGlob, type GlobMatcher } from "../base/text/glob.js";
import { choiceField, flagField, integerField, optionalTextField, pathField, textField } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { commandEnvironment } from "./run-command.js";
import { type BuiltinTool, builtinTool, done, failed, READ_ONLY, sniff } from "./tool.js";
import { Walk } from "./walk.js";

const { usual: fallback, max } = BUILTIN_LIMITS.searchResults;

export const grep: BuiltinTool = builtinTool({
  name: "grep",
  title: "Search in files",
  description:
    "Searches the text of files, saved ones only, line by line with a regular expression. Shows matching lines by file " +
    "with their numbers. What .gitignore leaves out and binary files are not searched.",
  annotations: READ_ONLY,
  fields: {
    pattern: textField("A regular expression, matched line by line.", { maxChars: BUILTIN_LIMITS.lineMaxChars }),
    path: pathField("The file or folder to search; the session's directory by default."),
    glob: optionalTextField("Only files whose path matches this glob, such as `*.ts` or `src/**/*.css`."),
    ignoreCase: flagField("Upper and lower case are the same."),
    literal: flagField("The pattern is plain text, not a regular expression."),
    context: integerField("Lines to show around each match.", { min: 0, max: 20, fallback: 0 }),
    output: choiceField(
      "The matching lines, or only the names of the files that have any.",
      ["lines", "files"],
      "lines",
    ),
    limit: integerField("The most matches (or files) to show.", { min: 1, max, fallback }),
    includeIgnored: flagField("Search also what .gitignore files leave out, and node_modules."),
  },
  look: ({ pattern, path }, { folders }) => {
    return { kind: "search", title: `Search for ${JSON.stringify(pattern)} in ${folders.show(path)}`, path };
  },
  run: async (args, { signal }, { folders, world }) => {
    const { literal: isLiteral, output, pattern: source } = args;
    const pattern = compilePattern(source, isLiteral, args.ignoreCase);
    if (!(pattern instanceof RegExp)) return failed(`The pattern is not a valid regular expression: ${pattern}`);
    const globbed = args.glob === undefined ? undefined : compilePathGlob(args.glob);
    if (globbed && !globbed.ok) return failed(`The glob cannot be used: ${globbed.reason}.`);
    const { found, realPath, path } = await folders.place(args.path);
    if (!found) return failed(`There is no file or folder ${folders.show(args.path)}.`);
    if (found.kind === "other") return failed(`${folders.show(args.path)} is neither a file nor a folder.`);
    const context = output === "files" ? 0 : args.context;
    const isFolder = found.kind === "folder";
    const notes: string[] = [];
    const facts = { pattern, source, isLiteral, start: realPath, isFolder, context, signal, notes };
    const request = { ...args, ...facts, isWanted: globbed?.matches };
    // A file in a folder is shown by the path through which the folder was named.
    const show = (hit: Hit) => folders.show(join(path, relative(realPath, hit.path)));
    const ripgrep = !isLiteral && NEEDS_BACKTRACKING.test(source) ? undefined : findRipgrep(world);
    const hits = ripgrep === undefined ? ownHits(world, request) : ripgrepHits(world, ripgrep, request);
    const { lines, isMore } = await collect(hits, args, show);
    const more = isMore ? ["There is more: take a narrower pattern, glob or folder."] : [];
    const ending = [...more, ...notes].map((note) => `[${note}]`);
    return done([...(lines.length === 0 ? ["Nothing was found."] : lines), ...ending].join("\n"));
  },
});

/** Lookaround and back references: ripgrep's own engine has neither. */
const NEEDS_BACKTRACKING = /\(\?<?[=!]|\\[1-9]/u;

/** The problem in words, when there is one. `(?i)` at the start is how other tools spell `ignore_case`. */
function compilePattern(source: string, isLiteral: boolean, ignoreCase: boolean): RegExp | string {
  const isInline = !isLiteral && source.startsWith("(?i)");
  const body = isInline ? source.slice(4) : source;
  try {
    const expression = isLiteral ? body.replaceAll(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&") : body;
    return new RegExp(expression, ignoreCase || isInline ? "i" : "");
  } catch (thrown) {
    return messageOf(thrown);
  }
}

async function collect(
  hits: AsyncIterable<Hit>,
  { output, limit, context }: { readonly output: string; readonly limit: number; readonly context: number },
  show: (hit: Hit) => string,
): Promise<{ readonly lines: readonly string[]; readonly isMore: boolean }> {
  const lines: string[] = [];
  let matches = 0;
  let bytes = 0;
  let file = "";
  let last = 0;
  let isMore = false;
  for await (const hit of hits) {
    const isNewFile = hit.path !== file;
    const counts = output === "files" ? isNewFile : !hit.isContext;
    isMore = (counts && matches === limit) || bytes > LIMITS.resultMaxBytes;
    if (isMore) break;
    if (counts) matches += 1;
    const isGap = !isNewFile && context > 0 && hit.line > last + 1;
    const head = isNewFile ? [show(hit)] : isGap && output === "lines" ? ["--"] : [];
    const added = output === "files" ? head : [...head, showHit(hit)];
    file = hit.path;
    last = hit.line;
    lines.push(...added);
    bytes += added.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  }
  return { lines, isMore };
}

const MAX_CHARS = 500;

/** A long line is shown around its beginning only: what matched may be anywhere in it. */
function showHit({ line, text, isContext }: Hit): string {
  const whole = text.replace(/\r?\n?$/u, "");
  const shown = whole.length > MAX_CHARS ? `${whole.slice(0, MAX_CHARS)}… [${whole.length} characters]` : whole;
  return `${line}${isContext ? "-" : ":"} ${shown}`;
}

/** One line, matching or beside one that does. */
export interface LineHit {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly isContext: boolean;
}

/** `path` is absolute. */
type Hit = LineHit & { readonly path: string };

interface GrepRequest {
  readonly pattern: RegExp;
  /** As the model wrote it. */
  readonly source: string;
  readonly isLiteral: boolean;
  readonly ignoreCase: boolean;
  /** A real path, of a file or a folder. */
  readonly start: string;
  readonly isFolder: boolean;
  readonly glob: string | undefined;
  /** The same, compiled. */
  readonly isWanted: GlobMatcher | undefined;
  readonly includeIgnored: boolean;
  /** Lines around each match. */
  readonly context: number;
  readonly signal: AbortSignal;
  /** Receives sentences about files that were not searched; complete when the hits are. */
  readonly notes: string[];
}

/** The full path of ripgrep. Relative entries of PATH do not count: the project must not bring its own. */
function findRipgrep(world: World): string | undefined {
  const isWindows = world.platform === "win32";
  const paths = isWindows ? win32 : posix;
  const value = Object.entries(world.env).find(([name]) => (isWindows ? name.toUpperCase() : name) === "PATH")?.[1];
  return (value ?? "")
    .split(paths.delimiter)
    .filter((folder) => paths.isAbsolute(folder))
    .map((folder) => paths.join(folder, isWindows ? "rg.exe" : "rg"))
    .find((path) => world.files.isFile(path));
}

/** The same choice of files as our own walk makes. */
function argumentsOf(request: GrepRequest): string[] {
  const { context, glob, ignoreCase, includeIgnored, isLiteral, source, start } = request;
  return [
    ["--no-config", "--json", "--sort=path", "--hidden", "--no-follow", "--no-ignore-global", "--no-ignore-dot"],
    includeIgnored ? ["--no-ignore"] : ["--no-require-git"],
    ["--context", String(context), "--max-filesize", String(BUILTIN_LIMITS.grepMaxFileBytes)],
    ignoreCase ? ["--ignore-case"] : [],
    isLiteral ? ["--fixed-strings"] : [],
    glob === undefined ? [] : ["--glob", glob],
    ["--glob", "!**/.git"],
    includeIgnored ? [] : ["--glob", "!**/{node_modules,__pycache__,.venv}"],
    ["--regexp", source, "--", start],
  ].flat();
}

const TOOK_TOO_LONG = `The search was ended after ${BUILTIN_LIMITS.walk.maxMs / 1_000} s:`;

/** Hits by file, in order. Ends ripgrep also when the caller stops reading early. */
async function* ripgrepHits(world: World, command: string, request: GrepRequest): AsyncGenerator<Hit> {
  const { start, isFolder, signal } = request;
  using deadline = world.deadline(BUILTIN_LIMITS.walk.maxMs, signal);
  signal.throwIfAborted();
  const cwd = isFolder ? start : dirname(start);
  const child = world.spawn({ command, args: argumentsOf(request), env: commandEnvironment(world).env, cwd });
  child.stdin.on("error", () => {}); // it never reads it
  child.stdin.end();
  let errors = "";
  child.stderr.on("data", (chunk: Uint8Array) => {
    errors = (errors + new TextDecoder().decode(chunk)).slice(-BUILTIN_LIMITS.lineMaxChars);
  });
  const onAbort = () => child.stdout.destroy();
  deadline.signal.addEventListener("abort", onAbort, { once: true });
  let hasHits = false;
  try {
    for await (const hit of hitsOf(child)) {
      hasHits = true;
      yield hit;
    }
    const exit = await child.exited;
    if (exit.kind === "not_started") throw new Error(`ripgrep could not be started: ${exit.error.message}`);
    // 2: something went wrong, which may only be a folder it may not read.
    if (exit.code === 2 && !hasHits) throw new Error(errors.trim() || "ripgrep failed.");
  } catch (thrown) {
    signal.throwIfAborted();
    if (!deadline.expired) throw thrown;
    request.notes.push(`${TOOK_TOO_LONG} take a smaller folder.`);
  } finally {
    deadline.signal.removeEventListener("abort", onAbort);
    await endTree(child, world, BUILTIN_LIMITS.commandGrace);
  }
}

async function* hitsOf({ stdout }: Child): AsyncGenerator<Hit> {
  const lines = new LineSplitter(BUILTIN_LIMITS.grepMaxRecordBytes);
  for await (const chunk of stdout) if (chunk instanceof Uint8Array) yield* hitsIn(lines.push(chunk));
  yield* hitsIn(lines.flush());
}

function hitsIn(lines: readonly Line[]): readonly Hit[] {
  return lines.flatMap((line) => {
    const parsed = line.kind === "line" ? parseJson(line.text) : undefined;
    return parsed?.ok ? (toHit(parsed.value) ?? []) : [];
  });
}

function toHit(message: JsonValue): Hit | undefined {
  if (!isJsonObject(message) || !isJsonObject(message["data"])) return undefined;
  if (message["type"] !== "match" && message["type"] !== "context") return undefined;
  const { path, lines, line_number: line } = message["data"];
  if (typeof line !== "number") return undefined;
  return { path: textOf(path), line, text: textOf(lines), isContext: message["type"] === "context" };
}

/** `{text}`, or `{bytes}` in base64 for what is not UTF-8. */
function textOf(value: JsonValue | undefined): string {
  const { text, bytes } = isJsonObject(value) ? value : {};
  if (typeof text === "string") return text;
  return typeof bytes === "string" ? Buffer.from(bytes, "base64").toString("utf8") : "";
}

/** Hits by file, in order, searched in this process. */
async function* ownHits(world: World, request: GrepRequest): AsyncGenerator<Hit> {
  const { notes, signal } = request;
  using deadline = world.deadline(BUILTIN_LIMITS.walk.maxMs, signal);
  using thread = matchThread(world, request);
  let skipped = 0;
  try {
    for await (const path of pathsOf(world, request)) {
      const text = await textOfFile(world, path);
      if (text === "too long") skipped += 1;
      else if (text) for (const hit of await thread.match(text.text, deadline.signal)) yield { path, ...hit };
    }
  } catch (thrown) {
    if (!deadline.expired) throw thrown;
    notes.push(`${TOOK_TOO_LONG} take a simpler pattern or a smaller folder.`);
  }
  const files = skipped === 1 ? "1 file" : `${skipped} files`;
  if (skipped > 0) notes.push(`${files} of more than ${BUILTIN_LIMITS.grepMaxFileBytes} bytes were not searched.`);
}

async function* pathsOf(world: World, request: GrepRequest): AsyncGenerator<string, void, void> {
  const { start, isFolder, includeIgnored, signal, isWanted } = request;
  if (!isFolder) return yield start;
  const pace = Pace.of(world);
  const walk = new Walk(world, { start, includeIgnored, signal });
  for await (const { path, kind } of walk.entries()) {
    if (kind === "file" && (!isWanted || (await pace.run(() => isWanted(path))))) yield join(start, path);
  }
  request.notes.push(...walk.notes);
}

async function textOfFile({ files }: World, path: string): Promise<{ readonly text: string } | "too long" | undefined> {
  const found = await files.find(path);
  if (found?.kind !== "file" || found.bytes === 0) return undefined;
  if (found.bytes > BUILTIN_LIMITS.grepMaxFileBytes) return "too long";
  const bytes = await files.readBytes(path, { start: 0, length: found.bytes }).catch(() => undefined); // no permission
  if (!bytes || sniff(bytes.subarray(0, BUILTIN_LIMITS.sniffBytes)).kind !== "text") return undefined;
  return { text: new TextDecoder().decode(bytes) };
}

export interface MatchSettings {
  readonly source: string;
  readonly flags: string;
  /** Lines around each match. */
  readonly context: number;
  /** At most this many lines of one text are reported. */
  readonly maxLines: number;
}

/**
 * Runs the model's regular expression in a thread of its own: one that never ends can be ended. The pattern must have been
 * compiled once already: here a mistake in it would only show as a dead thread.
 */
function matchThread(world: World, { pattern: { source, flags }, context }: GrepRequest) {
  const settings: MatchSettings = { source, flags, context, maxLines: BUILTIN_LIMITS.searchResults.max + 1 };
  const thread = world.thread(new URL("./match-worker.mjs", import.meta.url), settings);
  let waiting: { resolve(hits: readonly LineHit[]): void; reject(error: Error): void } | undefined;
  let failure: Error | undefined;
  thread.listen({
    onMessage: (hits) => {
      if (Array.isArray(hits)) waiting?.resolve(hits);
    },
    onFailed: (error) => {
      failure = error;
      waiting?.reject(error);
    },
  });
  return {
    /** The lines that match, and those around them. One text at a time. When the signal aborts, the thread is still busy: end it. */
    match: async (text: string, signal: AbortSignal): Promise<readonly LineHit[]> => {
      if (failure) throw failure;
      const matched = new Promise<readonly LineHit[]>((resolve, reject) => {
        waiting = { resolve, reject };
      });
      thread.post(text);
      return await orAborted(matched, signal);
    },
    [Symbol.dispose]: () => thread.end(),
  };
}
