// Looks for a pattern in a kept text, line by line, in linear time and without holding the event loop.
import { Pace } from "../../base/async/pace.js";
import { defined } from "../../base/json/defined.js";
import { markForeign } from "../../base/text/marking.js";
import { compilePattern } from "../../base/text/pattern.js";
import { TOOL_LIMITS } from "../limits.js";
import { bytesFrom } from "./blocks.js";
import { pieces, STREAM, Unreadable, utf8 } from "./read-range.js";
import type { KeptResult, ResultStore } from "./store.js";

export interface SearchRequest {
  readonly pattern: string;
  /** The pattern is a text to be found as it is. One without special characters is so anyway. */
  readonly isLiteral: boolean;
  /** Lines before this one are left out. */
  readonly fromLine: number;
  readonly maxBytes: number;
}

export interface Matches {
  /** One per line, `12: text`, marked; of a part of a long line `12 (byte 4096): text`. */
  readonly rows: readonly string[];
  /** Where to go on when not all was looked at, and why it stopped. */
  readonly rest?: { readonly line: number; readonly why: string };
  /** How many lines were looked at. */
  readonly lines: number;
}

/** How long the search runs before others get their turn. */
const TURN_MS = 4;

/** Throws `Unreadable`. */
export async function searchResult(
  store: ResultStore,
  { handle }: KeptResult,
  request: SearchRequest,
): Promise<Matches> {
  const search = new Search(request, store);
  const rows = new Rows();
  const decoder = utf8();
  for await (const piece of pieces(store, handle)) {
    await search.look(rows.push(decoder.decode(piece, STREAM)));
    if (search.rest) break;
  }
  if (!search.rest) await search.look(rows.push(decoder.decode()));
  if (!search.rest) await search.look(rows.end());
  return { rows: search.found, lines: search.lines, ...defined({ rest: search.rest }) };
}

function matcherOf({ pattern, isLiteral }: SearchRequest): (text: string) => boolean {
  if (pattern === "") throw new Unreadable("the pattern is empty");
  if (pattern.length > ROW_CHARS / 2) throw new Unreadable(`the pattern is over ${ROW_CHARS / 2} characters`);
  if (isLiteral || !/[\\^$.*+?()[\]{}|]/.test(pattern)) return (text) => text.includes(pattern);
  let steps = 0;
  const spend = (count: number) => {
    steps += count;
    if (steps <= TOOL_LIMITS.resultMatchSteps) return;
    throw new Unreadable("matching this pattern takes too long: make it simpler, without nested repetition");
  };
  const compiled = compilePattern(pattern, spend);
  if (!compiled) {
    throw new Unreadable(
      "the pattern is no regular expression that can be matched in linear time: lookaround and back references are not supported. " +
        'For a plain text that holds special characters set "literal" to true',
    );
  }
  return (text) => {
    steps = 0;
    return compiled.test(text, spend);
  };
}

class Search {
  readonly #request: SearchRequest;
  readonly #matches: (text: string) => boolean;
  readonly #store: ResultStore;
  readonly #endMs: number;
  #bytesLeft: number;
  /** The line of the last row, if that was a part that matched: the next part overlaps it. */
  #lastPart: number | undefined;
  readonly found: string[] = [];
  lines = 0;
  rest: Matches["rest"] | undefined;

  constructor(request: SearchRequest, store: ResultStore) {
    this.#request = request;
    this.#matches = matcherOf(request);
    this.#store = store;
    this.#endMs = store.world.monotonicMs() + TOOL_LIMITS.resultSearchMs;
    this.#bytesLeft = request.maxBytes;
  }

  /** A few milliseconds at a time: the event loop is free between them. */
  async look(rows: Iterator<Row>): Promise<void> {
    const { world } = this.#store;
    for (let isOver = false; !isOver && !this.rest; ) {
      isOver = await Pace.of(world).run(() => {
        const endMs = world.monotonicMs() + TURN_MS;
        for (let step = rows.next(); !step.done; step = rows.next()) {
          this.#lookAt(step.value);
          if (this.rest) return true;
          if (world.monotonicMs() > endMs) return false;
        }
        return true;
      });
      if (!this.rest && world.monotonicMs() > this.#endMs)
        this.rest = { line: this.lines + 1, why: "it took too long" };
    }
  }

  #lookAt(row: Row): void {
    this.lines = row.line;
    if (row.line < this.#request.fromLine) return;
    const isMatch = this.#matches(row.text);
    // Its first half was in the part before: a match there has been shown.
    const isSeen =
      isMatch && row.isPart && this.#lastPart === row.line && !this.#matches(row.text.slice(ROW_CHARS / 2));
    this.#lastPart = isMatch && row.isPart ? row.line : undefined;
    if (!isMatch || isSeen) return;
    const shown = this.#shown(row);
    const bytes = Buffer.byteLength(shown) + 1;
    if (this.found.length >= TOOL_LIMITS.resultMatches.max || bytes > this.#bytesLeft) {
      this.rest = { line: row.line, why: "there are more matches than fit" };
      return;
    }
    this.#bytesLeft -= bytes;
    this.found.push(shown);
  }

  #shown({ line, byte, text, isPart }: Row): string {
    const { lineChars } = TOOL_LIMITS.resultMatches;
    const place = isPart ? `${line} (byte ${byte})` : `${line}`;
    const at = Math.max(0, text.indexOf(this.#request.pattern) - lineChars / 2);
    const excerpt = text.length <= lineChars ? text : `${at > 0 ? "…" : ""}${text.slice(at, at + lineChars)}…`;
    return `${place}: ${bytesFrom(markForeign(excerpt), lineChars * 4)}`;
  }
}

/** A line of a kept text, or one of the overlapping parts of a very long line. */
interface Row {
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
    const last = lines.pop() ?? "";
    for (const line of lines) {
      const rest = yield* this.#parts(line);
      yield this.#row(rest);
      this.#line += 1;
      this.#byte += Buffer.byteLength(rest) + 1;
      this.#isPart = false;
    }
    this.#held = yield* this.#parts(last);
  }

  *end(): Generator<Row, void, void> {
    yield this.#row(this.#held);
  }

  /** The parts of a long line except for the last one, which is returned. */
  *#parts(line: string): Generator<Row, string, void> {
    let start = 0;
    while (line.length - start > ROW_CHARS) {
      this.#isPart = true;
      yield this.#row(line.slice(start, start + ROW_CHARS));
      const half = line.slice(start, start + ROW_CHARS / 2);
      // Never within a character: the bytes would not add up.
      const step = /[\ud800-\udbff]$/u.test(half) ? half.slice(0, -1) : half;
      this.#byte += Buffer.byteLength(step);
      start += step.length;
    }
    return start === 0 ? line : line.slice(start);
  }

  #row(text: string): Row {
    return { line: this.#line, byte: this.#byte, text, isPart: this.#isPart };
  }
}
