// Where paths in arguments really lead, for `under` conditions: links followed, also those that lead to nothing yet.
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../base/json/json.js";
import { valueAtPointer } from "../../base/json/json.js";
import type { Files } from "../../base/ports/world.js";
import { TOOL_LIMITS } from "../limits.js";
import type { PolicyRule } from "./rule.js";

/** Real paths by what was written. A text that is not in it, or without a path, is unclear: nobody can say where it leads. */
export interface PathTable {
  /** Directories of rules. */
  readonly folders: ReadonlyMap<string, string | undefined>;
  /** Texts of arguments. */
  readonly values: ReadonlyMap<string, string | undefined>;
}

export const NO_PATHS: PathTable = { folders: new Map(), values: new Map() };

export interface PathPlace {
  readonly files: Pick<Files, "find" | "linkTarget">;
  /** The session's directory: what rules are relative to. */
  readonly cwd: string;
  /** Where the tool takes relative paths to begin; the session's directory unless given. */
  readonly toolCwd?: string;
  /** What `~` means in a rule. */
  readonly home?: string | undefined;
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
      for (const text of textsAt(given, condition.pointer)) {
        if (values.has(text) || values.size >= TOOL_LIMITS.policyMaxPaths) continue;
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

function textsAt(given: JsonObject, pointer: string): readonly string[] {
  const value = valueAtPointer(given, pointer);
  const all = Array.isArray(value) ? value : [value];
  return all.filter((one) => typeof one === "string");
}

export function withHome(path: string, home: string | undefined): string {
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
  try {
    return text.toLowerCase().startsWith("file:") ? fileURLToPath(text) : undefined;
  } catch {
    return undefined; // another host, or an escaped separator
  }
}

/** As the system would walk it: step by step, each link followed before the next step. Undefined when that cannot be told. */
export async function realPath(path: string, { files }: Pick<PathPlace, "files">): Promise<string | undefined> {
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
