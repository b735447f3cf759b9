// Reads what a person types, one question at a time. Between questions the terminal is left in its normal mode, so that
// Ctrl-C is a signal and typed-ahead lines wait in the terminal's own buffer.
import { clearLine, createInterface, cursorTo, type Interface } from "node:readline";
import type { Screen } from "../terminal/screen.js";
import { type Clock, isTerminal, type Palette } from "../terminal/stream.js";

interface LineReaderOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Ctrl-C while a question is open: in raw mode it is a key, not a signal. */
  readonly onInterrupt: () => void;
}

const HISTORY_SIZE = 200;

export class LineReader {
  readonly #options: LineReaderOptions;
  /** Lines that came in one piece with the one that answered: pasted text. */
  readonly #ahead: string[] = [];
  #history: string[] = [];
  #open: Interface | undefined;
  #hasEnded = false;

  constructor(options: LineReaderOptions) {
    this.#options = options;
    options.input.once("end", () => {
      this.#hasEnded = true;
    });
  }

  /**
   * Undefined at the end of the input, and when the signal aborts. `isFresh`: only what is typed after the question counts,
   * and it is not remembered, for answers that give consent.
   */
  async question(
    prompt: string,
    { signal, isFresh = false }: { readonly signal: AbortSignal; readonly isFresh?: boolean },
  ): Promise<string | undefined> {
    if (!isFresh && this.#ahead.length > 0) return this.#ahead.shift();
    if (signal.aborted || this.#hasEnded) return undefined;
    return await new Promise<string | undefined>((resolve) => {
      const lines: string[] = [];
      const reader = this.#createInterface(prompt, isFresh);
      this.#open = reader;
      const close = () => reader.close();
      // All lines of one chunk are emitted in a row: closing after them keeps the rest of a paste.
      reader.on("line", (line) => {
        if (lines.push(line) === 1) queueMicrotask(close);
      });
      reader.once("close", () => {
        signal.removeEventListener("abort", close);
        this.#open = undefined;
        const [first, ...rest] = lines;
        this.#ahead.push(...rest);
        // Nobody pressed Enter: what is printed next must not continue the question's line.
        if (first === undefined) this.#options.output.write("\n");
        resolve(first);
      });
      signal.addEventListener("abort", close, { once: true });
      reader.prompt();
    });
  }

  /** Lets `write` print while a question may be open: the question and what was typed are put back below it. */
  interject(write: () => void): void {
    if (!this.#open) {
      write();
      return;
    }
    const { output } = this.#options;
    if (isTerminal(output)) {
      cursorTo(output, 0);
      clearLine(output, 0);
    } else output.write("\n");
    write();
    this.#open.prompt(true);
  }

  /** Throws away what was typed so far at the open question. */
  clear(): void {
    if (!this.#open?.terminal) return;
    this.#open.write(null, { ctrl: true, name: "e" });
    this.#open.write(null, { ctrl: true, name: "u" });
  }

  #createInterface(prompt: string, isFresh: boolean): Interface {
    const { input, output, onInterrupt } = this.#options;
    const history = isFresh ? [] : this.#history;
    const terminal = isTerminal(input) && isTerminal(output);
    const reader = createInterface({ input, output, terminal, prompt, history, historySize: HISTORY_SIZE });
    reader.on("SIGINT", onInterrupt);
    if (!isFresh) reader.on("history", (lines) => (this.#history = [...lines]));
    return reader;
  }
}

/** Where the parts of a chat write and ask. */
export interface ChatTerminal {
  readonly screen: Screen;
  readonly palette: Palette;
  readonly clock: Clock;
  readonly reader: LineReader;
  readonly queue: QuestionQueue;
}

// Questions to the person, one at a time: a terminal has one line to type in.

export class QuestionQueue {
  #last: Promise<unknown> = Promise.resolve();

  async run<T>(ask: () => Promise<T>): Promise<T> {
    const answered = this.#last.then(ask);
    this.#last = answered.catch(() => {});
    return await answered;
  }
}
