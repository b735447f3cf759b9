// Reads what a person types, one question at a time. Between questions the terminal is left in its normal mode, so that
// Ctrl-C is a signal and typed-ahead lines wait in the terminal's own buffer.
import { clearLine, createInterface, cursorTo, type Interface } from "node:readline";
import type { Screen } from "../terminal/screen.js";
import { type Clock, isTerminal, type Palette } from "../terminal/stream.js";
import type { SharedTurns } from "./shared.js";

interface LineReaderOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Ctrl-C while a question is open: in raw mode it is a key, not a signal. */
  readonly onInterrupt: () => void;
}

interface QuestionOptions {
  readonly signal: AbortSignal;
  /** Only what is typed after the question counts, and it is not remembered: for answers that give consent. */
  readonly isFresh?: boolean;
  /** It is taken off the screen when the signal aborts; a prompt comes back with what was typed. */
  readonly vanishes?: boolean;
}

const HISTORY_SIZE = 200;

export class LineReader {
  readonly #options: LineReaderOptions;
  /** Lines that came in one piece with the one that answered: pasted text. */
  readonly #ahead: string[] = [];
  #history: string[] = [];
  #open: Interface | undefined;
  #isOpenFresh = false;
  /** What was typed at a prompt that had to give way. */
  #draft = "";
  #hasEnded = false;

  constructor(options: LineReaderOptions) {
    this.#options = options;
    options.input.once("end", () => {
      this.#hasEnded = true;
    });
  }

  /** Somebody is asked for a line now. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Nobody will type any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Undefined at the end of the input, and when the signal aborts. */
  async question(prompt: string, options: QuestionOptions): Promise<string | undefined> {
    const { signal, isFresh = false, vanishes = false } = options;
    if (!isFresh && this.#ahead.length > 0) return this.#ahead.shift();
    if (signal.aborted || this.#hasEnded) return undefined;
    return await new Promise<string | undefined>((resolve) => {
      const lines: string[] = [];
      const reader = this.#createInterface(prompt, isFresh);
      this.#open = reader;
      this.#isOpenFresh = isFresh;
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
        if (first === undefined) this.#abandon(reader, { isFresh, vanishes: vanishes && signal.aborted });
        resolve(first);
      });
      signal.addEventListener("abort", close, { once: true });
      reader.prompt();
      if (isFresh || this.#draft === "") return;
      reader.write(this.#draft);
      this.#draft = "";
    });
  }

  /** Nobody pressed Enter: what is printed next must not continue the question's line. */
  #abandon(reader: Interface, { isFresh, vanishes }: { readonly isFresh: boolean; readonly vanishes: boolean }): void {
    const { output } = this.#options;
    if (vanishes && !isFresh) this.#draft = reader.line;
    if (vanishes && isTerminal(output)) this.#clearLine();
    else output.write("\n");
  }

  #clearLine(): void {
    const { output } = this.#options;
    cursorTo(output, 0);
    clearLine(output, 0);
  }

  /** Other words before the line that is typed, shown when that is next drawn. A question keeps its own. */
  setPrompt(prompt: string): void {
    if (!this.#isOpenFresh) this.#open?.setPrompt(prompt);
  }

  /** Lets `write` print while a question may be open: the question and what was typed are put back below it. */
  interject(write: () => void): void {
    if (!this.#open) {
      write();
      return;
    }
    const { output } = this.#options;
    if (isTerminal(output)) this.#clearLine();
    else output.write("\n");
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
  /** Only for a session that other clients use too. */
  readonly shared?: SharedTurns;
  /** The person leaves such a session: what they were asked stays open for the others. */
  readonly isLeaving?: () => boolean;
}

// Questions to the person, one at a time: a terminal has one line to type in.

export class QuestionQueue {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #background: { readonly yielding: AbortController; readonly done: Promise<unknown> } | undefined;

  async run<T>(ask: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.#background?.yielding.abort();
    const answered = this.#last.then(async () => {
      try {
        await this.#background?.done;
        return await ask();
      } finally {
        this.#waiting -= 1;
      }
    });
    this.#last = answered.catch(() => {});
    return await answered;
  }

  /** Runs `work` while nothing is asked: its signal aborts when it must give way, and it begins again afterwards. */
  async between<T>(work: (yielding: AbortSignal) => Promise<T | undefined>): Promise<T | undefined> {
    for (;;) {
      while (this.#waiting > 0) await this.#last;
      const yielding = new AbortController();
      const working = work(yielding.signal);
      this.#background = { yielding, done: working.catch(() => {}) };
      const result = await working.finally(() => (this.#background = undefined));
      if (result !== undefined || !yielding.signal.aborted) return result;
    }
  }
}
