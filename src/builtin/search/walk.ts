// Everything below a folder, in a stable order and within bounds: ignored things left out, links never followed.
import { basename, dirname, join } from "node:path";
import { Pace } from "../../base/async/pace.js";
import type { EntryKind, Files, World } from "../../base/ports/world.js";
import { BUILTIN_LIMITS } from "../limits.js";
import { type IgnoreFile, isIgnored, parseIgnoreFile } from "./ignore-rules.js";

export interface WalkOptions {
  /** A real path. */
  readonly start: string;
  readonly includeIgnored: boolean;
  readonly signal: AbortSignal;
}

export interface WalkedEntry {
  /** From the start, divided by `/`. */
  readonly path: string;
  readonly kind: Exclude<EntryKind, "folder">;
}

/** Never of interest, whatever is asked for. */
const ALWAYS_SKIPPED: ReadonlySet<string> = new Set([".git", ".hg", ".svn", ".jj"]);
/** Left out even where no ignore file says so: nobody means them unless they name them. */
const USUALLY_SKIPPED: ReadonlySet<string> = new Set(["node_modules", "__pycache__", ".venv"]);

export class Walk {
  readonly #world: World;
  readonly #options: WalkOptions;
  readonly #pace: Pace;
  readonly #startMs: number;
  #seen = 0;
  #cut: string | undefined;
  #unreadable = 0;
  #hasCutRules = false;

  constructor(world: World, options: WalkOptions) {
    this.#world = world;
    this.#options = options;
    this.#pace = Pace.of(world);
    this.#startMs = world.monotonicMs();
  }

  /** What was not looked at, each in a sentence. */
  get notes(): readonly string[] {
    const folders = this.#unreadable === 1 ? "1 folder" : `${this.#unreadable} folders`;
    return [
      ...(this.#cut === undefined ? [] : [this.#cut]),
      ...(this.#unreadable === 0 ? [] : [`${folders} could not be read.`]),
      ...(this.#hasCutRules ? ["The .gitignore files have more or longer rules than are used."] : []),
    ];
  }

  async *entries(): AsyncGenerator<WalkedEntry> {
    const { start, includeIgnored } = this.#options;
    const above = includeIgnored ? [] : await ignoreFilesAbove(this.#world.files, start);
    yield* this.#below("", 0, above);
  }

  async *#below(folder: string, depth: number, outer: readonly IgnoreFile[]): AsyncGenerator<WalkedEntry> {
    this.#options.signal.throwIfAborted();
    if (this.#isOver(depth)) return;
    const place = join(this.#options.start, folder);
    const found = await this.#world.files.entries(place).catch(() => undefined); // no permission, or gone since
    if (!found) {
      this.#unreadable += 1;
      return;
    }
    const hasRules = !this.#options.includeIgnored && found.some(isIgnoreFile);
    const own = hasRules
      ? await readIgnoreFile(this.#world.files, place, (path) => below(folder, path), outer)
      : undefined;
    const rules = own ? [...outer, own] : outer;
    if (own?.isCut) this.#hasCutRules = true;
    for (const { name, kind } of [...found].sort((one, other) => (one.name < other.name ? -1 : 1))) {
      this.#seen += 1;
      this.#options.signal.throwIfAborted();
      const path = folder === "" ? name : `${folder}/${name}`;
      if (ALWAYS_SKIPPED.has(name) || (await this.#isSkipped(name, path, kind === "folder", rules))) continue;
      if (this.#isOver(depth)) return;
      if (kind === "folder") yield* this.#below(path, depth + 1, rules);
      else yield { path, kind };
      if (this.#cut !== undefined) return;
    }
  }

  async #isSkipped(name: string, path: string, isFolder: boolean, rules: readonly IgnoreFile[]): Promise<boolean> {
    if (this.#options.includeIgnored) return false;
    if (isFolder && USUALLY_SKIPPED.has(name)) return true;
    return rules.length > 0 && (await this.#pace.run(() => isIgnored(path, isFolder, rules)));
  }

  #isOver(depth: number): boolean {
    const { maxEntries, maxDepth, maxMs } = BUILTIN_LIMITS.walk;
    if (depth > maxDepth) return true; // deeper than any real tree: the rest of the walk goes on
    if (this.#seen > maxEntries) this.#cut = `Not everything was looked at: there are more than ${maxEntries} entries.`;
    else if (this.#world.monotonicMs() - this.#startMs > maxMs) {
      this.#cut = `Not everything was looked at: it took more than ${maxMs / 1_000} s.`;
    }
    return this.#cut !== undefined;
  }
}

function isIgnoreFile({ name, kind }: { name: string; kind: EntryKind }): boolean {
  return name === ".gitignore" && kind === "file";
}

function below(folder: string, path: string): string {
  return folder === "" ? path : path.slice(folder.length + 1);
}

async function readIgnoreFile(
  files: Files,
  folder: string,
  ownPath: (path: string) => string,
  outer: readonly IgnoreFile[],
): Promise<IgnoreFile | undefined> {
  const path = join(folder, ".gitignore");
  if ((await files.kindOf(path)) !== "file") return undefined;
  const bytes = await files
    .readBytes(path, { start: 0, length: BUILTIN_LIMITS.ignoreRules.maxFileBytes })
    .catch(() => undefined);
  return bytes && parseIgnoreFile(new TextDecoder().decode(bytes), ownPath, outer);
}

/** Those of the folders from the repository's own down to the one above the start; none outside of a repository. */
async function ignoreFilesAbove(files: Files, start: string): Promise<readonly IgnoreFile[]> {
  const found: IgnoreFile[] = [];
  let way = "";
  for (let folder = start; ; folder = dirname(folder)) {
    const prefix = way;
    const own = way === "" ? undefined : await readIgnoreFile(files, folder, (path) => `${prefix}/${path}`, found);
    if (own) found.unshift(own);
    if (await isRepository(files, join(folder, ".git"))) return found;
    if (dirname(folder) === folder) return [];
    way = way === "" ? basename(folder) : `${basename(folder)}/${way}`;
  }
}

/** An empty folder is none: it keeps the place free while a server runs in the sandbox. */
async function isRepository(files: Files, git: string): Promise<boolean> {
  const kind = await files.kindOf(git);
  if (kind !== "folder") return kind !== undefined;
  const entries = await files.entries(git).catch(() => undefined); // one that cannot be read counts
  return entries === undefined || entries.length > 0;
}
