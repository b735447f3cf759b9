// What a person types or pipes in while something else is waited for too. It never keeps the process alive by itself.

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { defined } from "../../base/json/defined.js";

export interface LineSource {
  readonly input: Readable & { unref?(): unknown };
  /** Whether a person types into it. */
  readonly isTerminal: boolean;
  /** Where the question stands. */
  readonly output: NodeJS.WritableStream;
  /** Ctrl-C: while a line is edited it is a key, no signal. */
  readonly onInterrupt: () => void;
}

/**
 * Every line until the signal aborts or the input ends. In a terminal the line is edited by us: the terminal's own editing
 * cuts lines at 4,096 characters, and addresses with codes in them are longer.
 */
export async function* typedLines(question: string, source: LineSource, signal: AbortSignal): AsyncGenerator<string> {
  const { input, isTerminal, output, onInterrupt } = source;
  if (signal.aborted) return;
  const reader = createInterface({
    input,
    terminal: isTerminal,
    historySize: 0,
    ...defined({ output: isTerminal ? output : undefined }),
  });
  const close = () => reader.close();
  signal.addEventListener("abort", close, { once: true });
  if (isTerminal) {
    reader.on("SIGINT", onInterrupt);
    reader.setPrompt(question);
    reader.prompt();
  }
  try {
    for await (const line of reader) {
      yield line;
      if (isTerminal) reader.prompt();
    }
  } finally {
    signal.removeEventListener("abort", close);
    reader.close();
    input.pause();
    input.unref?.();
    if (isTerminal) output.write("\n");
  }
}
