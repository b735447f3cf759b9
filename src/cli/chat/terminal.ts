// What the parts of a chat need of a terminal, whichever kind it is; and questions to the person, one at a time.
import type { MenuQuestion } from "../terminal/live/menu.js";
import type { Clock, LinkingPalette } from "../terminal/stream.js";
import type { SharedTurns } from "./shared.js";

export interface Printer {
  readonly columns: number;
  /** A whole line, visible and styled. */
  line(styled: string): void;
  /** Takes changing lines away while something is asked, until the returned function is called. */
  hold(): () => void;
}

export interface QuestionOptions {
  readonly signal: AbortSignal;
  /** Only what is typed after the question counts, and it is not remembered: for answers that give consent. */
  readonly isFresh?: boolean;
  /** It goes on with a form whose last answer was just given: who types on at once means this one. */
  readonly isNext?: boolean;
  /** It is taken off the screen when the signal aborts; a prompt comes back with what was typed. */
  readonly vanishes?: boolean;
}

export interface Asker {
  /** Nobody will type any more. */
  readonly hasEnded: boolean;
  /** A line of text; undefined at the end of the input, and when the signal aborts. */
  question(prompt: string, options: QuestionOptions): Promise<string | undefined>;
  /** The index of an answer; undefined as above. */
  choose(menu: MenuQuestion, options: QuestionOptions): Promise<number | undefined>;
  /** Lets `write` print while a question may be open. */
  interject(write: () => void): void;
}

/** Where the parts of a chat write and ask. */
export interface ChatTerminal {
  readonly screen: Printer;
  readonly palette: LinkingPalette;
  readonly clock: Clock;
  readonly reader: Asker;
  readonly queue: QuestionQueue;
  /** Only for a session that other clients use too. */
  readonly shared?: SharedTurns;
  /** The person leaves such a session: what they were asked stays open for the others. */
  readonly isLeaving?: () => boolean;
}

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
