// The rules of `.gitignore` files: the last one that fits decides, deeper files before those above them.

import { LIMITS } from "../../base/limits.js";
import { type GlobMatcher, plainPathGlob } from "../../base/text/glob.js";
import { BUILTIN_LIMITS } from "../limits.js";

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
    const rule = line.length > LIMITS.glob.maxChars ? "too long" : parseRule(line);
    if (rule === undefined) continue;
    isCut ||= rule === "too long";
    if (rule === "too long") continue;
    if (count >= maxRules || chars + rule.chars > maxChars) return { ownPath, rules, isCut: true };
    rules.push(rule);
    count += 1;
    chars += rule.chars;
  }
  return { ownPath, rules, isCut };
}

function parseRule(line: string): Rule | undefined {
  const trimmed = withoutEnd(line);
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

/** Spaces at the end do not count, unless a backslash stands before the first. */
function withoutEnd(line: string): string {
  const trimmed = line.trimEnd();
  return trimmed.endsWith("\\") && line.length > trimmed.length ? `${trimmed} ` : trimmed;
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
