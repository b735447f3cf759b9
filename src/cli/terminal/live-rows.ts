// One row for each thing that is waited for, redrawn in place until all are done; then nothing is left of them.
import {
  type Clock,
  columnsOf,
  formatElapsed,
  isTerminal,
  mayMoveCursor,
  type Palette,
  systemClock,
} from "./stream.js";
import { clipToWidth, displayWidth, padToWidth, visibleLine } from "./text.js";

export interface LiveRows extends Disposable {
  /** What goes on in a row from now on. */
  update(name: string, text: string): void;
  /** The row stays, with its sign, until all are done. */
  done(name: string, sign: string, text: string): void;
}

export interface LiveRowsOptions {
  readonly errorOutput: NodeJS.WritableStream;
  readonly palette: Palette;
  readonly clock?: Clock;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 80;
/** What has scrolled out of a small window cannot be erased. */
const MOST_ROWS = 12;
/** Without a terminal one line says what is waited for, unless it is done by then. */
const PATIENCE_MS = 1_000;

/** `rows`: names, each with what is going on. */
export function liveRows(rows: ReadonlyMap<string, string>, options: LiveRowsOptions): LiveRows {
  const { errorOutput: stream, clock = systemClock } = options;
  if (!isTerminal(stream) || !mayMoveCursor(process.env)) return quietRows(rows, stream, clock);
  const shown = new Rows(rows, options, clock);
  const stop = clock.every(FRAME_MS, () => shown.draw());
  shown.draw();
  return {
    update: (name, text) => shown.set(name, { text }),
    done: (name, sign, text) => shown.set(name, { sign, text }),
    [Symbol.dispose]: () => {
      stop();
      shown.erase();
    },
  };
}

function quietRows(rows: ReadonlyMap<string, string>, stream: NodeJS.WritableStream, clock: Clock): LiveRows {
  const waiting = new Set(rows.keys());
  const stop = clock.after(PATIENCE_MS, () => {
    if (waiting.size > 0) stream.write(`Connecting to ${[...waiting].map(visibleLine).join(", ")}…\n`);
  });
  const done = (name: string) => {
    waiting.delete(name);
  };
  return { update: () => {}, done, [Symbol.dispose]: stop };
}

interface Row {
  /** Undefined while it is waited for. */
  readonly sign?: string;
  readonly text: string;
}

class Rows {
  readonly #rows: Map<string, Row & { readonly endMs?: number }>;
  readonly #stream: NodeJS.WritableStream;
  readonly #palette: Palette;
  readonly #clock: Clock;
  readonly #beganMs: number;
  readonly #nameColumns: number;
  #drawn = 0;
  #frame = 0;

  constructor(rows: ReadonlyMap<string, string>, { errorOutput, palette }: LiveRowsOptions, clock: Clock) {
    this.#rows = new Map([...rows].map(([name, text]) => [name, { text }]));
    this.#stream = errorOutput;
    this.#palette = palette;
    this.#clock = clock;
    this.#beganMs = clock.now();
    this.#nameColumns = Math.max(...[...rows.keys()].map((name) => displayWidth(visibleLine(name))));
  }

  set(name: string, row: Row): void {
    const isDone = row.sign !== undefined;
    this.#rows.set(name, isDone ? { ...row, endMs: this.#clock.now() } : row);
    this.draw();
  }

  /** Row by row: some terminals keep in their history what is cleared all at once. */
  erase(): void {
    if (this.#drawn > 0) this.#stream.write(`${this.#above}${"\u001b[2K\n".repeat(this.#drawn)}${this.#above}`);
    this.#drawn = 0;
  }

  /** To the first row. */
  get #above(): string {
    return this.#drawn > 0 ? `\u001b[${this.#drawn}A` : "";
  }

  draw(): void {
    const spinner = FRAMES[this.#frame % FRAMES.length] ?? "";
    this.#frame += 1;
    const columns = columnsOf(this.#stream) - 3;
    // Those that are waited for matter most where not all fit.
    const all = [...this.#rows];
    const open = all.filter(([, { sign }]) => sign === undefined);
    const kept = new Set([...open, ...all.filter(([, { sign }]) => sign !== undefined)].slice(0, MOST_ROWS));
    const lines = all
      .filter((row) => kept.has(row))
      .map(([name, { sign, text, endMs }]) => {
        const time = formatElapsed((endMs ?? this.#clock.now()) - this.#beganMs);
        const padded = padToWidth(visibleLine(name), this.#nameColumns);
        const words = clipToWidth(`${padded}  ${visibleLine(text)}`, columns - 10);
        return `${sign ?? spinner} ${words}  ${this.#palette.dim(time)}`;
      });
    if (all.length > kept.size) lines.push(this.#palette.dim(`  … ${all.length - kept.size} more`));
    const left = Math.max(0, this.#drawn - lines.length);
    const rest = left > 0 ? `${"\u001b[2K\n".repeat(left)}\u001b[${left}A` : "";
    this.#stream.write(`${this.#above}${lines.map((line) => `\u001b[2K${line}\n`).join("")}${rest}`);
    this.#drawn = lines.length;
  }
}
