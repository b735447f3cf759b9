// Plain output: streamed answers and whole lines, without an escape sequence; and the line that says what a command waits for.
import { type Clock, columnsOf, formatElapsed, isTerminal, mayMoveCursor, systemClock } from "./stream.js";
import { clipToWidth, visibleLine } from "./text.js";

export interface ScreenOptions {
  /** Gets the answers, and nothing else when `side` is another stream. */
  readonly main: NodeJS.WritableStream;
  /** Gets everything around the answers. */
  readonly side: NodeJS.WritableStream;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 80;

export class Screen {
  readonly #main: NodeJS.WritableStream;
  readonly #side: NodeJS.WritableStream;
  #isMidLine = false;

  constructor({ main, side }: ScreenOptions) {
    this.#main = main;
    this.#side = side;
  }

  get columns(): number {
    return columnsOf(this.#side);
  }

  /** A piece of the answer, as it streams. */
  text(plain: string): void {
    if (plain === "") return;
    this.#main.write(plain);
    this.#isMidLine = !plain.endsWith("\n");
  }

  /** A whole line beside the answer; an answer in the middle of a line is ended first. */
  line(styled: string): void {
    this.endLine();
    this.#side.write(`${styled}\n`);
  }

  /** Ends the answer's line, if it is in the middle of one. */
  endLine(): void {
    if (this.#isMidLine) this.#main.write("\n");
    this.#isMidLine = false;
  }

  /** Nothing changes here that would have to give way. */
  hold(): () => void {
    this.endLine();
    return () => {};
  }
}

// Says on the error stream what is waited for: a spinner where somebody looks, one line elsewhere, nothing for what is quick.

export interface Progress extends Disposable {
  /** What is waited for from now on. */
  update(text: string): void;
  /** Takes the spinner away while `write` prints to the same terminal; it comes back below. */
  above(write: () => void): void;
  /** Takes it away while somebody is asked, until the returned function is called. */
  hold(): () => void;
}

/** What is done by then needs no words. */
const PATIENCE_MS = 1_000;
const ERASE_LINE = "\r\u001b[2K";

/** Shown until it is disposed of; a terminal then has nothing left of it. */
export function progress(
  { errorOutput }: { readonly errorOutput: NodeJS.WritableStream },
  text: string,
  clock: Clock = systemClock,
): Progress {
  let shown = text;
  const isSpinning = isTerminal(errorOutput) && mayMoveCursor(process.env);
  let holds = 0;
  const stop = isSpinning
    ? spin(errorOutput, () => (holds > 0 ? undefined : shown), clock)
    : clock.after(PATIENCE_MS, () => errorOutput.write(`${visibleLine(shown)}\n`));
  return {
    update: (next) => {
      shown = next;
    },
    above: (write) => {
      if (isSpinning) errorOutput.write(ERASE_LINE);
      write();
    },
    hold: () => {
      holds += 1;
      if (isSpinning) errorOutput.write(ERASE_LINE);
      return () => {
        holds -= 1;
      };
    },
    [Symbol.dispose]: stop,
  };
}

/** Draws until the returned function is called; nothing while there is no text. */
function spin(stream: NodeJS.WritableStream, text: () => string | undefined, clock: Clock): () => void {
  const beganMs = clock.now();
  let frame = 0;
  const draw = () => {
    const words = text();
    if (words === undefined) return;
    const elapsedMs = clock.now() - beganMs;
    const time = elapsedMs < PATIENCE_MS ? "" : ` ${formatElapsed(elapsedMs)}`;
    const line = `${FRAMES[frame % FRAMES.length] ?? ""} ${visibleLine(words)}${time}`;
    stream.write(ERASE_LINE + clipToWidth(line, columnsOf(stream) - 1));
    frame += 1;
  };
  draw();
  const stop = clock.every(FRAME_MS, draw);
  return () => {
    stop();
    stream.write(ERASE_LINE);
  };
}
