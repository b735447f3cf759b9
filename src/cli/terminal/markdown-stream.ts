// Markdown that arrives in pieces: what cannot change any more is handed out as lines, and the unfinished rest can be looked at.
import type { Token, Tokens } from "marked";
import { Highlighter } from "./highlight.js";
import { codeLine, isList, lexMarkdown, type MarkdownOptions, renderBlock, renderItem } from "./markdown.js";
import { visible, wrapText } from "./text.js";

/** A block that is longer than this and not over is cut, at a line break if there is one: it is read again for every frame. */
const MAX_UNFINISHED = 16_384;
/** What means something only together with what follows it: half a line end, half a character, a joiner. */
const INCOMPLETE = /(?:\r|\u200c|\u200d|[\ud800-\udbff])+$/;
/** What is not looked at before more comes: half a mark would be shown as words and become a mark in the next frame. */
const UNFINISHED = /(?:(?<=^|\n)(?:#{1,6}|>|[-*+]|\d{1,9}[.)]?))?(?:\u200c|\u200d|[ \r\ud800-\udbff*_~`|])*$/;
const MAX_MARK = 32;
/** A letter first, and nothing that could be markup. */
const WORDS_ONLY = /^[a-zA-Z][a-zA-Z0-9 ,.;:'"()?!%/+=-]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)\n/u;

interface Fence {
  readonly mark: string;
  readonly highlighter: Highlighter;
}

export class MarkdownStream {
  readonly #options: () => MarkdownOptions;
  /** What has come and is not handed out. */
  #tail = "";
  /** Inside a code block, whose lines are handed out one by one. */
  #fence: Fence | undefined;
  #hasBlocks = false;
  /** Items of the list that goes on were handed out: the next one follows without an empty line. */
  #isInList = false;
  /** Of its next item: what is left of a list is read as another one, which may begin with any number. */
  #nextNumber = 1;
  #drawn: { readonly tail: string; readonly columns: number; readonly lines: readonly string[] } | undefined;
  /** The blocks of a tail that has been read already. */
  #read: { readonly text: string; readonly tokens: readonly Token[] } | undefined;
  /** How much of the tail was there when it was last looked through: without another line nothing more is final. */
  #looked = 0;

  /** The options are asked for each time: the window may become narrower. */
  constructor(options: () => MarkdownOptions) {
    this.#options = options;
  }

  push(text: string): void {
    this.#tail += text;
  }

  /** Lines that are final since the last time. */
  take(): string[] {
    return this.#takeFinal(false);
  }

  /** Everything that is left: nothing more comes. */
  end(): string[] {
    const lines = this.#takeFinal(true);
    this.#tail = "";
    this.#fence = undefined;
    this.#isInList = false;
    this.#hasBlocks = false;
    this.#looked = 0;
    return lines;
  }

  /** The unfinished rest as it looks now. */
  live(): readonly string[] {
    const { columns } = this.#options();
    if (this.#tail === "") return [];
    if (this.#drawn?.tail === this.#tail && this.#drawn.columns === columns) return this.#drawn.lines;
    const lines = this.#drawRest();
    this.#drawn = { tail: this.#tail, columns, lines };
    return lines;
  }

  #drawRest(): string[] {
    if (this.#fence) return [codeLine(this.#fence.highlighter.copy(), visible(this.#tail.replace(INCOMPLETE, "")))];
    if (WORDS_ONLY.test(this.#tail)) return this.#wordsOnly();
    const text = visible(this.#tail.slice(0, this.#tail.length - unfinished(this.#tail).length));
    const tokens = this.#read?.text === text ? this.#read.tokens : lexMarkdown(text, true);
    const lines: string[] = [];
    const before = { hasBlocks: this.#hasBlocks, isInList: this.#isInList };
    for (const token of tokens) lines.push(...this.#block(token));
    ({ hasBlocks: this.#hasBlocks, isInList: this.#isInList } = before);
    return lines;
  }

  /** Most of what is unfinished is the beginning of a paragraph: it need not be read as Markdown. */
  #wordsOnly(): string[] {
    const { columns } = this.#options();
    const lines = wrapText(this.#tail, columns);
    return this.#hasBlocks ? ["", ...lines] : lines;
  }

  #takeFinal(isEnd: boolean): string[] {
    const lines: string[] = [];
    // Once more only where code begins or ends: what stands before and behind it is read in another way.
    for (let wasCode: boolean | undefined; wasCode !== (this.#fence !== undefined); ) {
      wasCode = this.#fence !== undefined;
      if (this.#fence) this.#takeCode(lines, isEnd);
      else this.#takeBlocks(lines, isEnd);
    }
    return lines;
  }

  #takeBlocks(lines: string[], isEnd: boolean): void {
    const isLong = this.#tail.length > MAX_UNFINISHED;
    if (!isEnd && !isLong && this.#tail.indexOf("\n", this.#looked) < 0) return;
    const held = isEnd ? "" : unfinished(this.#tail);
    const text = visible(this.#tail.slice(0, this.#tail.length - held.length));
    const tokens = lexMarkdown(text, !isEnd);
    const last = tokens.findLastIndex(({ type }) => type !== "space");
    let taken = 0;
    let rest = tokens.length;
    for (const [index, token] of tokens.entries()) {
      const isFinal = isEnd || index < last || (index === last && isOver(token, text));
      if (!isFinal) {
        const opening = token.type === "code" ? FENCE.exec(text.slice(taken)) : undefined;
        if (opening) return this.#openFence(opening, text.slice(taken) + held, lines);
        taken += this.#takeItems(token, lines);
        if (text.length - taken > MAX_UNFINISHED) taken = this.#cut(text, taken, lines);
        break;
      }
      lines.push(...this.#block(token));
      taken += token.raw.length;
      rest -= 1;
    }
    const left = text.slice(taken);
    this.#tail = left + held;
    this.#looked = left.length;
    // Of a list the items that are left make another list.
    const isWhole = rest > 0 && tokens.slice(-rest).reduce((sum, { raw }) => sum + raw.length, 0) === left.length;
    this.#read = isWhole ? { text: left, tokens: tokens.slice(-rest) } : undefined;
  }

  /** All items of a list but the last, which may go on. */
  #takeItems(token: Token, lines: string[]): number {
    if (!isList(token) || token.items.length < 2) return 0;
    const done = token.items.slice(0, -1);
    const list = this.#goingOn(token);
    if (this.#hasBlocks && !this.#isInList) lines.push("");
    for (const [index, item] of done.entries()) lines.push(...renderItem(list, item, index, this.#options()));
    [this.#hasBlocks, this.#isInList] = [true, true];
    this.#nextNumber = (list.start === "" ? 1 : list.start) + done.length;
    return done.reduce((sum, item) => sum + item.raw.length, 0);
  }

  #goingOn(list: Tokens.List): Tokens.List {
    return this.#isInList && list.start !== "" ? { ...list, start: this.#nextNumber } : list;
  }

  #cut(text: string, from: number, lines: string[]): number {
    const lineEnd = text.lastIndexOf("\n") + 1;
    const isLine = text.length - Math.max(from, lineEnd) > MAX_UNFINISHED;
    const end = isLine ? cutOfLine(text) : lineEnd;
    if (end <= from) return from;
    for (const token of lexMarkdown(text.slice(from, end))) lines.push(...this.#block(token));
    return end;
  }

  #openFence(opening: RegExpExecArray, rest: string, lines: string[]): void {
    const [whole, mark = "", language = ""] = opening;
    if (this.#hasBlocks) lines.push("");
    [this.#hasBlocks, this.#isInList] = [true, false];
    this.#fence = { mark, highlighter: new Highlighter(this.#options().palette, language) };
    this.#tail = rest.slice(whole.length);
    this.#looked = 0;
  }

  #takeCode(lines: string[], isEnd: boolean): void {
    while (this.#fence) {
      const end = this.#tail.indexOf("\n");
      const isLong = this.#tail.length > MAX_UNFINISHED;
      if (end < 0 && !((isEnd || isLong) && this.#tail !== "")) return;
      const line = end < 0 ? this.#tail : this.#tail.slice(0, end);
      this.#tail = end < 0 ? "" : this.#tail.slice(end + 1);
      const { mark, highlighter } = this.#fence;
      const trimmed = line.trim();
      const isClosing = trimmed.length >= mark.length && trimmed === mark.charAt(0).repeat(trimmed.length);
      if (isClosing) [this.#fence, this.#looked] = [undefined, 0];
      else lines.push(codeLine(highlighter, visible(line.replace(/\r$/u, ""))));
    }
  }

  /** With the empty line before it. */
  #block(token: Token): string[] {
    const block = renderBlock(isList(token) ? this.#goingOn(token) : token, this.#options());
    if (block.length === 0) return [];
    const goesOn = this.#isInList && isList(token);
    const isApart = this.#hasBlocks && !goesOn;
    [this.#hasBlocks, this.#isInList] = [true, false];
    return isApart ? ["", ...block] : block;
  }
}

function unfinished(text: string): string {
  return UNFINISHED.exec(text.slice(-MAX_MARK))?.[0] ?? "";
}

/** At the last blank, unless that is far back. */
function cutOfLine(text: string): number {
  const blank = text.lastIndexOf(" ") + 1;
  return text.length - blank < MAX_UNFINISHED / 2 ? blank : text.length;
}

/** Whether nothing that follows could change the last block. */
function isOver(token: Token, text: string): boolean {
  const isApart = text.endsWith("\n\n");
  switch (token.type) {
    case "heading":
    case "hr":
      return text.endsWith("\n");
    case "paragraph":
    case "table":
      return isApart;
    case "code":
      return /\n {0,3}(?:`{3,}|~{3,})[ \t]*\n+$/u.test(token.raw) || (isApart && !FENCE.test(token.raw));
    default:
      return false;
  }
}
