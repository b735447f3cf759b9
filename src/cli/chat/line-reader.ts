// Plain mode: reads lines that a person types or another program sends, one question at a time. It writes no escape sequence:
// the terminal echoes and edits by itself, and answers are chosen by number.
import { createInterface, type Interface } from "node:readline";
import { type MenuQuestion, QUIET_MS } from "../terminal/live/menu.js";
import { type Clock, isTerminal, withoutStyles } from "../terminal/stream.js";
import type { Asker, QuestionOptions } from "./terminal.js";

interface LineReaderOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly clock: Clock;
}

export class LineReader implements Asker {
  readonly #options: LineReaderOptions;
  /** Lines that are no answer: pasted with the one that answered, or typed before a question that wants a fresh one. */
  readonly #ahead: string[] = [];
  #open: Interface | undefined;
  #isOpenFresh = false;
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
    const { signal, isFresh = false } = options;
    if (!isFresh && this.#ahead.length > 0) return this.#ahead.shift();
    if (signal.aborted || this.#hasEnded) return undefined;
    return await new Promise<string | undefined>((resolve) => {
      const lines: string[] = [];
      const reader = this.#createInterface(prompt);
      this.#open = reader;
      this.#isOpenFresh = isFresh;
      const close = () => reader.close();
      const quiet = new Quiet(this.#options.clock);
      // What was typed while nobody read waits in the terminal, and comes as soon as somebody reads again.
      if (isFresh && isTerminal(this.#options.input)) quiet.begin();
      // All lines of one chunk are emitted in a row: closing after them keeps the rest of a paste.
      reader.on("line", (line) => {
        if (quiet.isOn) {
          quiet.begin();
          this.#ahead.push(line);
          this.#options.output.write("\n  Typed before the question: not taken as its answer.\n");
          reader.prompt();
        } else if (lines.push(line) === 1) queueMicrotask(close);
      });
      reader.once("close", () => {
        signal.removeEventListener("abort", close);
        quiet.end();
        this.#open = undefined;
        // Several at once were pasted, or typed blindly: none of them is a command for the shell.
        const [first, ...rest] = lines.length > 1 ? lines.map((line) => line.replace(/^!/u, " !")) : lines;
        this.#ahead.push(...rest);
        // Nobody pressed Enter: what is printed next must not continue the question's line.
        if (first === undefined) this.#options.output.write("\n");
        resolve(first);
      });
      signal.addEventListener("abort", close, { once: true });
      reader.prompt();
    });
  }

  async choose({ title, choices }: MenuQuestion, options: QuestionOptions): Promise<number | undefined> {
    const { output } = this.#options;
    output.write(`${withoutStyles(title)}\n`);
    for (const [index, { label }] of choices.entries()) output.write(`  ${index + 1}. ${label}\n`);
    for (;;) {
      const typed = await this.question(`  Answer 1 to ${choices.length} › `, { ...options, isFresh: true });
      if (typed === undefined || options.signal.aborted) return undefined;
      const word = typed.trim().toLowerCase();
      const byKey = choices.findIndex(({ key }) => key !== undefined && key === word);
      const chosen = /^\d+$/u.test(word) ? Number(word) - 1 : byKey;
      if (chosen >= 0 && chosen < choices.length) return chosen;
      output.write(`  Please answer with a number from 1 to ${choices.length}.\n`);
    }
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
    this.#options.output.write("\n");
    write();
    this.#open.prompt(true);
  }

  #createInterface(prompt: string): Interface {
    const { input, output } = this.#options;
    return createInterface({ input, output, terminal: false, prompt });
  }
}

/** The time after a question is shown in which a line cannot be its answer; every line makes it longer. */
class Quiet {
  isOn = false;
  readonly #clock: Clock;
  #stop: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(): void {
    this.#stop();
    this.isOn = true;
    let isOver = false;
    const stop = this.#clock.after(QUIET_MS, () => {
      // After a long pause of this process the time may be over before the lines of that pause are read.
      setImmediate(() => {
        if (!isOver) this.isOn = false;
      });
    });
    this.#stop = () => {
      isOver = true;
      stop();
    };
  }

  end(): void {
    this.#stop();
  }
}
