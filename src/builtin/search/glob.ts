// Globs on paths: `*`, `?`, `[a-z]`, `{a,b}` and `**`, matched without backtracking over the whole path.
import { LIMITS } from "../../base/limits.js";

type Sign =
  | { readonly kind: "char"; readonly char: string }
  | { readonly kind: "any" }
  | { readonly kind: "star" }
  | { readonly kind: "class"; readonly isNegated: boolean; readonly ranges: readonly (readonly [string, string])[] };

/** One part of a path: `**` stands for any number of parts. */
type Segment = { readonly kind: "deep" } | { readonly kind: "signs"; readonly signs: readonly Sign[] };

export interface Glob {
  /** `path` is relative, its parts divided by `/`. */
  matches(path: string): boolean;
}

export type CompiledGlob = { readonly ok: true; readonly glob: Glob } | { readonly ok: false; readonly reason: string };

/** A glob without a slash means a name at any depth; one with a slash means a path from where the search begins. */
export function compileGlob(pattern: string): CompiledGlob {
  if (pattern.length > LIMITS.glob.maxChars)
    return { ok: false, reason: `it is longer than ${LIMITS.glob.maxChars} characters` };
  const alternatives = expandBraces(pattern);
  if (!alternatives) return { ok: false, reason: `its {…} stand for more than ${LIMITS.glob.maxAlternatives} globs` };
  const globs = alternatives.map((alternative) => {
    const anchored = alternative.replace(/^\.?\//u, "").replace(/\/$/u, "/**");
    return compileSegments(alternative.includes("/") ? anchored : `**/${alternative}`);
  });
  return { ok: true, glob: { matches: (path) => globs.some((segments) => matchSegments(segments, path.split("/"))) } };
}

/** Exactly the pattern from the start of the path, without braces: what ignore files need. */
export function plainGlob(pattern: string): Glob {
  const segments = compileSegments(pattern);
  return { matches: (path) => matchSegments(segments, path.split("/")) };
}

/** Undefined when there would be too many. An unclosed brace stands for itself. */
function expandBraces(pattern: string): readonly string[] | undefined {
  let done: readonly string[] = [];
  let open: readonly string[] = [pattern];
  while (open.length > 0) {
    const expanded = open.map((text) => expandFirst(text));
    done = [...done, ...expanded.flatMap((parts) => (parts.length === 1 ? parts : []))];
    open = expanded.flatMap((parts) => (parts.length === 1 ? [] : parts));
    if (done.length + open.length > LIMITS.glob.maxAlternatives) return undefined;
  }
  return done;
}

/** One text: there was nothing to expand. Inner braces come first, so that nesting needs no stack. */
function expandFirst(text: string): readonly string[] {
  const found = /\{([^{}]*,[^{}]*)\}/u.exec(text);
  if (!found) return [text];
  const before = text.slice(0, found.index);
  const after = text.slice(found.index + found[0].length);
  return (found[1] ?? "").split(",").map((part) => `${before}${part}${after}`);
}

function compileSegments(pattern: string): readonly Segment[] {
  const segments = pattern.split("/").map((part): Segment => {
    return part === "**" ? { kind: "deep" } : { kind: "signs", signs: compileSigns(part) };
  });
  // A row of `**` means the same as one.
  return segments.filter(({ kind }, index) => kind !== "deep" || segments[index - 1]?.kind !== "deep");
}

function compileSigns(part: string): readonly Sign[] {
  const chars = Array.from(part);
  const signs: Sign[] = [];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] ?? "";
    const end = char === "[" ? classEnd(chars, at) : -1;
    if (end > 0) {
      signs.push(classSign(chars.slice(at + 1, end)));
      at = end;
    } else if (char === "*") {
      if (signs.at(-1)?.kind !== "star") signs.push({ kind: "star" });
    } else if (char === "?") signs.push({ kind: "any" });
    else if (char === "\\" && at + 1 < chars.length) {
      at += 1;
      signs.push({ kind: "char", char: chars[at] ?? "" });
    } else signs.push({ kind: "char", char });
  }
  return signs;
}

/** A `]` right after the opening belongs to the class. -1: it is never closed, and so stands for itself. */
function classEnd(chars: readonly string[], start: number): number {
  const isNegated = chars[start + 1] === "!" || chars[start + 1] === "^";
  return chars.indexOf("]", start + (isNegated ? 3 : 2));
}

function classSign(inside: readonly string[]): Sign {
  const isNegated = inside[0] === "!" || inside[0] === "^";
  const members = isNegated ? inside.slice(1) : inside;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < members.length; at++) {
    const low = members[at] ?? "";
    const high = members[at + 1] === "-" ? members[at + 2] : undefined;
    ranges.push([low, high ?? low]);
    if (high !== undefined) at += 2;
  }
  return { kind: "class", isNegated, ranges };
}

/** Which segments of the glob may stand for the parts so far: one pass over the path. */
function matchSegments(segments: readonly Segment[], parts: readonly string[]): boolean {
  let reached = withSkips(new Set([0]), segments);
  for (const part of parts) {
    const next = new Set<number>();
    for (const index of reached) {
      const segment = segments[index];
      if (segment?.kind === "deep") next.add(index).add(index + 1);
      else if (segment && matchSigns(segment.signs, part)) next.add(index + 1);
    }
    if (next.size === 0) return false;
    reached = withSkips(next, segments);
  }
  return reached.has(segments.length);
}

/** `**` may stand for nothing, except at the end: `a/**` means what is in `a`, not `a` itself. */
function withSkips(reached: Set<number>, segments: readonly Segment[]): Set<number> {
  for (const index of reached) {
    if (segments[index]?.kind === "deep" && index + 1 < segments.length) reached.add(index + 1);
  }
  return reached;
}

/** Only the last star is ever taken back: quadratic at worst, in the length of one name. */
function matchSigns(signs: readonly Sign[], name: string): boolean {
  const chars = Array.from(name);
  let sign = 0;
  let at = 0;
  let star = -1;
  let resume = 0;
  while (at < chars.length) {
    const current = signs[sign];
    if (current?.kind === "star") {
      star = sign;
      resume = at;
      sign += 1;
    } else if (current && matchSign(current, chars[at] ?? "")) {
      sign += 1;
      at += 1;
    } else if (star >= 0) {
      sign = star + 1;
      resume += 1;
      at = resume;
    } else return false;
  }
  return signs.slice(sign).every(({ kind }) => kind === "star");
}

function matchSign(sign: Exclude<Sign, { kind: "star" }>, char: string): boolean {
  switch (sign.kind) {
    case "char":
      return sign.char === char;
    case "any":
      return true;
    case "class":
      return sign.ranges.some(([low, high]) => low <= char && char <= high) !== sign.isNegated;
  }
}
