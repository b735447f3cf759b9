// A web page as text a model can read: headings, lists, tables, code and links kept, everything else only its words.
import { decodeEntities } from "./entities.js";
import { attribute, type HtmlToken, htmlTokens } from "./html-tokens.js";

/** Their content is for machines or for finding one's way about the site. */
const DROPPED: ReadonlySet<string> = new Set(
  [
    ["script", "style", "noscript", "template", "iframe", "svg", "textarea", "select", "button", "nav", "footer"],
    ["head", "object", "canvas"],
  ].flat(),
);
const PARAGRAPHS: ReadonlySet<string> = new Set([
  "p",
  "div",
  "section",
  "article",
  "main",
  "header",
  "aside",
  "ul",
  "ol",
  "dl",
  "table",
  "blockquote",
  "figure",
]);
const LINES: ReadonlySet<string> = new Set(["br", "tr", "dt", "dd", "figcaption", "summary", "option"]);

export interface PageText {
  readonly title: string;
  readonly text: string;
}

/** `base` is where relative links lead from. */
export function pageText(html: string, base: URL): PageText {
  const writer = new PageWriter(base);
  for (const token of htmlTokens(html)) writer.take(token);
  return writer.result();
}

class PageWriter {
  readonly #base: URL;
  readonly #parts: string[] = [];
  #title = "";
  /** Open elements whose content is dropped; only their own closing tag ends it. */
  #dropped: string[] = [];
  #isTitle = false;
  #preformatted = 0;
  /** Links do not nest. */
  #link: { readonly href: string; readonly at: number } | undefined;

  constructor(base: URL) {
    this.#base = base;
  }

  result(): PageText {
    const text = this.#parts
      .join("")
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n")
      .replaceAll(/\n{3,}/gu, "\n\n")
      .trim();
    return { title: this.#title.replaceAll(/\s+/gu, " ").trim(), text };
  }

  take(token: HtmlToken): void {
    if (token.kind === "text") this.#text(token.text);
    else if (token.name === "title") this.#isTitle = token.kind === "open" && this.#title === "";
    else if (token.kind === "open") this.#open(token.name, token.attributes, token.isClosed);
    else this.#close(token.name);
  }

  #text(raw: string): void {
    const text = decodeEntities(raw);
    if (this.#isTitle) this.#title += text;
    if (this.#isTitle || this.#dropped.length > 0) return;
    if (this.#preformatted > 0) this.#parts.push(text);
    else this.#words(text.replaceAll(/\s+/gu, " "));
  }

  /** Never two spaces in a row, and none at the start of a line. */
  #words(text: string): void {
    const last = this.#parts.at(-1) ?? "\n";
    const isAfterSpace = /\s$/u.test(last);
    const words = isAfterSpace && text.startsWith(" ") ? text.slice(1) : text;
    if (words !== "") this.#parts.push(words);
  }

  #open(name: string, attributes: string, isClosed: boolean): void {
    if (DROPPED.has(name)) {
      if (!isClosed) this.#dropped.push(name);
      return;
    }
    // A page without `</head>` still has a body.
    if (name === "body") this.#dropped = [];
    if (this.#dropped.length > 0) return;
    if (/^h[1-6]$/u.test(name)) this.#parts.push(`\n\n${"#".repeat(Number(name[1]))} `);
    else if (name === "li") this.#parts.push("\n- ");
    else if (name === "hr") this.#parts.push("\n\n---\n\n");
    else if (name === "pre") this.#fence(1);
    else if (name === "code" && this.#preformatted === 0) this.#parts.push("`");
    else if (name === "td" || name === "th") this.#parts.push(" | ");
    else if (name === "a") this.#link = { href: attribute(attributes, "href") ?? "", at: this.#parts.length };
    else if (name === "img") this.#image(attributes);
    else if (PARAGRAPHS.has(name)) this.#parts.push("\n\n");
    else if (LINES.has(name)) this.#parts.push("\n");
  }

  #close(name: string): void {
    if (this.#dropped.length > 0) {
      const at = this.#dropped.lastIndexOf(name);
      if (at >= 0) this.#dropped.length = at;
      return;
    }
    if (name === "pre") this.#fence(-1);
    else if (name === "code" && this.#preformatted === 0) this.#parts.push("`");
    else if (name === "a") this.#endLink();
    else if (/^h[1-6]$/u.test(name) || PARAGRAPHS.has(name)) this.#parts.push("\n\n");
  }

  #fence(step: 1 | -1): void {
    const before = this.#preformatted;
    this.#preformatted = Math.max(0, before + step);
    if (Math.max(before, this.#preformatted) === 1 && before !== this.#preformatted) this.#parts.push("\n```\n");
  }

  #image(attributes: string): void {
    const alt = decodeEntities(attribute(attributes, "alt") ?? "").trim();
    if (alt !== "") this.#words(`[image: ${alt}]`);
  }

  /** A link without words, or within the page, is none to a reader. */
  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (!link) return;
    const href = decodeEntities(link.href).trim();
    const words = this.#parts.slice(link.at).join("").trim();
    if (words === "" || href === "" || href.startsWith("#") || !URL.canParse(href, this.#base.href)) return;
    const url = new URL(href, this.#base);
    if (url.protocol !== "https:" && url.protocol !== "http:") return;
    this.#parts.splice(link.at, this.#parts.length - link.at, `[${words}](${url.href})`);
  }
}
