// A regular expression of the model's, run in a thread of its own: one that never ends is ended, and holds nobody up.
import type * as threads from "node:worker_threads";
import { orAborted } from "../../base/async/deadline.js";
import type { Thread, World } from "../../base/ports/world.js";
import { BUILTIN_LIMITS } from "../limits.js";

interface Settings {
  readonly source: string;
  readonly flags: string;
  /** Lines of one text that are told; nobody shows more. */
  readonly maxLines: number;
}

interface Matched {
  /** Indexes of lines. */
  readonly lines: readonly number[];
}

/** Runs in the thread, from its own text: everything it uses comes in as an argument. */
function runMatchThread({ parentPort, workerData }: Pick<typeof threads, "parentPort" | "workerData">): void {
  const settings: Settings = workerData;
  const pattern = new RegExp(settings.source, settings.flags);
  parentPort?.on("message", (text: string) => {
    const lines: number[] = [];
    let number = 0;
    for (let start = 0; start <= text.length; number++) {
      const newline = text.indexOf("\n", start);
      const end = newline === -1 ? text.length : newline;
      // A last line without anything in it is none.
      if (newline === -1 && start === end) break;
      const line = text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end);
      if (pattern.test(line) && lines.push(number) >= settings.maxLines) break;
      start = end + 1;
    }
    parentPort.postMessage({ lines });
  });
}

export class MatchThread {
  readonly #thread: Thread;
  #waiting: { resolve(lines: readonly number[]): void; reject(error: Error): void } | undefined;
  #failure: Error | undefined;

  /** The pattern must have been compiled once already: here a mistake in it would only show as a dead thread. */
  constructor(world: World, pattern: RegExp) {
    const settings: Settings = {
      source: pattern.source,
      flags: pattern.flags,
      maxLines: BUILTIN_LIMITS.searchResults.max + 1,
    };
    const source = `"use strict";const __name=(value)=>value;(${String(runMatchThread)})(require("node:worker_threads"));`;
    this.#thread = world.thread(source, settings);
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
