// One place that writes: streamed answers, whole lines, and live lines below them that are redrawn while work runs.
import { type Clock, columnsOf, formatElapsed, isTerminal, systemClock } from "./stream.js";
import { clipToWidth, visibleLine } from "./text.js";

/** A line that changes while it is shown. Must render without breaks, at most `columns` wide. */
export interface LiveLine {
  render(columns: number, spinner: string): string;
}

export interface ScreenOptions {
  /** Gets the answers, and nothing else when `side` is another stream. */
  readonly main: NodeJS.WritableStream;
  /** Gets everything around the answers. */
  readonly side: NodeJS.WritableStream;
  readonly clock: Clock;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 80;
/** More would scroll small windows, and what has scrolled away cannot be erased. */
const MAX_LIVE_LINES = 6;

export class Screen {
  readonly #main: NodeJS.WritableStream;
  readonly #side: NodeJS.WritableStream;
  readonly #clock: Clock;
  readonly #isAnimated: boolean;
  readonly #live = new Set<LiveLine>();
  #isMidLine = false;
  #drawnLines = 0;
  #frame = 0;
  #holds = 0;
  #stopTicking: (() => void) | undefined;

  constructor({ main, side, clock }: ScreenOptions) {
    this.#main = main;
    this.#side = side;
    this.#clock = clock;
    this.#isAnimated = isTerminal(side);
  }

  get columns(): number {
    return columnsOf(this.#side);
  }

  /** A piece of the answer, as it streams. */
  text(plain: string, style: (text: string) => string = (text) => text): void {
    if (plain === "") return;
    this.#erase();
    this.#main.write(style(plain));
    this.#isMidLine = !plain.endsWith("\n");
    this.#draw();
  }

  /** A whole line beside the answer; an answer in the middle of a line is ended first. */
  line(styled: string): void {
    this.#erase();
    this.#breakLine();
    this.#side.write(`${styled}\n`);
    this.#draw();
  }

  /** Ends the answer's line, if it is in the middle of one. */
  endLine(): void {
    if (!this.#isMidLine) return;
    this.#erase();
    this.#breakLine();
    this.#draw();
  }

  /** Shows a live line until the returned function is called. On a stream that is no terminal nothing is shown. */
  show(line: LiveLine): () => void {
    if (!this.#isAnimated) return () => {};
    this.#live.add(line);
    this.#stopTicking ??= this.#clock.every(FRAME_MS, () => {
      this.#frame = (this.#frame + 1) % FRAMES.length;
      this.#redraw();
    });
    this.#redraw();
    return () => {
      this.#live.delete(line);
      if (this.#live.size === 0) {
        this.#stopTicking?.();
        this.#stopTicking = undefined;
      }
      this.#redraw();
    };
  }

  /** Takes the live lines away while someone else writes, until the returned function is called. */
  hold(): () => void {
    this.#holds += 1;
    this.#erase();
    this.#breakLine();
    let isHeld = true;
    return () => {
      if (isHeld) this.#holds -= 1;
      isHeld = false;
      this.#draw();
    };
  }

  #redraw(): void {
    this.#erase();
    this.#draw();
  }

  #breakLine(): void {
    if (this.#isMidLine) this.#main.write("\n");
    this.#isMidLine = false;
  }

  #erase(): void {
    if (this.#drawnLines > 0) this.#side.write(`\u001b[${this.#drawnLines}A\u001b[0J`);
    this.#drawnLines = 0;
  }

  #draw(): void {
    if (this.#isMidLine || this.#holds > 0 || this.#live.size === 0 || this.#drawnLines > 0) return;
    const spinner = FRAMES[this.#frame] ?? FRAMES[0];
    const lines = [...this.#live].slice(0, MAX_LIVE_LINES).map((line) => line.render(this.columns, spinner));
    this.#side.write(`${lines.join("\n")}\n`);
    this.#drawnLines = lines.length;
  }
}

// Says on the error stream what is waited for: a spinner where somebody looks, one line elsewhere, nothing for what is quick.

export interface Progress extends Disposable {
  /** What is waited for from now on. */
  update(text: string): void;
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
  const stop = isTerminal(errorOutput)
    ? spin(errorOutput, () => shown, clock)
    : clock.after(PATIENCE_MS, () => errorOutput.write(`${visibleLine(shown)}\n`));
  return {
    update: (next) => {
      shown = next;
    },
    [Symbol.dispose]: stop,
  };
}

/** Draws until the returned function is called. */
function spin(stream: NodeJS.WritableStream, text: () => string, clock: Clock): () => void {
  const beganMs = clock.now();
  let frame = 0;
  const draw = () => {
    const elapsedMs = clock.now() - beganMs;
    const time = elapsedMs < PATIENCE_MS ? "" : ` ${formatElapsed(elapsedMs)}`;
    const line = `${FRAMES[frame % FRAMES.length] ?? ""} ${visibleLine(text())}${time}`;
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
