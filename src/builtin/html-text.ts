// A web page as text a model can read: headings, lists, tables, code and links kept, everything else only its words.
import { Parser } from "htmlparser2";
import type { Pace } from "../base/async/pace.js";
import { isUrl } from "../base/text/url.js";
import { BUILTIN_LIMITS } from "./limits.js";

/** Their content is for machines or for finding one's way about the site. */
const DROPPED: ReadonlySet<string> = new Set(
  "script style noscript template iframe svg textarea select button nav footer head object canvas".split(" "),
);
const PARAGRAPHS: ReadonlySet<string> = new Set(
  "p div section article main header aside ul ol dl table blockquote figure h1 h2 h3 h4 h5 h6".split(" "),
);
const LINES: ReadonlySet<string> = new Set("br tr dt dd figcaption summary option".split(" "));

/** What is parsed in one go: about a millisecond. */
const SLICE_CHARS = 16_384;

export interface PageText {
  readonly title: string;
  readonly text: string;
  /** The page goes on: it is nested too deeply, or longer than what is kept. */
  readonly isCut: boolean;
}

/** `base` is where relative links lead from. Linear in the page, and the event loop is free between slices of it. */
export async function pageText(html: string, base: URL, pace: Pick<Pace, "run">): Promise<PageText> {
  const writer = new PageWriter(base);
  const parser = new Parser(writer, { decodeEntities: true, lowerCaseTags: true });
  for (let at = 0; at < html.length && !writer.isFull; at += SLICE_CHARS) {
    await pace.run(() => parser.write(html.slice(at, at + SLICE_CHARS)));
  }
  if (!writer.isFull) await pace.run(() => parser.end());
  return writer.result();
}

/** Hears the parser. Every element that is opened is closed again, by the page or by the parser. */
class PageWriter {
  readonly #base: URL;
  readonly #parts: string[] = [];
  #chars = 0;
  /** Owed before the next word: at most one empty line, and no spaces at the end of a line. */
  #newlines = 0;
  #space = "";
  #title = "";
  #depth = 0;
  #dropped = 0;
  #pictures = 0;
  #isTitle = false;
  #preformatted = 0;
  /** Links do not nest. */
  /** Where its words begin, and what was owed before them. */
  #link: { readonly href: string; readonly at: number; readonly newlines: number; readonly space: string } | undefined;

  constructor(base: URL) {
    this.#base = base;
  }

  get isFull(): boolean {
    return this.#depth > BUILTIN_LIMITS.fetchPage.maxDepth || this.#chars > BUILTIN_LIMITS.fetchPage.maxTextChars;
  }

  result(): PageText {
    const text = this.#parts.join("").slice(0, BUILTIN_LIMITS.fetchPage.maxTextChars);
    const title = this.#title.slice(0, BUILTIN_LIMITS.fetchPage.maxTitleChars).replaceAll(/\s+/gu, " ").trim();
    return { title, text, isCut: this.isFull };
  }

  ontext(text: string): void {
    if (this.#isTitle && this.#title.length < BUILTIN_LIMITS.fetchPage.maxTitleChars) this.#title += text;
    if (this.#isTitle || this.#dropped > 0) return;
    if (this.#preformatted > 0) this.#put(text);
    else this.#words(text);
  }

  onopentag(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#depth += 1;
    if (name === "svg") this.#pictures += 1;
    if (name === "title" && this.#pictures === 0) this.#isTitle = this.#title === "";
    if (DROPPED.has(name)) this.#dropped += 1;
    if (this.#dropped > 0 || name === "title") return;
    if (/^h[1-6]$/u.test(name)) this.#put(`\n\n${"#".repeat(Number(name[1]))} `);
    else if (name === "li") this.#put("\n- ");
    else if (name === "hr") this.#put("\n\n---\n\n");
    else if (name === "pre") this.#fence(1);
    else if (name === "code" && this.#preformatted === 0) this.#put("`");
    else if (name === "td" || name === "th") this.#put(" | ");
    else if (name === "a") {
      const href = (attributes["href"] ?? "").trim();
      this.#link = { href, at: this.#parts.length, newlines: this.#newlines, space: this.#space };
    } else if (name === "img" && attributes["alt"]?.trim()) this.#words(`[image: ${attributes["alt"].trim()}]`);
    else if (PARAGRAPHS.has(name)) this.#put("\n\n");
    else if (LINES.has(name)) this.#put("\n");
  }

  onclosetag(name: string): void {
    this.#depth -= 1;
    if (name === "svg") this.#pictures -= 1;
    if (name === "title") this.#isTitle = false;
    if (this.#dropped > 0) {
      if (DROPPED.has(name)) this.#dropped -= 1;
      return;
    }
    if (name === "pre") this.#fence(-1);
    else if (name === "code" && this.#preformatted === 0) this.#put("`");
    else if (name === "a") this.#endLink();
    else if (PARAGRAPHS.has(name)) this.#put("\n\n");
  }

  /** Spaces and line ends are owed until a word comes: so there are none at the ends, and never two empty lines. */
  #put(text: string): void {
    for (const [piece] of text.matchAll(/\n|[^\S\n]+|\S+/gu)) {
      if (piece === "\n") {
        this.#newlines = Math.min(2, this.#newlines + 1);
        this.#space = "";
      } else if (/^\s/u.test(piece)) this.#space += piece;
      else this.#word(piece);
    }
  }

  /** Of a row of spaces one counts, and none at the start of a line. */
  #words(text: string): void {
    for (const [piece] of text.matchAll(/\s+|\S+/gu)) {
      if (!/^\s/u.test(piece)) this.#word(piece);
      else if (this.#space === "" && this.#newlines === 0) this.#space = " ";
    }
  }

  #word(word: string): void {
    const owed = this.#parts.length === 0 ? "" : "\n".repeat(this.#newlines) + this.#space;
    this.#newlines = 0;
    this.#space = "";
    this.#parts.push(owed + word);
    this.#chars += owed.length + word.length;
  }

  #fence(step: 1 | -1): void {
    const before = this.#preformatted;
    this.#preformatted = Math.max(0, before + step);
    if (Math.max(before, this.#preformatted) === 1 && before !== this.#preformatted) this.#put("\n```\n");
  }

  /** A link without words, or within the page, is none to a reader. */
  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (!link || link.href.length > BUILTIN_LIMITS.fetchPage.maxLinkChars || /^(?:#|$)/u.test(link.href)) return;
    const words = this.#parts.slice(link.at).join("").trim();
    const url = isUrl(link.href, this.#base.href) ? new URL(link.href, this.#base) : undefined;
    if (words === "" || (url?.protocol !== "https:" && url?.protocol !== "http:")) return;
    this.#parts.length = link.at;
    this.#newlines = link.newlines;
    this.#space = link.space;
    this.#word(`[${words}](${url.href})`);
  }
}
