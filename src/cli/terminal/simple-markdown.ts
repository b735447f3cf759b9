// Most of an answer is simple: words, `code` and **bold** in paragraphs, headings, flat lists, quotes and tables with empty lines
// between them. It is read in one pass, as the Markdown parser reads it, for a small part of its time.
import type { Token, Tokens } from "marked";

/** Marks that can only be meant in one way: code without blanks at its ends, bold words between blanks or punctuation. */
const MARKED =
  /(?<!`)`([^`\s]|[^`\s][^`\n]*[^`\s])`(?!`)|(?<![^\s(])\*\*([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9 ,.'-]*[A-Za-z0-9])\*\*(?![^\s.,;:?)])/g;
/** Any other mark, what becomes a link, and a line break. */
const MEANS_MORE = /[\u0000-\u0009\u000b-\u001f\\`*_~[\]!<>&@]|:\/\/|www\.| {2}\n/i;

/** Undefined for text that only the parser can read. */
export function simpleInline(text: string): Token[] | undefined {
  if (!MEANS_MORE.test(text)) return text === "" ? [] : [textToken(text)];
  const tokens: Token[] = [];
  let at = 0;
  for (const match of text.matchAll(MARKED)) {
    const [raw, code, bold = ""] = match;
    const between = text.slice(at, match.index);
    if (MEANS_MORE.test(between) || MEANS_MORE.test(bold)) return undefined;
    if (between !== "") tokens.push(textToken(between));
    const strong = { type: "strong", raw, text: bold, tokens: [textToken(bold)] };
    tokens.push(code === undefined ? strong : { type: "codespan", raw, text: code });
    at = match.index + raw.length;
  }
  const rest = text.slice(at);
  if (!isWords(rest)) return undefined;
  if (rest !== "") tokens.push(textToken(rest));
  return tokens;
}

/** A mark that nothing closes is a part of the words. */
function isWords(text: string): boolean {
  if (!MEANS_MORE.test(text)) return true;
  const at = text.search(/[`*]/);
  if (at < 0) return false;
  const behind = text.slice(at).replace(/^(?:`|\*\*?)/, "");
  return !MEANS_MORE.test(text.slice(0, at)) && !MEANS_MORE.test(behind);
}

function textToken(text: string): Token {
  return { type: "text", raw: text, text, escaped: false };
}

const BLANK_LINES = /\n{2,}/g;
const CODE_MARK = /^(?:```|~~~)/;
/** What can go on neither with a list nor with the empty lines before it. */
const BEGINS_ANEW = /^[A-Za-z#>|`~]/;

/**
 * The simple blocks that a text begins with, and how much of it they are: only the parser can read what follows. `goesOn`: more
 * of its last line may come.
 */
export function simpleBlocks(text: string, goesOn: boolean): { readonly tokens: Token[]; readonly length: number } {
  const tokens: Token[] = [];
  const [leading = ""] = /^\n*/.exec(text) ?? [];
  let at = /^[ \t]/.test(text.slice(leading.length)) ? 0 : leading.length;
  if (at > 0) tokens.push({ type: "space", raw: leading });
  while (at < text.length) {
    BLANK_LINES.lastIndex = endOfCode(text, at) ?? at;
    const between = BLANK_LINES.exec(text);
    const end = between?.index ?? text.length;
    const next = between ? end + between[0].length : end;
    if (between && next < text.length && /[ \t]/.test(text.charAt(next))) break;
    const raw = text.slice(at, end);
    const token = simpleBlock(raw.endsWith("\n") ? raw.slice(0, -1) : raw, goesOn && end === text.length);
    if (!token || (token.type === "list" && next < text.length && !BEGINS_ANEW.test(text.charAt(next)))) break;
    tokens.push({ ...token, raw });
    if (between) tokens.push({ type: "space", raw: between[0] });
    at = next;
  }
  return { tokens, length: at };
}

/** Empty lines in code end nothing. */
function endOfCode(text: string, at: number): number | undefined {
  const [mark] = CODE_MARK.exec(text.slice(at, at + 3)) ?? [];
  if (mark === undefined) return undefined;
  const end = text.indexOf(`\n${mark}`, at);
  return end < 0 ? text.length : end + 1;
}

/** Of lines without an empty one between them, nor a line end behind the last. */
function simpleBlock(raw: string, goesOn: boolean): Token | undefined {
  const first = raw.charAt(0);
  if (/[A-Za-z]/.test(first)) return simpleParagraph(raw);
  if (first === "#") return simpleHeading(raw);
  if (first === ">") return simpleQuote(raw);
  if (CODE_MARK.test(raw)) return simpleCode(raw);
  return first === "|" ? (simpleTable(raw) ?? beginningOfTable(raw, goesOn)) : simpleList(raw);
}

/** Whole, or without its end, which has not come. */
function simpleCode(raw: string): Token | undefined {
  const [head = "", mark = "", lang = ""] = /^(```|~~~)([A-Za-z0-9+#-]*)(?:\n|$)/.exec(raw) ?? [];
  const body = raw.slice(head.length);
  const text = body === mark ? "" : body.endsWith(`\n${mark}`) ? body.slice(0, -4) : body;
  return head === "" || text.includes(mark) ? undefined : { type: "code", raw, lang, text };
}

/** Lines that begin with a letter are one paragraph whatever follows in them. */
function simpleParagraph(raw: string): Token | undefined {
  const tokens = /\n(?![A-Za-z])/.test(raw) ? undefined : simpleInline(raw);
  return tokens && { type: "paragraph", raw, text: raw, tokens };
}

function simpleHeading(raw: string): Token | undefined {
  const [, marks = "", text = ""] = /^(#{1,6}) ([A-Za-z](?:.*[^\s#])?) *$/.exec(raw) ?? [];
  const tokens = text === "" ? undefined : simpleInline(text);
  return tokens && { type: "heading", raw, depth: marks.length, text, tokens };
}

function simpleQuote(raw: string): Token | undefined {
  const lines = raw.split("\n");
  if (!lines.every((line) => /^> [A-Za-z]/.test(line))) return undefined;
  const text = lines.map((line) => line.slice(2)).join("\n");
  const paragraph = simpleParagraph(text);
  return paragraph && { type: "blockquote", raw, tokens: [paragraph], text };
}

/** A mark, and text that cannot be the beginning of another block. */
const ITEM = /^([-*+]|\d{1,9}[.)]) ((?:[A-Za-z]|`[^`]|\*\*[A-Za-z])(?:.*\S)?)(?<!\s)$/;

function simpleList(raw: string): Token | undefined {
  const items: Tokens.ListItem[] = [];
  const lines = raw.split("\n");
  let kind: string | undefined;
  for (const [index, line] of lines.entries()) {
    const [, mark = "", text = ""] = ITEM.exec(line) ?? [];
    kind ??= mark.slice(-1);
    const tokens = text === "" || mark.slice(-1) !== kind ? undefined : simpleInline(text);
    if (!tokens) return undefined;
    items.push({
      type: "list_item",
      raw: index < lines.length - 1 ? `${line}\n` : line,
      ...{ task: false, loose: false, text },
      tokens: [{ type: "text", raw: text, text, tokens }],
    });
  }
  const ordered = /^\d/.test(raw);
  return { type: "list", raw, ordered, start: ordered ? Number.parseInt(raw, 10) : "", loose: false, items };
}

const SIDES = { "true-true": "center", "true-false": "left", "false-true": "right", "false-false": null } as const;

function simpleTable(raw: string): Token | undefined {
  const [head = "", rule = "", ...rest] = raw.split("\n");
  const isRule = cellsOf(rule).every((cell) => /^:?-+:?$/.test(cell)) && /^\|[-:| ]*\|$/.test(rule);
  if (!isRule || !head.endsWith("|") || raw.includes("\\")) return undefined;
  const align = cellsOf(rule).map((cell) => SIDES[`${cell.startsWith(":")}-${cell.endsWith(":")}`]);
  const row = (line: string, header: boolean): Tokens.TableCell[] | undefined => {
    const cells = cellsOf(line);
    const read = align.map((side, at) => {
      const text = cells[at] ?? "";
      const tokens = simpleInline(text);
      return tokens && { text, tokens, header, align: side };
    });
    return cells.length <= align.length && line.startsWith("|") && read.every((cell) => cell !== undefined)
      ? read
      : undefined;
  };
  const header = row(head, true);
  const rows = rest.map((line) => row(line, false));
  if (!header || cellsOf(head).length !== align.length || !rows.every((cells) => cells !== undefined)) return undefined;
  return { type: "table", raw, header, align, rows };
}

/** Its first line alone is words, and so is it until its rule is whole. */
function beginningOfTable(raw: string, goesOn: boolean): Token | undefined {
  const isWords = goesOn ? /^\|.*(?:\n\|[-: |]*)?$/.test(raw) : !raw.includes("\n");
  const tokens = isWords ? simpleInline(raw) : undefined;
  return tokens && { type: "paragraph", raw, text: raw, tokens };
}

/** Of a line that begins with a bar, and perhaps ends with one. */
function cellsOf(line: string): string[] {
  const cells = line.slice(1).split("|");
  if (cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim());
}
