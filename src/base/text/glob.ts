// Globs on names and on paths, matched in one pass over the text: all positions in the glob are followed at once, 32 in a step.
import { LIMITS } from "../limits.js";

/** Called with the steps of a match, a few nanoseconds each, and may throw to end it. */
export type SpendSteps = (steps: number) => void;

export type GlobMatcher = (text: string, spend?: SpendSteps) => boolean;

/** `any…` and `star…` come in two forms: those of paths stop at `/`. */
type Sign =
  | { readonly kind: "char"; readonly codePoint: number }
  | { readonly kind: "any" | "anyInPart" | "star" | "starInPart" | "deep" }
  | { readonly kind: "class"; readonly isNegated: boolean; readonly ranges: readonly (readonly [number, number])[] };

const SLASH = 0x2f;

/** A glob on names: `*` stands for any text, `?` for one character, `\` before either for itself. */
export function compileGlob(glob: string): GlobMatcher {
  return matcherOf(signsOf(codePointsOf(glob), false));
}

export function isGlobMatch(glob: string, text: string): boolean {
  return compileGlob(glob)(text);
}

/** A glob that matches the name and nothing else. */
export function literalGlob(name: string): string {
  return name.replaceAll(/[*?\\]/gu, "\\$&");
}

export type CompiledPathGlob =
  | { readonly ok: true; readonly matches: GlobMatcher }
  | { readonly ok: false; readonly reason: string };

/**
 * A glob on paths: `*`, `?`, `[a-z]`, `{a,b}` and `**`. Paths are relative, their parts divided by `/`. A glob without a
 * slash means a name at any depth; one with a slash means a path from where the search begins.
 */
export function compilePathGlob(pattern: string): CompiledPathGlob {
  const { maxChars, maxAlternatives, maxExpandedChars } = LIMITS.glob;
  if (pattern.length > maxChars) return { ok: false, reason: `it is longer than ${maxChars} characters` };
  const alternatives = expandBraces(pattern, maxAlternatives);
  const chars = alternatives?.reduce((sum, { length }) => sum + length, 0) ?? 0;
  if (!alternatives || chars > maxExpandedChars) {
    return {
      ok: false,
      reason: `its {…} stand for more than ${maxAlternatives} globs or ${maxExpandedChars} characters`,
    };
  }
  const matchers = alternatives.map((alternative) => {
    const anchored = alternative.replace(/^\.?\//u, "").replace(/\/$/u, "/**");
    return plainPathGlob(alternative.includes("/") ? anchored : `**/${alternative}`);
  });
  return { ok: true, matches: (path, spend) => matchers.some((matches) => matches(path, spend)) };
}

/** Exactly the pattern from the start of the path, without braces: what ignore files need. */
export function plainPathGlob(pattern: string): GlobMatcher {
  return matcherOf(pathSigns(pattern));
}

/** Undefined when there would be too many. An unclosed brace stands for itself. */
function expandBraces(pattern: string, max: number): readonly string[] | undefined {
  const done: string[] = [];
  let open: readonly string[] = [pattern];
  while (open.length > 0) {
    const next: string[] = [];
    for (const text of open) {
      const parts = expandFirst(text);
      if (parts) next.push(...parts);
      else done.push(text);
      if (done.length + next.length > max) return undefined;
    }
    open = next;
  }
  return done;
}

/** Undefined: there is nothing to expand. Inner braces come first, so that nesting needs no stack. */
function expandFirst(text: string): readonly string[] | undefined {
  let start = -1;
  let hasComma = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "\\") at += 1;
    else if (char === "{") {
      start = at;
      hasComma = false;
    } else if (char === ",") hasComma = start >= 0;
    else if (char === "}" && start >= 0 && hasComma) {
      const parts = text.slice(start + 1, at).split(",");
      return parts.map((part) => `${text.slice(0, start)}${part}${text.slice(at + 1)}`);
    } else if (char === "}") start = -1;
  }
  return undefined;
}

/** `**` as a part of its own stands for any number of parts; at the end for at least one. */
function pathSigns(pattern: string): readonly Sign[] {
  const parts = pattern.split("/");
  const signs: Sign[] = [];
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (part !== "**") {
      signs.push(...signsOf(codePointsOf(part), true));
      if (!isLast) signs.push({ kind: "char", codePoint: SLASH });
    } else if (isLast) signs.push({ kind: "any" }, { kind: "star" });
    else if (signs.at(-1)?.kind !== "deep") signs.push({ kind: "deep" });
  }
  return signs;
}

const STAR = 0x2a;
const QUESTION = 0x3f;
const BACKSLASH = 0x5c;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const DASH = 0x2d;

/** The signs of a name, or of one part of a path, which has classes too. A row of stars means the same as one. */
function signsOf(codePoints: readonly number[], isPart: boolean): readonly Sign[] {
  const signs: Sign[] = [];
  const star = isPart ? "starInPart" : "star";
  for (let at = 0; at < codePoints.length; at++) {
    const codePoint = codePoints[at] ?? 0;
    const read = isPart && codePoint === OPEN ? readClass(codePoints, at) : undefined;
    if (read) {
      signs.push(read.sign);
      at = read.end;
    } else if (codePoint === STAR) {
      if (signs.at(-1)?.kind !== star) signs.push({ kind: star });
    } else if (codePoint === QUESTION) signs.push({ kind: isPart ? "anyInPart" : "any" });
    else if (codePoint === BACKSLASH && at + 1 < codePoints.length) {
      at += 1;
      signs.push({ kind: "char", codePoint: codePoints[at] ?? 0 });
    } else signs.push({ kind: "char", codePoint });
  }
  return signs;
}

/** A `]` right after the opening belongs to the class. Undefined: it is never closed, and so stands for itself. */
function readClass(codePoints: readonly number[], start: number): { sign: Sign; end: number } | undefined {
  const isNegated = codePoints[start + 1] === 0x21 || codePoints[start + 1] === 0x5e; // ! or ^
  const first = start + (isNegated ? 2 : 1);
  const ranges: (readonly [number, number])[] = [];
  for (let at = first; at < codePoints.length; at++) {
    if (codePoints[at] === CLOSE && at > first) return { sign: { kind: "class", isNegated, ranges }, end: at };
    if (codePoints[at] === BACKSLASH) at += 1;
    const low = codePoints[at] ?? 0;
    const isRange = codePoints[at + 1] === DASH && at + 2 < codePoints.length && codePoints[at + 2] !== CLOSE;
    if (isRange) at += codePoints[at + 2] === BACKSLASH ? 3 : 2;
    ranges.push([low, isRange ? (codePoints[at] ?? 0) : low]);
  }
  return undefined;
}

function codePointsOf(text: string): readonly number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function matcherOf(signs: readonly Sign[]): GlobMatcher {
  if (signs.every(({ kind }) => kind === "char")) {
    const literal = signs.map((sign) => (sign.kind === "char" ? String.fromCodePoint(sign.codePoint) : "")).join("");
    return (text) => text === literal;
  }
  const automaton = new Automaton(signs);
  return (text, spend) => automaton.matches(text, spend);
}

/** Steps are reported in lots: a call for each would cost more than the step. */
const LOT = 4_096;

/**
 * Bit n of the state is set when the first n signs may stand for the text so far. Each character of the text takes one
 * step for 32 signs, whatever the glob is: time is bounded by the product of the text and a 32nd of the glob.
 */
class Automaton {
  readonly #signs: readonly Sign[];
  readonly #words: number;
  /** Signs that may go on standing for characters: all characters, and those that are no `/`. */
  readonly #loops: Int32Array;
  readonly #partLoops: Int32Array;
  readonly #stars: Int32Array;
  readonly #deeps: Int32Array;
  /** Signs that a character completes, by character: those of ASCII are kept. */
  readonly #ascii: (Int32Array | undefined)[] = [];
  readonly #others: Int32Array;
  readonly #slashes: Int32Array;
  readonly #classes: number[] = [];
  readonly #chars = new Map<number, number[]>();

  constructor(signs: readonly Sign[]) {
    this.#signs = signs;
    this.#words = (signs.length >>> 5) + 1;
    const bits = () => new Int32Array(this.#words);
    const loops = (this.#loops = bits());
    const partLoops = (this.#partLoops = bits());
    const stars = (this.#stars = bits());
    const deeps = (this.#deeps = bits());
    const others = (this.#others = bits());
    const slashes = (this.#slashes = bits());
    const sets = {
      any: [slashes, others],
      anyInPart: [others],
      deep: [deeps, slashes, loops, partLoops],
      star: [loops, stars, partLoops],
      starInPart: [stars, partLoops],
    };
    for (const [index, sign] of signs.entries()) {
      if (sign.kind === "class") this.#classes.push(index);
      else if (sign.kind === "char") {
        const places = this.#chars.get(sign.codePoint);
        if (places) places.push(index);
        else this.#chars.set(sign.codePoint, [index]);
      } else for (const set of sets[sign.kind]) setBit(set, index);
    }
  }

  matches(text: string, spend?: SpendSteps): boolean {
    const words = this.#words;
    const state = new Int32Array(words);
    this.#start(state);
    let steps = 0;
    for (let at = 0; at < text.length; at++) {
      const codePoint = text.codePointAt(at) ?? 0;
      if (codePoint > 0xffff) at += 1;
      const isAlive = this.#step(state, codePoint);
      steps += codePoint < 128 ? words : words + this.#classes.length;
      if (steps >= LOT) {
        spend?.(steps);
        steps = 0;
      }
      if (!isAlive) break;
      if (at === text.length - 1) {
        spend?.(steps);
        return this.#isAccepted(state);
      }
    }
    spend?.(steps);
    return text === "" && this.#isAccepted(state);
  }

  #isAccepted(state: Int32Array): boolean {
    return ((state[this.#signs.length >>> 5] ?? 0) & (1 << (this.#signs.length & 31))) !== 0;
  }

  #start(state: Int32Array): void {
    state[0] = 1;
    const first = this.#signs[0]?.kind;
    if (first === "deep") setBit(state, 1);
    // What follows a leading `**/` may be a star, which may stand for nothing too.
    if (first === "star" || first === "starInPart") setBit(state, 1);
    else if (first === "deep" && this.#signs[1]?.kind === "starInPart") setBit(state, 2);
  }

  /** False when no position is left. */
  #step(state: Int32Array, codePoint: number): boolean {
    const completed = this.#completedBy(codePoint);
    const loops = codePoint === SLASH ? this.#loops : this.#partLoops;
    let alive = 0;
    let carried = 0;
    let carriedDeep = 0;
    let carriedStar = 0;
    for (let word = 0; word < this.#words; word++) {
      const now = state[word] ?? 0;
      const advanced = now & (completed[word] ?? 0);
      const entered = (advanced << 1) | carried;
      carried = advanced >>> 31;
      // `**/` may stand for nothing where it is reached, and later only right after a `/`.
      const skipped = entered & (this.#deeps[word] ?? 0);
      let next = entered | (now & (loops[word] ?? 0)) | (skipped << 1) | carriedDeep;
      carriedDeep = skipped >>> 31;
      const starred = next & (this.#stars[word] ?? 0);
      next |= (starred << 1) | carriedStar;
      carriedStar = starred >>> 31;
      state[word] = next;
      alive |= next;
    }
    return alive !== 0;
  }

  #completedBy(codePoint: number): Int32Array {
    if (codePoint >= 128) {
      const isPlain = this.#classes.length === 0 && !this.#chars.has(codePoint);
      return isPlain ? this.#others : this.#work(codePoint);
    }
    return (this.#ascii[codePoint] ??= this.#work(codePoint));
  }

  #work(codePoint: number): Int32Array {
    const isSlash = codePoint === SLASH;
    const bits = (isSlash ? this.#slashes : this.#others).slice();
    for (const index of this.#chars.get(codePoint) ?? []) setBit(bits, index);
    if (isSlash) return bits;
    for (const index of this.#classes) {
      const sign = this.#signs[index];
      if (sign?.kind !== "class") continue;
      if (sign.ranges.some(([low, high]) => low <= codePoint && codePoint <= high) !== sign.isNegated) {
        setBit(bits, index);
      }
    }
    return bits;
  }
}

function setBit(bits: Int32Array, index: number): void {
  bits[index >>> 5] = (bits[index >>> 5] ?? 0) | (1 << (index & 31));
}
