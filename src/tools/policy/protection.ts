// Whether a call would write a protected file: the paths in its arguments, links followed, and what git's own settings add.
import { basename, dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, valueAtPointer } from "../../base/json/json.js";
import type { Files } from "../../base/ports/world.js";
import { TOOL_LIMITS } from "../limits.js";
import { parseCommand } from "./command.js";
import type { PolicyDecision, PolicyQuestion, PolicyRule } from "./decide.js";
import { type ProtectedFile, type ProtectedPlaces, protectedPath } from "./protected-paths.js";

/** A path that a call may write. */
export interface WrittenPath {
  /** The argument it is from, as it was given. */
  readonly text: string;
  /** Absolute, links not followed. */
  readonly path: string;
  /** Stands for all that was not looked at, since there is too much of it. */
  readonly isRest?: boolean;
  /** A word of a command that need not be a path: it counts by its name, or where it is there. */
  readonly isBare?: boolean;
  /** Of a command that only a shell can read: it counts by its name alone. */
  readonly isLoose?: boolean;
}

export interface Finding extends WrittenPath {
  readonly file: ProtectedFile;
}

/** `cwd`: the session's directory, or where a tool or command takes relative paths to begin. `home`: what `~` means. */
interface Base {
  readonly cwd: string;
  readonly home?: string | undefined;
}

export interface ProtectionPlace extends ProtectedPlaces, Base {
  readonly files: Pick<Files, "find" | "linkTarget" | "readText">;
}

/** More paths than are looked up: some may be protected. */
const REST: ProtectedFile = { path: "", why: "there are too many paths in it to look at", isOwn: false };

/** Every protected file among these paths. Never rejects. */
export async function findProtected(
  paths: readonly WrittenPath[],
  place: ProtectionPlace,
): Promise<readonly Finding[]> {
  if (paths.length === 0) return [];
  const own = await Promise.all(
    place.own.map(async (one) => ({ ...one, path: (await realPath(one.path, place)) ?? one.path })),
  );
  const places: ProtectedPlaces = { ...place, own: [...place.own, ...own] };
  const found: Finding[] = [];
  let lookups = 0;
  for (const written of paths) {
    const byWords = written.isRest ? REST : protectedPath(written.path, places);
    const isDoubtful = byWords?.isOwn === true && written.isBare === true;
    if (!byWords && written.isLoose) continue;
    if (!byWords || isDoubtful) lookups += 1;
    const isTooMuch = (!byWords || isDoubtful) && lookups > TOOL_LIMITS.policyMaxPaths;
    if (isDoubtful && !isTooMuch && (await isOrdinaryWord(written.path, places, place))) continue;
    const file = isTooMuch ? REST : (byWords ?? (await followed(written.path, places, place)));
    if (file) found.push({ ...written, file });
  }
  return found;
}

/** In the folder of Tenon's own files every word could be one: those without an extension are it if they are there. */
async function isOrdinaryWord(path: string, places: ProtectedPlaces, { files }: ProtectionPlace): Promise<boolean> {
  const own = places.own.filter(({ scope }) => scope === "tree");
  if (basename(path).includes(".") || protectedPath(path, { ...places, own })) return false;
  try {
    return (await files.find(path)) === undefined;
  } catch {
    return false; // unknown, so it is asked about
  }
}

async function followed(
  path: string,
  places: ProtectedPlaces,
  place: ProtectionPlace,
): Promise<ProtectedFile | undefined> {
  try {
    const real = (await place.files.find(path))?.realPath ?? (await realPath(path, place)) ?? path;
    const file = protectedPath(real, places);
    if (file) return file;
    const isObeyed = (await isInGitFolder(real, place)) || (await isHook(real, place));
    return isObeyed ? { path: real, why: "git runs or obeys it", isOwn: false } : undefined;
  } catch {
    return { path, why: "it could not be looked at, so nobody knows what obeys it", isOwn: false };
  }
}

/** Levels of a repository's own folder that git obeys: `config`, `hooks/x`, `modules/x/config`, `worktrees/x/config`. */
const GIT_FOLDER_LEVELS = 3;

/** A bare repository, or one whose folder is not called `.git`. */
async function isInGitFolder(path: string, { files }: ProtectionPlace): Promise<boolean> {
  let folder = dirname(path);
  for (let level = 0; level < GIT_FOLDER_LEVELS; level += 1, folder = dirname(folder)) {
    const isRepository =
      (await files.find(join(folder, "HEAD")))?.kind === "file" &&
      (await files.find(join(folder, "objects")))?.kind === "folder";
    if (isRepository) return true;
    if (dirname(folder) === folder) return false;
  }
  return false;
}

/** Whether `core.hooksPath` of its repository or of the person says that hooks lie there, or their configuration includes it. */
async function isHook(path: string, place: ProtectionPlace): Promise<boolean> {
  const { home, configHome = home === undefined ? undefined : join(home, ".config") } = place;
  const repository = await repositoryOf(path, place);
  const configs = [
    repository ? [join(repository.common, "config"), join(repository.common, "config.worktree")] : [],
    home === undefined ? [] : join(home, ".gitconfig"),
    configHome === undefined ? [] : join(configHome, "git", "config"),
  ].flat();
  for (let next = 0; next < configs.length; next += 1) {
    const config = configs[next] ?? "";
    const text = await smallText(config, place);
    for (const [, written = ""] of text.matchAll(HOOKS_PATH)) {
      const folder = resolve(repository?.top ?? place.cwd, withHome(written.trim(), home));
      if (isUnder(path, (await realPath(folder, place)) ?? folder)) return true;
    }
    for (const included of includesIn(text)) {
      const file = resolve(dirname(config), withHome(included, home));
      if (path === file || path === (await realPath(file, place))) return true;
      if (configs.length < MAX_CONFIGS && !configs.includes(file)) configs.push(file);
    }
  }
  return false;
}

/** The files that `[include]` and `[includeIf]` of a configuration name, whatever the condition. */
function includesIn(text: string): readonly string[] {
  const sections = text.split(/^[ \t]{0,99}\[/mu).filter((section) => /^include(?:if)?[ \t\]."]/iu.test(section));
  return sections.flatMap((section) => Array.from(section.matchAll(INCLUDE_PATH), ([, path = ""]) => path.trim()));
}

const INCLUDE_PATH = /(?:^|\])[ \t]{0,99}path[ \t]{0,99}=[ \t]{0,99}"?([^"\r\n]{1,4096})/gimu;
/** Configurations of git that are read for one path. */
const MAX_CONFIGS = 20;

const HOOKS_PATH = /hookspath[ \t]{0,99}=[ \t]{0,99}"?([^"\r\n]{1,4096})/giu;
/** Folders above a file that are looked through for its repository. */
const MAX_LEVELS = 64;

/** `top`: the folder that has `.git`. `common`: where its configuration is. */
async function repositoryOf(
  path: string,
  place: ProtectionPlace,
): Promise<Readonly<Record<"top" | "common", string>> | undefined> {
  let top = dirname(path);
  for (let level = 0; level < MAX_LEVELS; level += 1, top = dirname(top)) {
    const found = await place.files.find(join(top, ".git"));
    if (found?.kind === "folder") return { top, common: found.realPath };
    if (found?.kind === "file") {
      const [, target = ""] =
        /^gitdir:[ \t]{0,99}([^\r\n]{1,4096})/u.exec(await smallText(found.realPath, place)) ?? [];
      const folder = resolve(top, target.trim());
      const shared = (await smallText(join(folder, "commondir"), place)).trim();
      return { top, common: shared === "" ? folder : resolve(folder, shared) };
    }
    if (dirname(top) === top) return undefined;
  }
  return undefined;
}

/** Empty for what is not there, is no file or is longer than any configuration of git. */
async function smallText(path: string, { files }: ProtectionPlace): Promise<string> {
  try {
    const found = await files.find(path);
    return found?.kind === "file" && found.bytes <= TOOL_LIMITS.gitConfigMaxBytes ? await files.readText(path) : "";
  } catch {
    return "";
  }
}

/** The paths in a call's arguments that a tool may write, for tools that do not say which they are. */
export function pathsInArguments(given: JsonObject, place: Base): readonly WrittenPath[] {
  if (!mayHavePaths(given)) return NO_WRITTEN_PATHS;
  const found: WrittenPath[] = [];
  const open: (readonly [key: string, value: JsonValue])[] = [["", given]];
  let seen = 0;
  while (seen < TOOL_LIMITS.policyMaxTexts) {
    const next = open.pop();
    if (!next) break;
    seen += 1;
    const [key, value] = next;
    if (typeof value === "string") {
      const path = pathIn(key, value, place);
      if (path !== undefined) found.push({ text: value, path });
    } else if (Array.isArray(value)) {
      for (const one of value) open.push([key, one]);
    } else if (isJsonObject(value)) {
      for (const [name, one] of Object.entries(value)) if (one !== undefined) open.push([name, one]);
    }
  }
  return open.length === 0 ? found : [...found, { text: "", path: place.cwd, isRest: true }];
}

const NO_WRITTEN_PATHS: readonly WrittenPath[] = [];

/** Every call comes through here, and most have a few texts that are no paths. */
function mayHavePaths(given: JsonObject): boolean {
  let seen = 0;
  for (const key in given) {
    const value = given[key];
    seen += 1;
    if (seen >= TOOL_LIMITS.policyMaxTexts || (typeof value === "object" && value !== null)) return true;
    if (typeof value === "string" && (mayBeginPath(value) || isPathKey(key))) return true;
  }
  return false;
}

/** At least where `pathIn` finds one by the text alone. */
function mayBeginPath(text: string): boolean {
  return text.includes("/") || text.includes("\\") || /^\s*["'`]?[.~]/u.test(text);
}

/** Names of arguments come again with every call. */
const knownKeys = new Map<string, boolean>();
const KNOWN_KEYS = { count: 1_000, chars: 100 } as const;

function isPathKey(key: string): boolean {
  const known = knownKeys.get(key);
  if (known !== undefined) return known;
  const isPath = PATH_KEY.test(key);
  if (key.length > KNOWN_KEYS.chars) return isPath;
  if (knownKeys.size >= KNOWN_KEYS.count) knownKeys.clear();
  knownKeys.set(key, isPath);
  return isPath;
}

const PATH_KEY = /path|file|dir|folder|uri|location|target|dest|source|root|cwd|^(?:src|from|to|name)$/iu;
const MAX_PATH_CHARS = 4_096;

/** A text without separators is a path only where its name says so, or where it begins as hidden files do. */
function pathIn(key: string, text: string, { cwd, home }: Base): string | undefined {
  if (text === "" || text.length > MAX_PATH_CHARS || text.includes("\n") || text.includes("\0")) return undefined;
  // A well-known file server takes off blanks and quotes, and expands the home folder.
  const bare = text.trim().replaceAll(/^["'`]|["'`]$/gu, "");
  if (!/[/\\]|^[.~]/u.test(bare) && !isPathKey(key)) return undefined;
  if (/^file:/iu.test(bare)) return pathOfUrl(bare);
  if (/^[a-z][a-z0-9+.-]{1,30}:\/\//iu.test(bare)) return undefined;
  return resolve(cwd, withHome(bare.replace(/^(?:\$HOME|\$\{HOME\}|%USERPROFILE%)(?=$|[/\\])/u, "~"), home));
}

/** The words of a command that may be files it writes. What a shell makes of them only the shell knows. */
export function pathsInCommand(command: string, { cwd, home }: Base): readonly WrittenPath[] {
  const found = new Map<string, WrittenPath>();
  let seen = 0;
  for (const { word, isLoose } of writableWords(command)) {
    seen += 1;
    if (seen > TOOL_LIMITS.policyMaxTexts) return [...found.values(), { text: "", path: cwd, isRest: true }];
    const isBare = !/[/\\]|^[.~]/u.test(word);
    const path = pathIn("path", word, { cwd, home });
    const known = path === undefined ? undefined : found.get(path);
    if (path === undefined || (known && !known.isLoose)) continue;
    const doubts = defined({ isBare: isBare || undefined, isLoose: (isBare && isLoose) || undefined });
    found.set(path, { text: command, path, ...doubts });
  }
  return [...found.values()];
}

/** What separates words, and what may stand around a path in one. */
const BETWEEN = /[\s"'`;|&<>()=,]+/u;

function* writableWords(command: string): Generator<{ readonly word: string; readonly isLoose: boolean }> {
  const parts = command.split(/["'$`\\<>(){}]/u, 2).length > 1 ? [command] : command.split(/[;&|\n\r]+/u);
  const parsed = parts.filter((part) => part.trim() !== "").map((part) => parseCommand(part));
  const simple = parsed.flatMap((one) => (one.kind === "simple" ? [one.words] : []));
  if (simple.length === parsed.length) {
    for (const words of simple) for (const word of argumentsOf(words)) yield { word, isLoose: false };
    return;
  }
  // `head` is mostly the program, and in commands of git `HEAD` is mostly a commit.
  const isName = (word: string) => word === "head" || (word === "HEAD" && /\bgit\b/u.test(command));
  for (const text of new Set([command, command.replaceAll(/["'\\]/gu, "")])) {
    for (const one of text.split(BETWEEN)) {
      for (const word of [one, ...valuesOf(one)]) if (!isName(word)) yield { word, isLoose: true };
    }
  }
}

/** Programs that write none of the files they are given, other than by an option. */
const READERS: ReadonlySet<string> = new Set("cat head tail more wc stat file ls du grep rg diff cmp".split(" "));
const GIT_READERS: ReadonlySet<string> = new Set(
  "status log diff show blame add commit shortlog describe ls-files rev-parse cat-file".split(" "),
);

function* argumentsOf([program = "", ...words]: readonly string[]): Generator<string> {
  const isGit = program === "git";
  const isReader = isGit ? GIT_READERS.has(words[0] ?? "") : READERS.has(program);
  if (/[/\\]/u.test(program)) yield program;
  let isOutput = false;
  for (const word of words) {
    const isOption = word.startsWith("-");
    const isRevision = isGit && (word === "HEAD" || (isReader && /^[\w-]+\/HEAD$/u.test(word)));
    const isRead = isReader && !isOption && !isOutput && !/[/\\]|^[.~]/u.test(word);
    isOutput = isGit && /^--?o(?!neline)/u.test(word);
    if (isRevision || isRead) continue;
    if (!isOption) yield word;
    yield* valuesOf(word);
    // A word in quotes may be a command of its own, or several paths.
    if (BETWEEN.test(word)) yield* word.split(BETWEEN);
  }
}

/** What an option may have for a value: `-ofile`, `-vofile` as far as it looks like a path, and `--name=file`. */
function valuesOf(word: string): readonly string[] {
  if (!word.startsWith("-")) return [];
  const equals = word.indexOf("=");
  const path = /[./~].*$/u.exec(word)?.[0];
  return [equals < 0 ? [] : word.slice(equals + 1), /^-[^-]./u.test(word) ? word.slice(2) : [], path ?? []].flat();
}

/**
 * The decision with protected files in mind: what would be allowed is asked about. An explicit `bypass`, or a user's
 * rule that names the path, lets it pass; for Tenon's own files nothing does.
 */
export function underProtection(
  decision: PolicyDecision,
  found: readonly Finding[],
  facts: Base & Pick<PolicyQuestion, "mode" | "mayBypass">,
): PolicyDecision {
  const isOpen = (finding: Finding) => {
    if (finding.file.isOwn) return false;
    if (facts.mode === "bypass" && facts.mayBypass) return true;
    return decision.effect === "allow" && decision.rule !== undefined && isNamed(finding, decision.rule, facts);
  };
  const guarded = found.find(({ file }) => file.isOwn) ?? found.find((finding) => !isOpen(finding));
  if (!guarded || decision.effect === "deny") return decision;
  const { path, file } = guarded;
  const shown = isUnder(path, facts.cwd) && path !== facts.cwd ? path.slice(facts.cwd.length + 1) : path;
  const leads = file.path === path ? "" : ` (${file.path})`;
  const reason = file === REST ? file.why : `${shown}${leads} is protected: ${file.why}`;
  const asked = decision.effect === "ask" && decision.rule !== undefined;
  return {
    effect: "ask",
    // As a rule that wants it asked about: no earlier approval covers it.
    rule: asked ? decision.rule : { effect: "ask", reason },
    reason: asked ? `${decision.reason}, and ${reason}` : reason,
    protects: file,
  };
}

/** `equals` and `oneOf` name a file, `under` a folder that is protected itself. Globs and prefixes name nothing exactly. */
function isNamed({ text, path, file }: Finding, rule: PolicyRule, { cwd, home }: Base): boolean {
  const isSame = (value: JsonValue) =>
    typeof value === "string" && (value === text || resolve(cwd, withHome(value, home)) === path);
  return (rule.arguments ?? []).some((condition) => {
    if ("equals" in condition) return isSame(condition.equals);
    if ("oneOf" in condition) return condition.oneOf.some(isSame);
    if (!("under" in condition)) return false;
    const folder = resolve(cwd, withHome(condition.under, home));
    const isProtected = protectedPath(folder, { home, own: [] }) !== undefined;
    return isProtected && (isUnder(path, folder) || isUnder(file.path, folder));
  });
}

/** Real paths by what was written. A text that is not in it, or without a path, is unclear: nobody can say where it leads. */
export interface PathTable {
  /** Directories of rules. */
  readonly folders: ReadonlyMap<string, string | undefined>;
  /** Texts of arguments. */
  readonly values: ReadonlyMap<string, string | undefined>;
}

export const NO_PATHS: PathTable = { folders: new Map(), values: new Map() };

export interface PathPlace extends Base {
  readonly files: Pick<Files, "find" | "linkTarget">;
  /** Where the tool takes relative paths to begin; the session's directory unless given. */
  readonly toolCwd?: string;
}

/**
 * Looks up every path that the `under` conditions of some rules compare. Never rejects. What it finds is true now: a rule
 * is no sandbox, and a process that changes links while a call runs can lead it elsewhere.
 */
export async function resolvePaths(
  rules: readonly PolicyRule[],
  given: JsonObject,
  place: PathPlace,
): Promise<PathTable> {
  const folders = new Map<string, string | undefined>();
  const values = new Map<string, string | undefined>();
  for (const rule of rules) {
    for (const condition of rule.arguments ?? []) {
      if (!("under" in condition)) continue;
      const { under } = condition;
      if (!folders.has(under))
        folders.set(under, await realPath(resolve(place.cwd, withHome(under, place.home)), place));
      for (const text of [valueAtPointer(given, condition.pointer)].flat()) {
        if (typeof text !== "string" || values.has(text) || values.size >= TOOL_LIMITS.policyMaxPaths) continue;
        values.set(text, await realOfArgument(text, place));
      }
    }
  }
  return { folders, values };
}

/** Both must be real paths. */
export function isUnder(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function withHome(path: string, home: string | undefined): string {
  return home !== undefined && /^~(?:$|[/\\])/u.test(path) ? join(home, path.slice(1)) : path;
}

/**
 * Texts that a tool may read as another path than they are: `~` and variables are expanded, quotes and blanks are taken
 * off (a well-known file server does both), `..` is taken back before or after links are followed.
 */
const AMBIGUOUS = /^[~$%"'`\s]|["'`\s]$|[\p{Cc}]/u;
const SCHEME = /^[a-z][a-z0-9+.-]+:/iu;

async function realOfArgument(text: string, place: PathPlace): Promise<string | undefined> {
  const path = plainPath(text);
  if (path === undefined) return undefined;
  const base = place.toolCwd ?? place.cwd;
  const lexical = await realPath(resolve(base, path), place);
  if (!path.split(/[/\\]/u).includes("..")) return lexical;
  const walked = await realPath(isAbsolute(path) ? path : `${base}${sep}${path}`, place);
  return walked === lexical ? lexical : undefined;
}

function plainPath(text: string): string | undefined {
  if (text === "" || AMBIGUOUS.test(text) || (sep === "/" && text.includes("\\"))) return undefined;
  if (!SCHEME.test(text)) return text;
  return text.toLowerCase().startsWith("file:") ? pathOfUrl(text) : undefined;
}

function pathOfUrl(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined; // another host, or an escaped separator
  }
}

/** As the system would walk it: step by step, each link followed before the next step. Undefined when that cannot be told. */
async function realPath(path: string, { files }: Pick<PathPlace, "files">): Promise<string | undefined> {
  const { root } = parse(path);
  let ahead = stepsOf(path.slice(root.length));
  let current = root;
  let links = 0;
  try {
    for (let step = ahead.shift(); step !== undefined; step = ahead.shift()) {
      if (step === "..") {
        current = dirname(current);
        continue;
      }
      const next = join(current, step);
      const found = await files.find(next);
      if (found) {
        current = found.realPath;
        continue;
      }
      const target = await files.linkTarget(next);
      if (target === undefined) current = next;
      else {
        links += 1;
        if (links > TOOL_LIMITS.pathMaxLinks) return undefined;
        const to = isAbsolute(target) ? parse(target).root : current;
        ahead = [...stepsOf(target.slice(isAbsolute(target) ? to.length : 0)), ...ahead];
        current = to;
      }
    }
    return current;
  } catch {
    return undefined; // a folder that may not be looked into
  }
}

function stepsOf(path: string): string[] {
  return path.split(sep === "/" ? "/" : /[/\\]/u).filter((step) => step !== "" && step !== ".");
}
