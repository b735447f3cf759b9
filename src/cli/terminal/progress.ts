// Says on the error stream what is waited for: a spinner where somebody looks, one line elsewhere, nothing for what is quick.
import { type Clock, formatElapsed, systemClock } from "./clock.js";
import { columnsOf, isTerminal } from "./stream.js";
import { visibleLine } from "./visible.js";
import { clipToWidth } from "./width.js";

export interface Progress extends Disposable {
  /** What is waited for from now on. */
  update(text: string): void;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 80;
/** What is done by then needs no words. */
const PATIENCE_MS = 1_000;
const ERASE_LINE = "\r\u001b[2K";

/** Shown until it is disposed of; a terminal then has nothing left of it. */
export function progress(
  { errorOutput }: { readonly errorOutput: NodeJS.WritableStream },
  text: string,
  clock: Clock = systemClock,
): Progress {
  return isTerminal(errorOutput) ? spinner(errorOutput, text, clock) : oneLine(errorOutput, text, clock);
}

function spinner(stream: NodeJS.WritableStream, text: string, clock: Clock): Progress {
  const beganMs = clock.now();
  let shown = text;
  let frame = 0;
  const draw = () => {
    const elapsedMs = clock.now() - beganMs;
    const time = elapsedMs < PATIENCE_MS ? "" : ` ${formatElapsed(elapsedMs)}`;
    const line = `${FRAMES[frame % FRAMES.length] ?? ""} ${visibleLine(shown)}${time}`;
    stream.write(ERASE_LINE + clipToWidth(line, columnsOf(stream) - 1));
    frame += 1;
  };
  draw();
  const stop = clock.every(FRAME_MS, draw);
  return {
    update: (next) => {
      shown = next;
    },
    [Symbol.dispose]: () => {
      stop();
      stream.write(ERASE_LINE);
    },
  };
}

function oneLine(stream: NodeJS.WritableStream, text: string, clock: Clock): Progress {
  let shown = text;
  const stop = clock.after(PATIENCE_MS, () => stream.write(`${visibleLine(shown)}\n`));
  return {
    update: (next) => {
      shown = next;
    },
    [Symbol.dispose]: stop,
  };
}
