// What can be known of an output stream: whether a person looks at it, how wide it is, and whether it may be coloured.

const DEFAULT_COLUMNS = 80;
/** Lines are not clipped at the edge of a screen nobody has, yet bounded: a log is read by people too. */
const PIPE_COLUMNS = 160;

export function isTerminal(stream: NodeJS.WritableStream | NodeJS.ReadableStream): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

export function columnsOf(stream: NodeJS.WritableStream): number {
  if (!isTerminal(stream)) return PIPE_COLUMNS;
  return "columns" in stream && typeof stream.columns === "number" && stream.columns > 0
    ? stream.columns
    : DEFAULT_COLUMNS;
}

/** Colours only on a terminal that can show them, and never against NO_COLOR (https://no-color.org). */
export function mayColor(stream: NodeJS.WritableStream, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal(stream) && !env.NO_COLOR && env.TERM !== "dumb";
}

/** A dumb terminal prints escape sequences as text: Emacs' shell, terminals of CI, some screen readers. */
export function mayMoveCursor(env: Readonly<Record<string, string | undefined>>): boolean {
  return env["TERM"] !== "dumb";
}

// The few styles the terminal client uses; without colour they leave text as it is.

export interface Palette {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly blue: (text: string) => string;
  readonly magenta: (text: string) => string;
  readonly italic: (text: string) => string;
  readonly underline: (text: string) => string;
  readonly strike: (text: string) => string;
  readonly inverse: (text: string) => string;
}

export interface LinkingPalette extends Palette {
  /** Leads to the address when it is clicked (OSC 8), where the terminal knows that. */
  readonly link: (text: string, url: string) => string;
}

/** Printable ASCII, and nothing that could end the sequence it stands in. */
const SAFE_URL = /^(?:https?|file|mailto):[\x21-\x7e]{1,2000}$/;

const STYLES = /\u001b\[[0-9;]*m|\u001b\]8;;[^\u001b]*\u001b\\/gu;

/** Without what a palette put there. */
export function withoutStyles(text: string): string {
  return text.includes("\u001b") ? text.replaceAll(STYLES, "") : text;
}

export function createPalette(isColored: boolean): LinkingPalette {
  const style = (open: number, close: number) => (text: string) =>
    isColored && text !== "" ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39),
    blue: style(34, 39),
    magenta: style(35, 39),
    italic: style(3, 23),
    underline: style(4, 24),
    strike: style(9, 29),
    inverse: style(7, 27),
    link: (text, url) => (isColored && SAFE_URL.test(url) ? `\u001b]8;;${url}\u001b\\${text}\u001b]8;;\u001b\\` : text),
  };
}

// Time as the terminal needs it: durations, a tick for the spinner, and one bound; tests bring their own.

export interface Clock {
  /** Milliseconds that never jump. */
  now(): number;
  /** Runs again and again until the returned function is called; never keeps the process alive. */
  every(intervalMs: number, run: () => void): () => void;
  /** Runs once unless the returned function is called first. */
  after(delayMs: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  every: (intervalMs, run) => {
    const timer = setInterval(run, intervalMs).unref();
    return () => clearInterval(timer);
  },
  after: (delayMs, run) => {
    if (delayMs === 0) {
      const soon = setImmediate(run);
      return () => clearImmediate(soon);
    }
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

const SECOND_MS = 1_000;
const MINUTE_S = 60;

/** `120 ms`, `1.2 s`, `2 m 05 s`: as short as it stays honest. */
export function formatElapsed(elapsedMs: number): string {
  if (elapsedMs < SECOND_MS) return `${Math.round(elapsedMs)} ms`;
  if (elapsedMs < MINUTE_S * SECOND_MS) return `${(Math.floor(elapsedMs / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(elapsedMs / SECOND_MS);
  return `${Math.floor(seconds / MINUTE_S)} m ${String(seconds % MINUTE_S).padStart(2, "0")} s`;
}
