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
/** No letter, digit or `$` before or behind it. */
const [NOT_BEHIND, NOT_BEFORE] = ["(?<![\\w$\\u00aa-\\uffff])", "(?![\\w$\\u00aa-\\uffff])"];
const NUMBER = "0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?";
/** An apostrophe is no text that began. */
const TEXT = "\"(?:[^\"\\\\]|\\\\[^]?)*\"?|'(?:[^'\\\\]|\\\\[^])*'|'";
const NEVER = "(?!)";

const patterns = new Map<Language, RegExp>();

/** What is coloured: a comment to the end of the line, what begins a longer one, what begins a long text, a text, a key word, a number. */
function patternOf(language: Language): RegExp {
  const known = patterns.get(language);
  if (known) return known;
  const { words: keyWords, lineComment, blockComment, longQuotes } = language;
  const plain = (text: string) => text.replaceAll(/[*/]/gu, "\\$&");
  // `#` within a word (`a#b`, `$#`) and `//` of an address begin no comment.
  const comments = lineComment.map((mark) => `${mark === "//" ? "(?<!:)" : "(?<!\\S)"}${plain(mark)}[^]*`);
  const groups = [
    comments.join("|"),
    plain(blockComment?.[0] ?? NEVER),
    longQuotes.join("|") || NEVER,
    TEXT,
    `${NOT_BEHIND}(?:${[...keyWords].join("|")})${NOT_BEFORE}`,
    `${NOT_BEHIND}(?:${NUMBER})`,
  ];
  const pattern = new RegExp(groups.map((group) => `(${group})`).join("|"), "g");
  patterns.set(language, pattern);
  return pattern;
}

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
    const pattern = patternOf(language);
    let shown = "";
    let at = 0;
    while (at < text.length) {
      if (this.#open) {
        const { end, style } = this.#open;
        const found = text.indexOf(end, at);
        const to = found < 0 ? text.length : found + end.length;
        if (found >= 0) this.#open = undefined;
        shown += style(text.slice(at, to));
        at = to;
        continue;
      }
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (!match) break;
      shown += text.slice(at, match.index) + this.#styled(match, language);
      at = match.index + match[0].length;
    }
    return shown + text.slice(at);
  }

  /** What a match is shown as; what goes on behind it is open from now on. */
  #styled([whole, comment, block, long, quoted, word]: RegExpExecArray, { blockComment }: Language): string {
    const { dim, green, yellow, magenta } = this.#palette;
    if (block !== undefined) this.#open = { end: blockComment?.[1] ?? "", style: dim };
    if (long !== undefined) this.#open = { end: long, style: green };
    if (comment !== undefined || block !== undefined) return dim(whole);
    if (long !== undefined || quoted !== undefined) return green(whole);
    return word === undefined ? yellow(whole) : magenta(whole);
  }

  #diffLine(text: string): string {
    const { green, red, cyan } = this.#palette;
    if (text.startsWith("+")) return green(text);
    if (text.startsWith("-")) return red(text);
    return text.startsWith("@@") ? cyan(text) : text;
  }
}
