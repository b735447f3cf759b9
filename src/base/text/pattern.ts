// Regular expressions of strangers, matched in linear time: no pattern of a server can make a match take for ever.
//
// Node's own engine backtracks: `^(a+)+$` on 33 characters runs for minutes. Here a pattern becomes a small program whose
// possible positions are all followed at once (Thompson, Pike), one pass over the text. Why not re2js: loading it takes
// longer than the 50 ms the event loop may be held, and a match cannot be metered; this is 200 lines, and metered.
// What no such program can express (lookaround, back references) is not matched at all: `compilePattern` says so.

type Test = (codePoint: number) => boolean;

type Instruction =
  | { readonly op: "char"; readonly test: Test }
  | { readonly op: "split"; to: number; or: number }
  | { readonly op: "jump"; to: number }
  | { readonly op: "assert"; readonly holds: (before: number, after: number) => boolean }
  | { readonly op: "match" };

/** A program grows with the counts in its pattern; `{1,1000}` of one character fits, counts inside counts do not. */
const MAX_INSTRUCTIONS = 4_000;
const MAX_NESTING = 50;
/** Before the first and after the last character. */
const NONE = -1;

class Unsupported extends Error {}

/** Hears what is about to be done, in steps of about 50 ns, and may throw to end it. */
export type Spend = (steps: number) => void;

export interface LinearPattern {
  test(text: string, spend: Spend): boolean;
}

/** Undefined when the pattern is malformed, or needs what linear time cannot give. */
export function compilePattern(source: string, spend: Spend): LinearPattern | undefined {
  if (source.length > MAX_INSTRUCTIONS) return undefined;
  try {
    const program = new Compiler(source, spend).compile();
    return { test: (text, spendMore) => run(program, text, spendMore) };
  } catch (thrown) {
    if (thrown instanceof Unsupported || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

class Compiler {
  readonly #chars: readonly string[];
  readonly #spend: Spend;
  readonly #program: Instruction[] = [];
  #at = 0;
  #nesting = 0;

  constructor(source: string, spend: Spend) {
    this.#chars = Array.from(source); // by code points
    this.#spend = spend;
  }

  compile(): readonly Instruction[] {
    this.#alternatives();
    if (this.#at < this.#chars.length) throw new Unsupported();
    this.#emit({ op: "match" });
    return this.#program;
  }

  #emit<T extends Instruction>(instruction: T): T {
    if (this.#program.length >= MAX_INSTRUCTIONS) throw new Unsupported();
    this.#spend(1);
    this.#program.push(instruction);
    return instruction;
  }

  #alternatives(): void {
    this.#nesting += 1;
    if (this.#nesting > MAX_NESTING) throw new Unsupported();
    const ends: { to: number }[] = [];
    for (;;) {
      const start = this.#program.length;
      this.#sequence();
      if (this.#chars[this.#at] !== "|") break;
      this.#at += 1;
      // What has been written of this alternative moves down by one, to make room for the choice before it.
      const written = this.#program.splice(start);
      const split = this.#emit({ op: "split", to: start + 1, or: 0 });
      for (const instruction of written) this.#emit(shifted(instruction, 1, start));
      ends.push(this.#emit({ op: "jump", to: 0 }));
      split.or = this.#program.length;
    }
    for (const end of ends) end.to = this.#program.length;
    this.#nesting -= 1;
  }

  #sequence(): void {
    for (let char = this.#chars[this.#at]; char !== undefined && char !== "|" && char !== ")"; ) {
      const start = this.#program.length;
      this.#at += 1;
      if (!this.#assertion(char)) {
        this.#atom(char);
        this.#quantifier(start);
      }
      char = this.#chars[this.#at];
    }
  }

  #assertion(char: string): boolean {
    const next = this.#chars[this.#at];
    if (char === "^") this.#emit({ op: "assert", holds: (before) => before === NONE });
    else if (char === "$") this.#emit({ op: "assert", holds: (_, after) => after === NONE });
    else if (char === "\\" && (next === "b" || next === "B")) {
      this.#at += 1;
      const isEdge = next === "b";
      this.#emit({ op: "assert", holds: (before, after) => (isWord(before) !== isWord(after)) === isEdge });
    } else return false;
    return true;
  }

  #atom(char: string): void {
    switch (char) {
      case "(":
        return this.#group();
      case "[":
        return this.#charOf(`[${this.#upTo("]")}`);
      case "\\":
        return this.#charOf(`\\${this.#escape()}`);
      case ".":
        return this.#charOf(".");
      default: {
        if (/[*+?{}\]]/.test(char)) throw new Unsupported(); // a syntax error in the unicode mode that JSON Schema asks for
        const wanted = char.codePointAt(0);
        this.#emit({ op: "char", test: (codePoint) => codePoint === wanted });
      }
    }
  }

  #group(): void {
    if (this.#chars[this.#at] === "?") {
      const kind = this.#chars[this.#at + 1];
      const isNamed = kind === "<" && this.#chars[this.#at + 2] !== "=" && this.#chars[this.#at + 2] !== "!";
      if (kind !== ":" && !isNamed) throw new Unsupported(); // lookaround, or flags
      this.#at += 2;
      if (isNamed) this.#upTo(">");
    }
    this.#alternatives();
    if (this.#chars[this.#at] !== ")") throw new Unsupported();
    this.#at += 1;
  }

  /** The rest up to and with an unescaped `end`. */
  #upTo(end: string): string {
    let text = "";
    for (let char = this.#chars[this.#at++]; char !== undefined; char = this.#chars[this.#at++]) {
      text += char;
      if (char === end) return text;
      if (char === "\\") text += this.#chars[this.#at++] ?? "";
    }
    throw new Unsupported();
  }

  #escape(): string {
    const char = this.#chars[this.#at++];
    if (char === undefined || /[1-9k]/.test(char)) throw new Unsupported(); // back references
    const rest = this.#chars.slice(this.#at, this.#at + 40).join("");
    const shape = ESCAPE_TAILS.get(char);
    const tail = shape?.exec(rest)?.[0] ?? "";
    this.#at += tail.length;
    return char + tail;
  }

  /** One character of a class: left to Node's engine, which has nothing to backtrack over in a single character. */
  #charOf(source: string): void {
    this.#spend(CLASS_STEPS + PROPERTY_STEPS * (source.match(/\\p/gi)?.length ?? 0));
    const native = nativeClass(source);
    const ascii = new Int8Array(128).fill(-1);
    const test = (codePoint: number): boolean => {
      if (codePoint >= 128) return native.test(String.fromCodePoint(codePoint));
      if (ascii[codePoint] === -1) ascii[codePoint] = native.test(String.fromCodePoint(codePoint)) ? 1 : 0;
      return ascii[codePoint] === 1;
    };
    this.#emit({ op: "char", test });
  }

  #quantifier(start: number): void {
    const bounds = this.#bounds();
    if (!bounds) return;
    if (this.#chars[this.#at] === "?") this.#at += 1; // lazy: which match is found does not matter, only whether
    const body = this.#program.splice(start);
    const { min, max } = bounds;
    const copy = () => {
      const offset = this.#program.length - start;
      this.#emit({ op: "jump", to: this.#program.length + 1 }); // so that even copies of nothing count
      for (const instruction of body) this.#emit(shifted(instruction, offset + 1, start));
    };
    for (let count = 0; count < min; count++) copy();
    if (max === Number.POSITIVE_INFINITY) {
      const loop = this.#program.length;
      const split = this.#emit({ op: "split", to: loop + 1, or: 0 });
      copy();
      this.#emit({ op: "jump", to: loop });
      split.or = this.#program.length;
      return;
    }
    const exits: { or: number }[] = [];
    for (let count = min; count < max; count++) {
      exits.push(this.#emit({ op: "split", to: this.#program.length + 1, or: 0 }));
      copy();
    }
    for (const exit of exits) exit.or = this.#program.length;
  }

  #bounds(): { min: number; max: number } | undefined {
    const char = this.#chars[this.#at];
    const simple = char === undefined ? undefined : SIMPLE_BOUNDS.get(char);
    if (simple) this.#at += 1;
    if (simple || char !== "{") return simple;
    const counted = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(this.#chars.slice(this.#at, this.#at + 30).join(""));
    if (!counted) throw new Unsupported();
    this.#at += counted[0].length;
    const min = Number(counted[1]);
    const max = counted[2] === undefined ? min : counted[3] === "" ? Number.POSITIVE_INFINITY : Number(counted[3]);
    if (min > max) throw new Unsupported();
    return { min, max };
  }
}

/** What Node takes to make a class ready, and one with `\p{…}`: 6 µs and 0.4 ms, measured. */
const CLASS_STEPS = 120;
const PROPERTY_STEPS = 8_000;

/** Some classes are written for the mode without `u`, where `[\w-.]` is no mistake. */
function nativeClass(source: string): RegExp {
  try {
    return new RegExp(`^${source}$`, "u");
  } catch {
    return new RegExp(`^${source}$`);
  }
}

const ESCAPE_TAILS: ReadonlyMap<string, RegExp> = new Map([
  ["u", /^(\{[0-9a-fA-F]{1,6}\}|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})/],
  ["x", /^[0-9a-fA-F]{2}/],
  ["c", /^[A-Za-z]/],
  ["p", /^\{[^}]{1,38}\}/],
  ["P", /^\{[^}]{1,38}\}/],
]);

const SIMPLE_BOUNDS: ReadonlyMap<string, { min: number; max: number }> = new Map([
  ["*", { min: 0, max: Number.POSITIVE_INFINITY }],
  ["+", { min: 1, max: Number.POSITIVE_INFINITY }],
  ["?", { min: 0, max: 1 }],
]);

/** The same instruction further down; `from` is where its own piece of program began. */
function shifted(instruction: Instruction, offset: number, from: number): Instruction {
  const move = (to: number) => (to >= from ? to + offset : to);
  if (instruction.op === "split") return { op: "split", to: move(instruction.to), or: move(instruction.or) };
  return instruction.op === "jump" ? { op: "jump", to: move(instruction.to) } : instruction;
}

function isWord(codePoint: number): boolean {
  return codePoint !== NONE && /^\w$/.test(String.fromCodePoint(codePoint));
}

/** Follows all positions at once; a match may begin anywhere, as `RegExp.test` has it. */
function run(program: readonly Instruction[], text: string, spend: Spend): boolean {
  const seenAt = new Int32Array(program.length).fill(-1);
  let positions: number[] = [];
  let before = NONE;
  for (let index = 0, round = 0; ; round++) {
    const after = text.codePointAt(index) ?? NONE;
    const pending = [0, ...positions.reverse()];
    positions = [];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (seenAt[at] === round) continue;
      seenAt[at] = round;
      spend(1);
      const instruction = program[at];
      switch (instruction?.op) {
        case "match":
          return true;
        case "jump":
          pending.push(instruction.to);
          break;
        case "split":
          pending.push(instruction.or, instruction.to);
          break;
        case "assert":
          if (instruction.holds(before, after)) pending.push(at + 1);
          break;
        case "char":
          if (after !== NONE && instruction.test(after)) positions.push(at + 1);
          break;
        case undefined:
          break;
      }
    }
    if (after === NONE) return false;
    index += after > 0xffff ? 2 : 1;
    before = after;
  }
}
