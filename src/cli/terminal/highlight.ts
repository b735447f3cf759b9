// Colours for source code, one line at a time: comments, texts, numbers and key words of the usual languages. One linear pass.
import type { Palette } from "./stream.js";

interface Language {
  readonly words: ReadonlySet<string>;
  /** What begins a comment that ends with the line. */
  readonly lineComment: readonly string[];
  readonly blockComment?: readonly [string, string];
  /** Texts in these may go on over lines. */
  readonly longQuotes: readonly string[];
}

const C_WORDS =
  "abstract as async await bool boolean break case catch char class const constexpr continue default defer delete do double else enum export extends extern false final finally float fn for friend from func function get go goto if impl implements import in inline instanceof int interface internal is let long loop match mod module mut namespace new nil null nullptr number object of operator override package private protected pub public range readonly ref register return self set short signed sizeof static string struct super switch template this throw throws trait true try type typedef typeof undefined union unsafe unsigned use using val var virtual void volatile when where while with yield";
const SCRIPT_WORDS =
  "and as assert async await begin break case class continue def del do done elif else elsif end ensure except exit export False false fi finally for from function global if import in is lambda local module nil None nonlocal not or pass raise require rescue return select self set shift source then True true try unless until when while with yield";
const SQL_WORDS =
  "add all alter and as asc begin between by case column commit constraint create default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then union unique update using values view when where with";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const C_LIKE: Language = {
  words: words(C_WORDS),
  lineComment: ["//"],
  blockComment: ["/*", "*/"],
  longQuotes: ["`"],
};
const SCRIPT: Language = { words: words(SCRIPT_WORDS), lineComment: ["#"], longQuotes: ['"""', "'''"] };
const upper = SQL_WORDS.toUpperCase();
const SQL: Language = {
  words: words(`${SQL_WORDS} ${upper}`),
  lineComment: ["--"],
  blockComment: ["/*", "*/"],
  longQuotes: [],
};
const DATA: Language = { words: words("true false null yes no on off"), lineComment: ["#", "//"], longQuotes: [] };

const LANGUAGES: ReadonlyMap<string, Language> = new Map(
  [
    [
      "c cc cpp h hpp cs css dart go java javascript js jsx kotlin kt mjs php rust rs scala scss swift ts tsx typescript zig",
      C_LIKE,
    ],
    ["bash elixir ex fish makefile nix perl pl py python r rb ruby sh shell zsh dockerfile lua", SCRIPT],
    ["sql psql mysql sqlite", SQL],
    ["json json5 jsonc ini toml yaml yml conf", DATA],
  ].flatMap(([names, language]): [string, Language][] => {
    return typeof names === "string" && typeof language === "object"
      ? names.split(" ").map((name) => [name, language])
      : [];
  }),
);

/** Longer lines are shown as they are: nobody reads them. */
const MAX_LINE = 2_000;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:0x[0-9a-f_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)/iuy;
const OTHER = /[^\p{L}\p{N}_$"'`/#-]+/uy;

/** Lines of one piece of code, in their order. */
export class Highlighter {
  readonly #palette: Palette;
  readonly #language: Language | undefined;
  readonly #name: string;
  /** What ends the comment or text that began on an earlier line, and how it is shown. */
  #open: { readonly end: string; readonly style: (text: string) => string } | undefined;

  constructor(palette: Palette, language: string) {
    this.#palette = palette;
    this.#name =
      language
        .trim()
        .split(/[\s,{:]/u)[0]
        ?.toLowerCase() ?? "";
    this.#language = LANGUAGES.get(this.#name);
  }

  /** In the same state, to look at a line that is not whole yet. */
  copy(): Highlighter {
    const copy = new Highlighter(this.#palette, this.#name);
    copy.#open = this.#open;
    return copy;
  }

  line(text: string): string {
    if (this.#name === "diff" || this.#name === "patch") return this.#diffLine(text);
    const language = this.#language;
    if (!language || text.length > MAX_LINE) return text;
    let shown = "";
    let at = 0;
    while (at < text.length) {
      const [end, style] = this.#token(text, at, language);
      const part = text.slice(at, end);
      shown += style ? style(part) : part;
      at = end;
    }
    return shown;
  }

  /** Where the token at an index ends, always behind it, and how it is shown. */
  #token(text: string, at: number, language: Language): readonly [number, ((text: string) => string) | undefined] {
    const { dim, green, yellow, magenta } = this.#palette;
    if (this.#open) {
      const { end, style } = this.#open;
      const found = text.indexOf(end, at);
      if (found < 0) return [text.length, style];
      this.#open = undefined;
      return [found + end.length, style];
    }
    if (language.lineComment.some((mark) => text.startsWith(mark, at) && isFree(text, at, mark)))
      return [text.length, dim];
    const [begin, end] = language.blockComment ?? [];
    if (begin !== undefined && end !== undefined && text.startsWith(begin, at)) {
      this.#open = { end, style: dim };
      return [at + begin.length, dim];
    }
    const long = language.longQuotes.find((quote) => text.startsWith(quote, at));
    if (long !== undefined) {
      this.#open = { end: long, style: green };
      return [at + long.length, green];
    }
    const first = text.charAt(at);
    if (first === '"' || first === "'") return [endOfText(text, at, first), green];
    const word = matchAt(WORD, text, at);
    if (word !== undefined) return [at + word.length, language.words.has(word) ? magenta : undefined];
    const number = matchAt(NUMBER, text, at);
    if (number !== undefined) return [at + number.length, yellow];
    return [at + (matchAt(OTHER, text, at)?.length ?? 1), undefined];
  }

  #diffLine(text: string): string {
    const { green, red, cyan } = this.#palette;
    if (text.startsWith("+")) return green(text);
    if (text.startsWith("-")) return red(text);
    return text.startsWith("@@") ? cyan(text) : text;
  }
}

/** `#` within a word (`a#b`, `$#`) and `//` of an address begin no comment. */
function isFree(text: string, at: number, mark: string): boolean {
  return at === 0 || (mark === "//" ? text.charAt(at - 1) !== ":" : /\s/u.test(text.charAt(at - 1)));
}

function endOfText(text: string, at: number, quote: string): number {
  for (let index = at + 1; index < text.length; index += 1) {
    if (text.charAt(index) === "\\") index += 1;
    else if (text.charAt(index) === quote) return index + 1;
  }
  // An apostrophe is no text that began.
  return quote === "'" ? at + 1 : text.length;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
