// A regular expression of the model's, run in a thread of its own: one that never ends is ended, and holds nobody up.
import { orAborted } from "../base/async/deadline.js";
import type { Thread, World } from "../base/ports/world.js";
import { BUILTIN_LIMITS } from "./limits.js";

export interface MatchSettings {
  readonly source: string;
  readonly flags: string;
  /** At most this many lines of one text are reported. */
  readonly maxLines: number;
}

export interface Matched {
  /** Indexes of lines. */
  readonly lines: readonly number[];
}

export class MatchThread {
  readonly #thread: Thread;
  #waiting: { resolve(lines: readonly number[]): void; reject(error: Error): void } | undefined;
  #failure: Error | undefined;

  /** The pattern must have been compiled once already: here a mistake in it would only show as a dead thread. */
  constructor(world: World, pattern: RegExp) {
    const { source, flags } = pattern;
    const settings: MatchSettings = { source, flags, maxLines: BUILTIN_LIMITS.searchResults.max + 1 };
    this.#thread = world.thread(new URL("./match-worker.mjs", import.meta.url), settings);
    this.#thread.listen({
      onMessage: (message) => {
        if (isMatched(message)) this.#waiting?.resolve(message.lines);
      },
      onFailed: (error) => {
        this.#failure = error;
        this.#waiting?.reject(error);
      },
    });
  }

  /** Indexes of the lines that match. One text at a time. When the signal aborts, the thread is still busy: end it. */
  async match(text: string, signal: AbortSignal): Promise<readonly number[]> {
    if (this.#failure) throw this.#failure;
    const matched = new Promise<readonly number[]>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    this.#thread.post(text);
    return await orAborted(matched, signal);
  }

  end(): void {
    this.#thread.end();
  }
}

function isMatched(message: unknown): message is Matched {
  return typeof message === "object" && message !== null && "lines" in message && Array.isArray(message.lines);
}
