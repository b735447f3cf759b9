// Looks for a pattern in a kept text, line by line, in linear time and without holding the event loop.
import { Pace } from "../../base/async/pace.js";
import { defined } from "../../base/json/defined.js";
import { markForeign } from "../../base/text/marking.js";
import { compilePattern } from "../../base/text/pattern.js";
import { TOOL_LIMITS } from "../limits.js";
import { bytesFrom } from "./clip.js";
import type { PageBound } from "./page.js";
import { pieces, type Read, Utf8, unreadable } from "./reading.js";
import type { KeptResult, ResultStore } from "./store.js";

export interface SearchRequest {
  readonly pattern: string;
  /** The pattern is a text to be found as it is. One without special characters is so anyway. */
  readonly isLiteral: boolean;
  /** Lines before this one are left out. */
  readonly fromLine: number;
  readonly bound: PageBound;
}

export interface Matches {
  /** One per line, `12: text`, marked; of a part of a long line `12 (byte 4096): text`. */
  readonly rows: readonly string[];
  /** Where to go on when not all was looked at, and why it stopped. */
  readonly rest?: { readonly line: number; readonly why: string };
  /** How many lines were looked at. */
  readonly lines: number;
}

/** How much is done before others get their turn. */
const LUMP_MS = 4;

class TooCostly extends Error {}

type Matcher = (text: string) => boolean;

export async function searchResult(
  store: ResultStore,
  { handle }: KeptResult,
  request: SearchRequest,
): Promise<Read<Matches>> {
  try {
    const matcher = matcherOf(request);
    if (!matcher.ok) return matcher;
    return { ok: true, value: await new Search(store, handle, request, matcher.value).run() };
  } catch (error) {
    if (!(error instanceof TooCostly)) return unreadable(handle, error);
    return { ok: false, reason: "matching this pattern takes too long: make it simpler, without nested repetition" };
  }
}

function matcherOf({ pattern, isLiteral }: SearchRequest): Read<Matcher> {
  if (pattern === "") return { ok: false, reason: "the pattern is empty" };
  if (pattern.length > ROW_CHARS / 2) return { ok: false, reason: `the pattern is over ${ROW_CHARS / 2} characters` };
  if (isLiteral || !/[\\^$.*+?()[\]{}|]/.test(pattern)) return { ok: true, value: (text) => text.includes(pattern) };
  let steps = 0;
  const spend = (count: number) => {
    steps += count;
    if (steps > TOOL_LIMITS.resultMatchSteps) throw new TooCostly();
  };
  const compiled = compilePattern(pattern, spend);
  if (!compiled) {
    const reason =
      "the pattern is no regular expression that can be matched in linear time: lookaround and back references are not supported. " +
      'For a plain text that holds special characters set "literal" to true';
    return { ok: false, reason };
  }
  const value = (text: string) => {
    steps = 0;
    return compiled.test(text, spend);
  };
  return { ok: true, value };
}

class Search {
  readonly #store: ResultStore;
  readonly #handle: string;
  readonly #request: SearchRequest;
  readonly #matches: Matcher;
  readonly #pace: Pace;
  readonly #found: string[] = [];
  readonly #endMs: number;
  #bytesLeft: number;
  #lines = 0;
  #rest: { line: number; why: string } | undefined;
  /** The line of the last row, if that was a part that matched: the next part overlaps it. */
  #lastPart: number | undefined;

  constructor(store: ResultStore, handle: string, request: SearchRequest, matches: Matcher) {
    this.#store = store;
    this.#handle = handle;
    this.#request = request;
    this.#matches = matches;
    this.#pace = Pace.of(store.world);
    this.#endMs = store.world.monotonicMs() + TOOL_LIMITS.resultSearchMs;
    this.#bytesLeft = request.bound.maxBytes;
  }

  async run(): Promise<Matches> {
    const rows = new Rows();
    const decoder = new Utf8();
    for await (const piece of pieces(this.#store, this.#handle)) {
      await this.#look(rows.push(decoder.decode(piece)));
      if (this.#rest) break;
    }
    if (!this.#rest) await this.#look(rows.push(decoder.end()));
    if (!this.#rest) await this.#look(rows.end());
    const rest = this.#rest;
    return { rows: this.#found, lines: this.#lines, ...defined({ rest }) };
  }

  /** In lumps: the event loop is free between them. */
  async #look(rows: Iterator<Row>): Promise<void> {
    const { world } = this.#store;
    for (let isOver = false; !isOver && !this.#rest; ) {
      isOver = await this.#pace.run(() => {
        const endMs = world.monotonicMs() + LUMP_MS;
        for (let step = rows.next(); !step.done; step = rows.next()) {
          this.#lookAt(step.value);
          if (this.#rest) return true;
          if (world.monotonicMs() > endMs) return false;
        }
        return true;
      });
      if (!this.#rest && world.monotonicMs() > this.#endMs)
        this.#rest = { line: this.#lines + 1, why: "it took too long" };
    }
  }

  #lookAt(row: Row): void {
    this.#lines = row.line;
    if (row.line < this.#request.fromLine) return;
    if (!this.#matches(row.text)) {
      this.#lastPart = undefined;
      return;
    }
    // Its first half was in the part before: a match there has been shown.
    const isSeen = row.isPart && this.#lastPart === row.line && !this.#matches(row.text.slice(ROW_CHARS / 2));
    this.#lastPart = row.isPart ? row.line : undefined;
    if (isSeen) return;
    const shown = this.#shown(row);
    const bytes = Buffer.byteLength(shown) + 1;
    const isFull = this.#found.length >= TOOL_LIMITS.resultMatches.max || bytes > this.#bytesLeft;
    if (isFull) {
      this.#rest = { line: row.line, why: "there are more matches than fit" };
      return;
    }
    this.#bytesLeft -= bytes;
    this.#found.push(shown);
  }

  #shown({ line, byte, text, isPart }: Row): string {
    const { lineChars } = TOOL_LIMITS.resultMatches;
    const place = isPart ? `${line} (byte ${byte})` : `${line}`;
    const at = Math.max(0, text.indexOf(this.#request.pattern) - lineChars / 2);
    const excerpt = text.length <= lineChars ? text : `${at > 0 ? "…" : ""}${text.slice(at, at + lineChars)}…`;
    return `${place}: ${bytesFrom(markForeign(excerpt), lineChars * 4)}`;
  }
}

// Kept text as rows to search: its lines, and of a very long line pieces that overlap.
export interface Row {
  /** Counts from 1. */
  readonly line: number;
  /** Where the row begins in the kept text. */
  readonly byte: number;
  readonly text: string;
  /** Only a part of its line. */
  readonly isPart: boolean;
}

/** A line up to this is one row. Longer ones are cut into rows of this size that overlap by half. */
const ROW_CHARS = 4_096;

/** Takes text in pieces cut anywhere between characters, and gives the rows that are complete. */
class Rows {
  #held = "";
  #line = 1;
  #byte = 0;
  #isPart = false;

  *push(text: string): Generator<Row, void, void> {
    const lines = (this.#held + text).split("\n");
    this.#held = lines.pop() ?? "";
    for (const line of lines) {
      yield* this.#parts(line);
      yield this.#row(this.#rest);
      this.#line += 1;
      this.#byte += Buffer.byteLength(this.#rest) + 1;
      this.#isPart = false;
    }
    yield* this.#parts(this.#held);
    this.#held = this.#rest;
  }

  *end(): Generator<Row, void, void> {
    yield this.#row(this.#held);
  }

  #rest = "";

  /** The parts of a long line but for the last, which is left in `#rest`. */
  *#parts(line: string): Generator<Row, void, void> {
    let start = 0;
    while (line.length - start > ROW_CHARS) {
      this.#isPart = true;
      yield this.#row(line.slice(start, start + ROW_CHARS));
      const step = ROW_CHARS / 2;
      const half = line.slice(start, start + step);
      // Never within a character: the bytes would not add up.
      const size = /[\ud800-\udbff]$/u.test(half) ? step - 1 : step;
      this.#byte += Buffer.byteLength(line.slice(start, start + size));
      start += size;
    }
    this.#rest = start === 0 ? line : line.slice(start);
  }

  #row(text: string): Row {
    return { line: this.#line, byte: this.#byte, text, isPart: this.#isPart };
  }
}
