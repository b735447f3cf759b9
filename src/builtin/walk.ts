// Everything below a folder, in a stable order and within bounds: ignored things left out, links never followed.
import { basename, dirname, join } from "node:path";
import { Pace } from "../base/async/pace.js";
import { LIMITS } from "../base/limits.js";
import type { EntryKind, Files, World } from "../base/ports/world.js";
import { type GlobMatcher, plainPathGlob } from "../base/text/glob.js";
import { BUILTIN_LIMITS } from "./limits.js";

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
      this.#cut ?? [],
      this.#unreadable === 0 ? [] : `${folders} could not be read.`,
      this.#hasCutRules ? "The .gitignore files have more or longer rules than are used." : [],
    ].flat();
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
    const isRuled = found.some(({ name, kind }) => name === ".gitignore" && kind === "file");
    const ownPath = (path: string) => (folder === "" ? path : path.slice(folder.length + 1));
    const hasRules = isRuled && !this.#options.includeIgnored;
    const own = hasRules ? await readIgnoreFile(this.#world.files, place, ownPath, outer) : undefined;
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
    // An empty folder is none: it keeps the place free while a server runs in the sandbox. One that cannot be read counts.
    const kind = await files.kindOf(join(folder, ".git"));
    const entries = kind === "folder" ? await files.entries(join(folder, ".git")).catch(() => undefined) : undefined;
    if (kind !== undefined && entries?.length !== 0) return found;
    if (dirname(folder) === folder) return [];
    way = way === "" ? basename(folder) : `${basename(folder)}/${way}`;
  }
}

// The rules of `.gitignore` files: the last one that fits decides, deeper files before those above them.
interface Rule {
  readonly matches: GlobMatcher;
  readonly isNegated: boolean;
  readonly isFolderOnly: boolean;
  /** It has no slash: the name alone decides, at any depth. */
  readonly isName: boolean;
  readonly chars: number;
}

/** The rules of one file, which count from its own folder down. */
export interface IgnoreFile {
  /** The way from its folder to a thing whose way from the start of the walk is given; both divided by `/`. */
  readonly ownPath: (path: string) => string;
  readonly rules: readonly Rule[];
  /** The file says more than is used of it. */
  readonly isCut: boolean;
}

/** Of `outer` files that apply to the same folder there may be so many rules already that none of this one is used. */
export function parseIgnoreFile(
  text: string,
  ownPath: (path: string) => string,
  outer: readonly IgnoreFile[] = [],
): IgnoreFile {
  const { maxRules, maxChars } = BUILTIN_LIMITS.ignoreRules;
  const used = outer.flatMap(({ rules }) => rules);
  let count = used.length;
  let chars = used.reduce((sum, rule) => sum + rule.chars, 0);
  const rules: Rule[] = [];
  let isCut = false;
  for (const line of text.split("\n")) {
    const isTooLong = line.length > LIMITS.glob.maxChars;
    isCut ||= isTooLong;
    const rule = isTooLong ? undefined : parseRule(line);
    if (!rule) continue;
    if (count >= maxRules || chars + rule.chars > maxChars) return { ownPath, rules, isCut: true };
    rules.push(rule);
    count += 1;
    chars += rule.chars;
  }
  return { ownPath, rules, isCut };
}

function parseRule(line: string): Rule | undefined {
  const end = line.trimEnd();
  // Spaces at the end do not count, unless a backslash stands before the first.
  const trimmed = end.endsWith("\\") && line.length > end.length ? `${end} ` : end;
  if (trimmed === "" || trimmed.startsWith("#")) return undefined;
  const isNegated = trimmed.startsWith("!");
  const body = isNegated ? trimmed.slice(1) : trimmed;
  const isFolderOnly = body.endsWith("/");
  const path = isFolderOnly ? body.slice(0, -1) : body;
  if (path === "") return undefined;
  const isName = !path.includes("/");
  const matches = plainPathGlob(path.startsWith("/") ? path.slice(1) : path);
  return { matches, isNegated, isFolderOnly, isName, chars: path.length };
}

/** `files` from the outermost to the innermost. What lies in an ignored folder is never asked about. */
export function isIgnored(path: string, isFolder: boolean, files: readonly IgnoreFile[]): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  for (const { ownPath, rules } of files.toReversed()) {
    const inside = ownPath(path);
    const decisive = rules.findLast((rule) => {
      return (isFolder || !rule.isFolderOnly) && rule.matches(rule.isName ? name : inside);
    });
    if (decisive) return !decisive.isNegated;
  }
  return false;
}
