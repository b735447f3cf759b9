// What a text search finds, whoever searched, and how it is written down for the model.

import { dirname, join, posix, win32 } from "node:path";
import { Pace } from "../base/async/pace.js";
import { endTree } from "../base/io/process.js";
import { isJsonObject, type JsonValue, parseJson } from "../base/json/json.js";
import { type Line, LineSplitter } from "../base/json/ndjson.js";
import type { Child, World } from "../base/ports/world.js";
import { compilePathGlob, type GlobMatcher } from "../base/text/glob.js";
import { commandEnvironment } from "./commands.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { MatchThread } from "./match-thread.js";
import { sniff } from "./texts.js";
import { Walk } from "./walk.js";

/** One line, matching or beside one that does. */
export interface Hit {
  /** Absolute. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly isContext: boolean;
}

export interface GrepRequest {
  readonly pattern: RegExp;
  /** As the model wrote it. */
  readonly source: string;
  readonly isLiteral: boolean;
  readonly ignoreCase: boolean;
  /** A real path, of a file or a folder. */
  readonly start: string;
  readonly isFolder: boolean;
  readonly glob: string | undefined;
  readonly includeIgnored: boolean;
  /** Lines around each match. */
  readonly context: number;
  readonly signal: AbortSignal;
}

/** Hits by file, in order; `notes` is complete once they are. Whoever stops reading early ends the search. */
export interface Grep {
  hits(): AsyncGenerator<Hit>;
  readonly notes: readonly string[];
}

const MAX_CHARS = 500;

/** A long line is shown around its beginning only: what matched may be anywhere in it. */
export function showHit({ line, text, isContext }: Hit): string {
  const whole = text.replace(/\r?\n?$/u, "");
  const cut = Math.min(MAX_CHARS, BUILTIN_LIMITS.lineMaxChars);
  const shown = whole.length > cut ? `${whole.slice(0, cut)}… [${whole.length} characters]` : whole;
  return `${line}${isContext ? "-" : ":"} ${shown}`;
}

// Searching with ripgrep, where the machine has it.
/** The full path of ripgrep. Relative entries of PATH do not count: the project must not bring its own. */
export function findRipgrep(world: World): string | undefined {
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

export class Ripgrep implements Grep {
  readonly #world: World;
  readonly #program: string;
  readonly #request: GrepRequest;
  readonly #notes: string[] = [];

  constructor(world: World, program: string, request: GrepRequest) {
    this.#world = world;
    this.#program = program;
    this.#request = request;
  }

  get notes(): readonly string[] {
    return this.#notes;
  }

  async *hits(): AsyncGenerator<Hit> {
    using deadline = this.#world.deadline(BUILTIN_LIMITS.walk.maxMs, this.#request.signal);
    const { start, isFolder, signal } = this.#request;
    signal.throwIfAborted();
    const cwd = isFolder ? start : dirname(start);
    const { env } = commandEnvironment(this.#world);
    const child = this.#world.spawn({ command: this.#program, args: argumentsOf(this.#request), env, cwd });
    child.stdin.on("error", () => {}); // it never reads it
    child.stdin.end();
    const errors = tailOf(child);
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
      if (exit.code === 2 && !hasHits) throw new Error(errors() || "ripgrep failed.");
    } catch (thrown) {
      signal.throwIfAborted();
      if (!deadline.expired) throw thrown;
      this.#notes.push(`The search was ended after ${BUILTIN_LIMITS.walk.maxMs / 1_000} s: take a smaller folder.`);
    } finally {
      deadline.signal.removeEventListener("abort", onAbort);
      await endTree(child, this.#world, BUILTIN_LIMITS.commandGrace);
    }
  }
}

function tailOf(child: Child): () => string {
  let tail = "";
  child.stderr.on("data", (chunk: Uint8Array) => {
    tail = (tail + new TextDecoder().decode(chunk)).slice(-BUILTIN_LIMITS.lineMaxChars);
  });
  return () => tail.trim();
}

async function* hitsOf(child: Child): AsyncGenerator<Hit> {
  const lines = new LineSplitter(BUILTIN_LIMITS.grepMaxRecordBytes);
  for await (const chunk of child.stdout) {
    if (chunk instanceof Uint8Array) yield* hitsIn(lines.push(chunk));
  }
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
  if (!isJsonObject(value)) return "";
  const { text, bytes } = value;
  if (typeof text === "string") return text;
  return typeof bytes === "string" ? Buffer.from(bytes, "base64").toString("utf8") : "";
}

// Searching file by file ourselves, where there is no ripgrep.
const LINES_AT_ONCE = 20_000;

export class GrepHere implements Grep {
  readonly #world: World;
  readonly #request: GrepRequest;
  readonly #notes: string[] = [];
  #skipped = 0;

  constructor(world: World, request: GrepRequest) {
    this.#world = world;
    this.#request = request;
  }

  get notes(): readonly string[] {
    const files = this.#skipped === 1 ? "1 file" : `${this.#skipped} files`;
    return this.#skipped === 0
      ? this.#notes
      : [...this.#notes, `${files} of more than ${BUILTIN_LIMITS.grepMaxFileBytes} bytes were not searched.`];
  }

  async *hits(): AsyncGenerator<Hit> {
    using deadline = this.#world.deadline(BUILTIN_LIMITS.walk.maxMs, this.#request.signal);
    const thread = new MatchThread(this.#world, this.#request.pattern);
    try {
      for await (const path of this.#paths()) yield* this.#inFile(path, thread, deadline.signal);
    } catch (thrown) {
      if (!deadline.expired) throw thrown;
      this.#notes.push(
        `The search was ended after ${BUILTIN_LIMITS.walk.maxMs / 1_000} s: take a simpler pattern or a smaller folder.`,
      );
    } finally {
      thread.end();
    }
  }

  async *#paths(): AsyncGenerator<string> {
    const { start, isFolder, includeIgnored, signal } = this.#request;
    if (!isFolder) {
      yield start;
      return;
    }
    const glob = this.#glob();
    const pace = Pace.of(this.#world);
    const walk = new Walk(this.#world, { start, includeIgnored, signal });
    for await (const { path, kind } of walk.entries()) {
      if (kind === "file" && (!glob || (await pace.run(() => glob(path))))) yield join(start, path);
    }
    this.#notes.push(...walk.notes);
  }

  #glob(): GlobMatcher | undefined {
    if (this.#request.glob === undefined) return undefined;
    const compiled = compilePathGlob(this.#request.glob);
    if (!compiled.ok) throw new Error(`The glob cannot be used: ${compiled.reason}.`);
    return compiled.matches;
  }

  async *#inFile(path: string, thread: MatchThread, signal: AbortSignal): AsyncGenerator<Hit> {
    const { files } = this.#world;
    const found = await files.find(path);
    if (found?.kind !== "file" || found.bytes === 0) return;
    if (found.bytes > BUILTIN_LIMITS.grepMaxFileBytes) {
      this.#skipped += 1;
      return;
    }
    const bytes = await files.readBytes(path, { start: 0, length: found.bytes }).catch(() => undefined); // no permission
    if (!bytes || sniff(bytes.subarray(0, BUILTIN_LIMITS.sniffBytes)).kind !== "text") return;
    const text = new TextDecoder().decode(bytes);
    const matching = await thread.match(text, signal);
    if (matching.length > 0) yield* this.#around(path, text, matching);
  }

  /** Every line once, also where the surroundings of two matches meet. Only lines up to the last match are looked at. */
  async *#around(path: string, text: string, matching: readonly number[]): AsyncGenerator<Hit> {
    const { context } = this.#request;
    const pace = Pace.of(this.#world);
    let start = 0;
    let line = 0;
    /** Goes to the start of a line, a lump at a time: a file may have millions of them. */
    const skipTo = async (wanted: number): Promise<void> => {
      for (let left = wanted - line; left > 0; left -= LINES_AT_ONCE) {
        await pace.run(() => {
          for (const stop = Math.min(wanted, line + LINES_AT_ONCE); line < stop; line++) {
            start = text.indexOf("\n", start) + 1 || text.length + 1;
          }
        });
      }
    };
    for (const [position, index] of matching.entries()) {
      const following = matching[position + 1] ?? Number.POSITIVE_INFINITY;
      await skipTo(Math.max(line, index - context));
      while (line <= index + context && line < following - context && start < text.length) {
        const end = text.indexOf("\n", start);
        const shown = text.slice(start, end === -1 ? undefined : end);
        yield { path, line: line + 1, text: shown, isContext: line !== index };
        start += shown.length + 1;
        line += 1;
      }
    }
  }
}
