// The rules of `.gitignore` files: the last one that fits decides, deeper files before those above them.
import { type Glob, plainGlob } from "./glob.js";

interface Rule {
  readonly glob: Glob;
  readonly isNegated: boolean;
  readonly isFolderOnly: boolean;
}

/** The rules of one file, which count from its own folder down. */
export interface IgnoreFile {
  /** The way from its folder to a thing whose way from the start of the walk is given; both divided by `/`. */
  readonly ownPath: (path: string) => string;
  readonly rules: readonly Rule[];
}

export function parseIgnoreFile(text: string, ownPath: (path: string) => string): IgnoreFile {
  return { ownPath, rules: text.split("\n").flatMap((line) => parseRule(line) ?? []) };
}

function parseRule(line: string): Rule | undefined {
  const trimmed = withoutEnd(line);
  if (trimmed === "" || trimmed.startsWith("#")) return undefined;
  const isNegated = trimmed.startsWith("!");
  const body = isNegated ? trimmed.slice(1) : trimmed;
  const isFolderOnly = body.endsWith("/");
  const path = isFolderOnly ? body.slice(0, -1) : body;
  if (path === "") return undefined;
  const isAnchored = path.includes("/");
  const glob = plainGlob(isAnchored ? path.replace(/^\//u, "") : `**/${path}`);
  return { glob, isNegated, isFolderOnly };
}

/** Spaces at the end do not count, unless a backslash stands before the first. */
function withoutEnd(line: string): string {
  const trimmed = line.trimEnd();
  return trimmed.endsWith("\\") && line.length > trimmed.length ? `${trimmed} ` : trimmed;
}

/** `files` from the outermost to the innermost. What lies in an ignored folder is never asked about. */
export function isIgnored(path: string, isFolder: boolean, files: readonly IgnoreFile[]): boolean {
  for (const { ownPath, rules } of files.toReversed()) {
    const inside = ownPath(path);
    const decisive = rules.findLast((rule) => (isFolder || !rule.isFolderOnly) && rule.glob.matches(inside));
    if (decisive) return !decisive.isNegated;
  }
  return false;
}
