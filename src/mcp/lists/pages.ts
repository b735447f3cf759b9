// Asks for one page of a list after another; for the next one, where its cursor can be seen, before the last one is read.

import type { Link } from "../era/link.js";
import { MCP_LIMITS } from "../limits.js";
import type { RequestOptions, RpcOutcome } from "../rpc/rpc.js";
import type { MessageEnds } from "../transport/transport.js";
import { nextCursorIn } from "./next-cursor.js";

export interface PagesOptions {
  readonly link: Link;
  readonly method: string;
  readonly signal: AbortSignal;
  /** Whether that many pages and this cursor are not too much yet. */
  readonly mayAskFor: (cursor: string, pages: number) => boolean;
}

/**
 * The server makes the next page while we read this one: 10,000 tools are there a tenth sooner. At most one page is asked
 * for ahead, and after a cursor that was none of the list's, none any more.
 */
export class Pages implements Disposable {
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
    if (cursor === undefined || !this.#options.mayAskFor(cursor, this.#taken)) return;
    this.#aheadSignal ??= AbortSignal.any([this.#options.signal, this.#over.signal]);
    this.#ahead = { cursor, outcome: this.#request(cursor, this.#aheadSignal) };
  }
}
