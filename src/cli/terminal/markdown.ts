// Markdown as lines for a terminal: wrapped between words with hanging indents, tables that fit, highlighted code, links that can be clicked.
import { Lexer, type Token, type Tokens } from "marked";
import { isLexable } from "../../base/text/markdown-safety.js";
import { Highlighter } from "./highlight.js";
import { simpleBlocks, simpleInline } from "./simple-markdown.js";
import { type Span, type StyledLine, spansWidth, styled, wrapSpans } from "./spans.js";
import type { LinkingPalette } from "./stream.js";
import { visible } from "./text.js";

export interface MarkdownOptions {
  readonly columns: number;
  readonly palette: LinkingPalette;
}

/** `text` must be visible already: escape sequences in what comes back are the palette's. */
export function renderMarkdown(text: string, options: MarkdownOptions): string[] {
  return renderBlocks(lexMarkdown(text), options);
}

/** Quotes and lists inside each other, in one line or by their indent, deeper than anybody writes them. */
const TOO_DEEP = /^(?:(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){25}|[ \t]{96,}(?:[-+*]|\d{1,9}[.)])[ \t])/mu;

/** Reads what has hardly any markup in a single pass. */
class QuickLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    const simple = simpleInline(text);
    if (!simple) return super.inlineTokens(text, tokens);
    tokens.push(...simple);
    return tokens;
  }
}

/**
 * What the parser would take too long for, or is nested too deep for it, is one text as it is written. `goesOn`: more of its last
 * line may come.
 */
export function lexMarkdown(text: string, goesOn = false): Token[] {
  const { tokens, length } = simpleBlocks(text, goesOn && !text.endsWith("\n"));
  return length < text.length ? [...tokens, ...lexRest(text.slice(length))] : tokens;
}

function lexRest(text: string): Token[] {
  if (isLexable(text) && !TOO_DEEP.test(text))
    try {
      return new QuickLexer({ gfm: true }).lex(text);
    } catch {
      // Nested in another way: the stack was not enough.
    }
  return [{ type: "text", raw: text, text }];
}

/** Blocks with an empty line between them. */
function renderBlocks(tokens: readonly Token[], options: MarkdownOptions): string[] {
  const lines: string[] = [];
  for (const token of tokens) {
    const block = renderBlock(token, options);
    if (block.length === 0) continue;
    if (lines.length > 0) lines.push("");
    lines.push(...block);
  }
  return lines;
}

type Style = (text: string) => string;

/** None for a token that shows nothing; what is nested too deep is shown as it is written. */
export function renderBlock(token: Token, options: MarkdownOptions): string[] {
  try {
    return renderToken(token, options);
  } catch {
    return visible(token.raw.trimEnd()).split("\n");
  }
}

function renderToken(token: Token, options: MarkdownOptions): string[] {
  const { palette, columns } = options;
  switch (token.type) {
    case "heading": {
      const spans = inline(
        childrenOf(token),
        options,
        depthOf(token) < 3 ? both(palette.bold, palette.cyan) : palette.bold,
      );
      return wrapped(spans, columns);
    }
    case "paragraph":
    case "text":
      return wrapped(inline(childrenOf(token), options, undefined, textOf(token)), columns);
    case "code":
      return renderCode(textOf(token), "lang" in token && typeof token.lang === "string" ? token.lang : "", options);
    case "list":
      return isList(token) ? renderList(token, options) : [];
    case "blockquote": {
      const inner = renderBlocks(childrenOf(token), { ...options, columns: Math.max(1, columns - 2) });
      return inner.map((line) => `${palette.dim("│")} ${palette.dim(line)}`.trimEnd());
    }
    case "table":
      return isTable(token) ? renderTable(token, options) : [];
    case "hr":
      return [palette.dim("─".repeat(Math.min(columns, MAX_RULE)))];
    case "space":
    case "def":
      return [];
    default:
      return visible(token.raw.trimEnd()).split("\n");
  }
}

const MAX_RULE = 60;
const CODE_INDENT = "  ";

/** Code is never broken: a terminal wraps it by itself, and it is copied as it is. */
function renderCode(text: string, language: string, { palette }: Pick<MarkdownOptions, "palette">): string[] {
  const highlighter = new Highlighter(palette, language);
  return visible(text)
    .split("\n")
    .map((line) => codeLine(highlighter, line));
}

export function codeLine(highlighter: Highlighter, line: string): string {
  return `${CODE_INDENT}${highlighter.line(line.replaceAll("\t", "    "))}`.trimEnd();
}

/** An empty line between items only where one has several parts. */
function renderList(list: Tokens.List, options: MarkdownOptions): string[] {
  return list.items.flatMap((item, index) => renderItem(list, item, index, options));
}

export function renderItem(
  list: Tokens.List,
  item: Tokens.ListItem,
  index: number,
  options: MarkdownOptions,
): string[] {
  const { palette, columns } = options;
  const first = typeof list.start === "number" ? list.start : 1;
  const box = item.task ? (item.checked ? "☑ " : "☐ ") : "";
  const mark = list.ordered ? `${first + index}. ${box}` : box || "• ";
  const inner = { ...options, columns: Math.max(1, columns - mark.length) };
  const lines: string[] = [];
  for (const token of item.tokens) {
    if (token.type === "checkbox") continue;
    const block = renderBlock(token, inner);
    // Parts of one item are set apart only if they are paragraphs.
    if (lines.length > 0 && block.length > 0 && token.type === "paragraph") lines.push("");
    lines.push(...block);
  }
  const hanging = " ".repeat(mark.length);
  const [head = "", ...rest] = lines;
  return [`${palette.cyan(mark)}${head}`.trimEnd(), ...rest.map((line) => (line === "" ? "" : hanging + line))];
}

const GAP = 3;
const MIN_CELL = 4;

/** Columns as wide as they need, narrowed from the widest where there is too little room; cells wrap. */
function renderTable({ header, rows, align }: Tokens.Table, options: MarkdownOptions): string[] {
  const { palette, columns } = options;
  const all = [
    header.map((cell) => inline(cell.tokens, options, palette.bold)),
    ...rows.map((row) => row.map((cell) => inline(cell.tokens, options))),
  ];
  const widths = header.map((_, at) => Math.max(1, ...all.map((row) => spansWidth(row[at] ?? []))));
  narrow(widths, columns - GAP * (widths.length - 1));
  const lines = all.flatMap((row, rowAt) => {
    const cells = row.map((cell, at) => wrapSpans(cell, widths[at] ?? 1));
    const height = Math.max(1, ...cells.map((cell) => cell.length));
    const drawn = Array.from({ length: height }, (_, lineAt) => {
      const parts = cells.map((cell, at) => padded(cell[lineAt] ?? [], widths[at] ?? 1, align[at] ?? null));
      return parts.join(palette.dim(" │ ")).trimEnd();
    });
    const rule = widths.map((width) => "─".repeat(width)).join("─┼─");
    return rowAt === 0 ? [...drawn, palette.dim(rule)] : drawn;
  });
  return lines;
}

function narrow(widths: number[], room: number): void {
  let over = widths.reduce((sum, width) => sum + width, 0) - room;
  while (over > 0) {
    const widest = Math.max(...widths);
    if (widest <= MIN_CELL) return;
    const second = Math.max(MIN_CELL, ...widths.filter((width) => width < widest));
    const sharing = widths.filter((width) => width === widest).length;
    const step = Math.max(1, Math.min(widest - second, Math.ceil(over / sharing)));
    for (const [at, width] of widths.entries())
      if (width === widest && over > 0) {
        widths[at] = width - step;
        over -= step;
      }
  }
}

function padded(line: StyledLine, width: number, align: "center" | "left" | "right" | null): string {
  const room = Math.max(0, width - spansWidth(line));
  const before = align === "right" ? room : align === "center" ? Math.floor(room / 2) : 0;
  return " ".repeat(before) + styled(line) + " ".repeat(room - before);
}

function wrapped(spans: readonly Span[], columns: number): string[] {
  const lines: string[] = [];
  for (const line of wrapSpans(spans, columns)) lines.push(styled(line).trimEnd());
  return lines;
}

/** `style`: of all of it, inside which others are put. */
function inline(tokens: readonly Token[], options: MarkdownOptions, style?: Style, fallback = ""): Span[] {
  const spans: Span[] = [];
  if (tokens.length === 0 && fallback !== "") spans.push({ text: entities(fallback), style });
  for (const token of tokens) {
    // Most are words.
    if (token.type === "text" && childrenOf(token).length === 0) spans.push({ text: entities(textOf(token)), style });
    else spans.push(...inlineToken(token, options, style));
  }
  return spans;
}

function inlineToken(token: Token, options: MarkdownOptions, style: Style | undefined): Span[] {
  const { palette } = options;
  const inner = (more: Style) => inline(childrenOf(token), options, both(style, more), textOf(token));
  switch (token.type) {
    case "strong":
      return inner(palette.bold);
    case "em":
      return inner(palette.italic);
    case "del":
      return inner(palette.strike);
    case "codespan":
      return [{ text: entities(textOf(token)), style: both(style, palette.cyan) }];
    case "br":
      return [{ text: "\n" }];
    case "image":
      return [
        { text: `[${entities(textOf(token)) || "picture"}]`, style: both(style, palette.dim) },
        ...address(token, options),
      ];
    case "link":
      return link(token, options, style);
    default: {
      const children = childrenOf(token);
      if (children.length > 0) return inline(children, options, style);
      return [{ text: entities("text" in token ? textOf(token) : token.raw), style }];
    }
  }
}

/** The address is shown too where the words are not the address: nobody should have to click to see where it leads. */
function link(token: Token, options: MarkdownOptions, style: Style | undefined): Span[] {
  const { palette } = options;
  const url = hrefOf(token);
  const words = inline(childrenOf(token), options, undefined, textOf(token));
  const clickable = (text: string) => palette.link(palette.underline(text), url);
  const shown = words.map(({ text, style: own }) => ({ text, style: both(style, both(own, clickable)) }));
  const plain = words.map(({ text }) => text).join("");
  const isSame = [url, url.replace(/^mailto:/u, ""), url.replace(/^https?:\/\//u, "")].includes(plain);
  return isSame ? shown : [...shown, ...address(token, options)];
}

function address(token: Token, { palette }: MarkdownOptions): Span[] {
  const url = hrefOf(token);
  return url === ""
    ? []
    : [
        { text: " ", style: undefined },
        { text: `(${url})`, style: (text) => palette.dim(palette.link(text, url)) },
      ];
}

function both(outer: Style | undefined, inner: Style | undefined): Style | undefined {
  if (!outer || !inner) return outer ?? inner;
  return (text) => outer(inner(text));
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Made visible once more: the parser decodes `&#27;` after the text was. */
function entities(text: string): string {
  if (!text.includes("&")) return visible(text);
  const plain = text.replaceAll(/&(amp|lt|gt|quot|apos|nbsp);|&#39;/gu, (whole, name: string | undefined) => {
    return name === undefined ? "'" : (ENTITIES[name] ?? whole);
  });
  return visible(plain);
}

function childrenOf(token: Token): readonly Token[] {
  return "tokens" in token && Array.isArray(token.tokens) ? token.tokens : [];
}

function textOf(token: Token): string {
  return "text" in token && typeof token.text === "string" ? token.text : "";
}

function hrefOf(token: Token): string {
  return "href" in token && typeof token.href === "string" ? visible(token.href) : "";
}

function depthOf(token: Token): number {
  return "depth" in token && typeof token.depth === "number" ? token.depth : 1;
}

export function isList(token: Token): token is Tokens.List {
  return token.type === "list" && "items" in token;
}

function isTable(token: Token): token is Tokens.Table {
  return token.type === "table" && "header" in token;
}
