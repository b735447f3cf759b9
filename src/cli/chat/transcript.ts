// Everything of a chat unfolded, for Ctrl-O: kept beside the scrollback, in which long results and thoughts are folded.
import type { Key } from "../terminal/live/keys.js";
import type { Overlay } from "../terminal/live/live-terminal.js";
import { clipStyled, type WindowSize } from "../terminal/live/region.js";
import { wrapStyled } from "../terminal/live/wrap-styled.js";
import { type Palette, withoutStyles } from "../terminal/stream.js";
import { displayWidth } from "../terminal/text.js";

/** The oldest lines go when there are more. */
const MAX_LINES = 20_000;

export class Transcript {
  #lines: string[] = [];

  get lines(): readonly string[] {
    return this.#lines;
  }

  add(lines: readonly string[]): void {
    for (const line of lines) this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines = this.#lines.slice(-MAX_LINES);
  }

  clear(): void {
    this.#lines = [];
  }
}

/** A window over the transcript that begins at its end. */
export class TranscriptPager implements Overlay {
  readonly #lines: readonly string[];
  readonly #palette: Palette;
  #wrapped: { readonly columns: number; readonly lines: readonly string[] } | undefined;
  /** The last line that is shown, counted from the end. */
  #below = 0;
  #rows = 1;

  constructor(lines: readonly string[], palette: Palette) {
    this.#lines = lines;
    this.#palette = palette;
  }

  render({ columns, rows }: WindowSize): readonly string[] {
    this.#rows = Math.max(1, rows - 1);
    const lines = this.#wrap(columns);
    this.#below = Math.max(0, Math.min(this.#below, lines.length - this.#rows));
    const end = lines.length - this.#below;
    const shown = lines.slice(Math.max(0, end - this.#rows), end);
    const blanks = Array.from({ length: this.#rows - shown.length }, () => "");
    const place = this.#below === 0 ? "end" : `${this.#below} lines below`;
    const help = `Everything, unfolded · ${place} · ↑ ↓ PgUp PgDn Home End · Esc or Ctrl-O folds it again`;
    return [...shown, ...blanks, clipStyled(this.#palette.inverse(help), columns)];
  }

  press(key: Key): boolean {
    if (key.kind === "text") {
      if (key.text === "q") return false;
      this.#scroll(key.text === " " ? "pagedown" : key.text === "k" ? "up" : key.text === "j" ? "down" : "");
    }
    if (key.kind !== "key") return true;
    if (key.name === "escape" || (key.ctrl && (key.name === "o" || key.name === "c"))) return false;
    this.#scroll(key.name);
    return true;
  }

  #scroll(name: string): void {
    const steps: Readonly<Record<string, number>> = {
      up: 1,
      down: -1,
      pageup: this.#rows - 1,
      pagedown: 1 - this.#rows,
      home: MAX_LINES * 100,
      end: -MAX_LINES * 100,
    };
    this.#below = Math.max(0, this.#below + (steps[name] ?? 0));
  }

  #wrap(columns: number): readonly string[] {
    if (this.#wrapped?.columns !== columns) {
      const lines = this.#lines.flatMap((line) => {
        return displayWidth(withoutStyles(line)) <= columns ? [line] : wrapStyled(line, columns, 2);
      });
      this.#wrapped = { columns, lines };
    }
    return this.#wrapped.lines;
  }
}
