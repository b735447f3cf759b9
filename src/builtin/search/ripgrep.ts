// Searching with ripgrep, where the machine has it.
import { dirname, posix, win32 } from "node:path";
import { endTree } from "../../base/io/process.js";
import { isJsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import { type Line, LineSplitter } from "../../base/json/ndjson.js";
import type { Child, World } from "../../base/ports/world.js";
import { commandEnvironment } from "../command/environment.js";
import { BUILTIN_LIMITS } from "../limits.js";
import type { Grep, GrepRequest, Hit } from "./hit.js";

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
