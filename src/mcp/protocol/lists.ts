// Lists something of a server: every page, within caps, one bad entry never costing the others.
import { Pace } from "../../base/async/pace.js";
import type { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, measure } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { MCP_LIMITS } from "../limits.js";
import type { RequestOptions, RpcOutcome } from "../rpc/rpc.js";
import { isPartlySpilled, spilledOf } from "../transport/large/spilled.js";
import type { MessageEnds } from "../transport/transport.js";
import { type Link, outcomeError } from "./link.js";

const METHOD_NOT_FOUND = -32_601;
const CHUNK = 100;

/** An entry of the list that cannot be used. */
export interface LeftOut {
  /** As `shortName` cuts it. */
  readonly name: string;
  readonly reason: string;
  /** Name and reason in one sentence, which is also one of the `problems`. */
  readonly text: string;
}

export interface Listing<T> {
  readonly items: readonly T[];
  /** What was left out or changed, each in one sentence. */
  readonly problems: readonly string[];
  /** Absent when nothing was left out. */
  readonly leftOut?: readonly LeftOut[];
  /** Why there may be more: the server failed on a later page. */
  readonly brokenOff?: TenonError;
}

export type ReadEntry<T> =
  | { readonly ok: true; readonly key: string; readonly item: T }
  | { readonly ok: false; readonly name: string; readonly reason: string };

export interface ListKind<T> {
  readonly method: "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list";
  /** Where the result has its entries. */
  readonly field: string;
  /** What the server must have declared to be asked at all. */
  readonly capability: string;
  /** One entry, in words. */
  readonly noun: string;
  read(raw: JsonValue | undefined): ReadEntry<T>;
}

/** Throws a TenonError when not even the first page came, or the abort reason. */
export async function listAll<T>(
  link: Link,
  world: World,
  kind: ListKind<T>,
  signal: AbortSignal,
): Promise<Listing<T>> {
  if (!isJsonObject(link.capabilities[kind.capability])) return { items: [], problems: [] };
  const collected = new Collection(kind);
  const pace = Pace.of(world);
  using pages = new Pages({ link, method: kind.method, signal, collected });
  let asked = pages.ask();
  for (let page = 1; ; page++) {
    const outcome = await asked;
    signal.throwIfAborted();
    if (outcome.kind === "error" && outcome.error.code === METHOD_NOT_FOUND) return collected.listing();
    if (outcome.kind !== "result") {
      const error = outcomeError(outcome, kind.method);
      const isLinkLost = outcome.kind === "lost" && error.code !== "mcp.too_large";
      if (page === 1 || isLinkLost) throw error;
      collected.problem(`the list of ${kind.noun}s breaks off after page ${page - 1}: ${error.message}`);
      return { ...collected.listing(), brokenOff: error };
    }
    const cursor = outcome.result["nextCursor"];
    const hasMore = typeof cursor === "string" && cursor !== "";
    const mayAsk = hasMore && collected.mayAskFor(cursor, page);
    if (hasMore) collected.remember(cursor);
    if (mayAsk) {
      // Not asked for ahead, it goes out with the end of this microtask: the server works on it while we add these.
      asked = pages.ask(cursor);
      await Promise.resolve();
    }
    await collected.addPage(outcome.result, pace, signal);
    if (mayAsk) continue;
    if (hasMore) collected.problem(`the list of ${kind.noun}s does not end: ${collected.cutAfter(page)}`);
    return collected.listing();
  }
}

/** What has been listed so far, and when it is enough. */
class Collection<T> {
  readonly #kind: ListKind<T>;
  readonly #items = new Map<string, T>();
  readonly #problems: string[] = [];
  readonly #leftOut: LeftOut[] = [];
  readonly #cursors = new Set<string>();
  #problemCount = 0;
  #entries = 0;
  #heapBytes = 0;
  #skipped = 0;
  #barrenPages = 0;

  constructor(kind: ListKind<T>) {
    this.#kind = kind;
  }

  problem(sentence: string): void {
    this.#problemCount += 1;
    if (this.#problems.length < MCP_LIMITS.listMaxProblems) this.#problems.push(sentence);
  }

  listing(): Listing<T> {
    const unsaid = this.#problemCount - this.#problems.length;
    const problems = unsaid === 0 ? this.#problems : [...this.#problems, `and ${unsaid} more problems of this kind`];
    const leftOut = this.#leftOut.length === 0 ? undefined : this.#leftOut;
    return { items: [...this.#items.values()], problems, ...defined({ leftOut }) };
  }

  async addPage(result: JsonObject, pace: Pace, signal: AbortSignal): Promise<void> {
    const raw = result[this.#kind.field];
    const entries: readonly JsonValue[] = Array.isArray(raw) ? raw : [];
    if (raw !== undefined && !Array.isArray(raw)) {
      const why = spilledOf(raw) ? "is too long" : "is no list";
      this.problem(`"${this.#kind.field}" in the result ${why}`);
    }
    const before = this.#items.size;
    let start = 0;
    for (; start < entries.length && !this.#isFull(); start += CHUNK) {
      await pace.run(() => {
        for (const entry of entries.slice(start, start + CHUNK)) this.#add(entry);
      });
      signal.throwIfAborted();
    }
    const { noun } = this.#kind;
    if (this.#isFull() && (start < entries.length || this.#skipped > 0)) {
      this.problem(`the list of ${noun}s is too long: cut after ${this.#items.size} ${noun}s`);
    }
    this.#barrenPages = this.#items.size > before ? 0 : this.#barrenPages + 1;
  }

  /** Whether to ask for the page of this cursor, by what was collected before the page it came with. */
  mayAskFor(cursor: string, page: number): boolean {
    const isTooLong = page >= MCP_LIMITS.listMaxPages || this.#barrenPages >= MCP_LIMITS.listMaxBarrenPages;
    return !this.#cursors.has(cursor) && !isTooLong && !this.#isFull();
  }

  remember(cursor: string): void {
    this.#cursors.add(cursor);
    this.#heapBytes += cursor.length;
  }

  cutAfter(pages: number): string {
    return `cut after ${pages} pages and ${this.#items.size} ${this.#kind.noun}s`;
  }

  #leaveOut(fullName: string, reason: string, more = ""): void {
    const name = shortName(fullName);
    const text = `${this.#kind.noun} "${name}" is left out${more}: ${reason}`;
    this.problem(text);
    if (this.#leftOut.length < MCP_LIMITS.listMaxProblems) this.#leftOut.push({ name, reason, text });
  }

  #isFull(): boolean {
    return this.#entries >= MCP_LIMITS.listMaxTools || this.#heapBytes > MCP_LIMITS.listMaxHeapBytes;
  }

  #add(raw: JsonValue): void {
    if (this.#isFull()) {
      this.#skipped += 1;
      return;
    }
    const { noun } = this.#kind;
    this.#entries += 1;
    const { heapBytes, over } = measure(raw, MCP_LIMITS.listEntry);
    this.#heapBytes += heapBytes;
    if (isPartlySpilled(raw)) {
      const name = isJsonObject(raw) ? textField(raw, "name") : undefined;
      this.#leaveOut(name ?? "?", "the message it came in is too long", ", if not more");
      return;
    }
    const read = this.#kind.read(raw);
    if (!read.ok) this.#leaveOut(read.name, read.reason);
    else if (over !== undefined) this.#leaveOut(read.key, `its definition is ${over}`);
    else {
      if (this.#items.has(read.key)) {
        this.problem(`${noun} "${shortName(read.key)}" is defined twice: the last one counts`);
      }
      this.#items.set(read.key, read.item);
    }
  }
}

interface PagesOptions {
  readonly link: Link;
  readonly method: string;
  readonly signal: AbortSignal;
  readonly collected: Pick<Collection<unknown>, "mayAskFor">;
}

/**
 * The server makes the next page while we read this one: 10,000 tools are there a tenth sooner. At most one page is asked
 * for ahead, and after a cursor that was none of the list's, none any more.
 */
class Pages implements Disposable {
  readonly #options: PagesOptions;
  readonly #over = new AbortController();
  #ahead: { readonly cursor: string; readonly outcome: Promise<RpcOutcome> } | undefined;
  #aheadSignal: AbortSignal | undefined;
  #taken = 0;
  #isWary = false;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  /** The first page without a cursor, then each with the one that came with the last. Never rejects. */
  ask(cursor?: string): Promise<RpcOutcome> {
    this.#taken += 1;
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead && ahead.cursor === cursor) return ahead.outcome;
    if (ahead) this.#isWary = true;
    return this.#request(cursor, this.#options.signal);
  }

  /** What was asked for and is not wanted any more is called off. */
  [Symbol.dispose](): void {
    this.#over.abort();
  }

  #request(cursor: string | undefined, signal: AbortSignal): Promise<RpcOutcome> {
    const { link, method } = this.#options;
    const options: RequestOptions = {
      signal,
      timeoutMs: MCP_LIMITS.listPageTimeoutMs,
      onPeek: (ends) => this.#askAhead(ends),
    };
    return link.request(method, cursor === undefined ? {} : { cursor }, options);
  }

  #askAhead(ends: MessageEnds): void {
    if (this.#ahead || this.#isWary || this.#over.signal.aborted) return;
    const cursor = nextCursorIn(ends);
    if (cursor === undefined || !this.#options.collected.mayAskFor(cursor, this.#taken)) return;
    this.#aheadSignal ??= AbortSignal.any([this.#options.signal, this.#over.signal]);
    this.#ahead = { cursor, outcome: this.#request(cursor, this.#aheadSignal) };
  }
}

/** `"nextCursor":"250"`, with nothing in it that would have to be unescaped. */
const MEMBER = String.raw`"nextCursor"\s*:\s*"([^"\\]{1,400})"`;
const ID = String.raw`(?:-?\d{1,15}|"[^"\\]{0,200}")`;
/** `…,"nextCursor":"250"}}` and `…,"nextCursor":"250"},"jsonrpc":"2.0","id":7}`: as most write results. */
const AT_END = new RegExp(
  String.raw`[,{]\s*${MEMBER}\s*\}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*|,\s*"id"\s*:\s*${ID}\s*){0,2}\}\s*$`,
);
/** `{"jsonrpc":"2.0","id":7,"result":{"nextCursor":"250",…`: as those write it whose results have an order. */
const AT_START = new RegExp(
  String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*|"id"\s*:\s*${ID}\s*,\s*){0,2}"result"\s*:\s*\{\s*${MEMBER}\s*,`,
);

/** Not certain: a member of another object at the end of the message looks the same. Who acts on it compares later. */
export function nextCursorIn({ head, tail }: MessageEnds): string | undefined {
  return (AT_END.exec(tail) ?? AT_START.exec(head))?.[1];
}

/** A name for people: a server may call a tool by a megabyte of text. */
export function shortName(name: string): string {
  return name.length <= 80 ? name : `${name.slice(0, 77)}...`;
}

export function textField(raw: JsonObject, key: string): string | undefined {
  const value = raw[key];
  return typeof value === "string" ? value : undefined;
}
