// The changing lines at the end of the output. Finished lines go above them into the terminal's own scrollback and are never
// touched again; of the changing ones only those that differ are written. Each frame is one write, in synchronized output.
import { withoutStyles } from "../stream.js";
import { cells, clipToWidth, displayWidth, graphemesOf } from "../text.js";

export interface Frame {
  readonly lines: readonly string[];
  /** Where the cursor is; hidden without it. */
  readonly cursor?: { readonly row: number; readonly column: number } | undefined;
}

export interface WindowSize {
  readonly columns: number;
  readonly rows: number;
}

const MAX_CLIPS = 200;
const BEGIN = "\u001b[?2026h\u001b[?25l";
const END = "\u001b[?2026l";
const SHOW_CURSOR = "\u001b[?25h";
const CLEAR_LINE = "\u001b[2K";
/** From the beginning of a line on. Not from the first cell: tmux keeps what is cleared from that of the window in its history. */
const CLEAR_BELOW = `${CLEAR_LINE}\u001b[C\u001b[J\r`;

export class LiveRegion {
  readonly #write: (text: string) => void;
  readonly #size: () => WindowSize;
  #drawn: readonly string[] = [];
  /** Where the cursor was left, within the region. */
  #row = 0;
  #column = 0;
  #isCursorShown = true;
  readonly #clips = new Map<string, string>();
  #columns = 0;

  constructor(write: (text: string) => void, size: () => WindowSize) {
    this.#write = write;
    this.#size = size;
  }

  /** `committed` go above the region, for good. Lines that do not fit the window are left out from the top. */
  draw(committed: readonly string[], { lines: wanted, cursor }: Frame): void {
    const { columns, rows } = this.#size();
    const left = Math.max(0, wanted.length - Math.max(1, rows - 1));
    const lines = wanted.slice(left).map((line) => this.#clipped(line, columns));
    const out = committed.length > 0 ? this.#redrawn(committed, lines) : this.#changed(lines);
    const target = cursor && cursor.row >= left ? { row: cursor.row - left, column: cursor.column } : undefined;
    const row = target?.row ?? Math.max(0, lines.length - 1);
    const column = target?.column ?? 0;
    const isMoved = row !== this.#row || column !== this.#column || (target !== undefined) !== this.#isCursorShown;
    if (out === "" && !isMoved) return;
    const moves = `${vertical(row - this.#row)}\r${column > 0 ? `\u001b[${column}C` : ""}`;
    [this.#row, this.#column, this.#isCursorShown, this.#drawn] = [row, column, target !== undefined, lines];
    this.#write(`${BEGIN}${out}${moves}${target ? SHOW_CURSOR : ""}${END}`);
  }

  /** Most lines are those of the frame before. */
  #clipped(line: string, columns: number): string {
    if (this.#columns !== columns || this.#clips.size > MAX_CLIPS) this.#clips.clear();
    this.#columns = columns;
    const known = this.#clips.get(line);
    if (known !== undefined) return known;
    const clipped = clipStyled(line, columns);
    this.#clips.set(line, clipped);
    return clipped;
  }

  /** The window has another size: a terminal has broken the drawn lines anew, and the next frame begins where they do now. */
  resized(): void {
    const { columns } = this.#size();
    const rowsOf = (line: string) => Math.max(1, Math.ceil(displayWidth(withoutStyles(line)) / columns));
    const above = this.#drawn.slice(0, this.#row).reduce((sum, line) => sum + rowsOf(line), 0);
    const up = above + Math.floor(this.#column / columns);
    this.#write(`${BEGIN}${vertical(-up)}\r${CLEAR_BELOW}${END}`);
    this.forget();
  }

  /** Takes it off the screen. */
  erase(): void {
    if (this.#drawn.length > 0) this.#write(`${vertical(-this.#row)}\r${CLEAR_BELOW}`);
    if (!this.#isCursorShown) this.#write(SHOW_CURSOR);
    this.forget();
    this.#isCursorShown = true;
  }

  /** Somebody else has written: what was drawn counts as gone, and the cursor stands at the beginning of a line. */
  forget(): void {
    this.#drawn = [];
    this.#row = 0;
    this.#column = 0;
  }

  /** From the top of the region: finished lines, then all of its own. */
  #redrawn(committed: readonly string[], lines: readonly string[]): string {
    const out = `${vertical(-this.#row)}\r${CLEAR_BELOW}${[...committed, ...lines].join("\r\n")}${lines.length === 0 ? "\r\n" : ""}`;
    this.#row = Math.max(0, lines.length - 1);
    return out;
  }

  /** Only lines that differ from what is drawn. Leaves the cursor on the last line it wrote. */
  #changed(lines: readonly string[]): string {
    let out = "";
    const goTo = (row: number) => {
      out += `${vertical(row - this.#row)}\r`;
      this.#row = row;
    };
    for (const [row, line] of lines.entries()) {
      if (row < this.#drawn.length) {
        if (this.#drawn[row] === line) continue;
        goTo(row);
        out += CLEAR_LINE + line;
      } else {
        if (row > 0) goTo(row - 1);
        out += row > 0 ? `\r\n${line}` : line;
        this.#row = row;
      }
    }
    if (this.#drawn.length > lines.length) {
      if (lines.length === 0) {
        goTo(0);
        out += CLEAR_BELOW;
      } else {
        goTo(lines.length);
        out += CLEAR_BELOW;
        goTo(lines.length - 1);
      }
    }
    return out;
  }
}

function vertical(rows: number): string {
  if (rows === 0) return "";
  return rows < 0 ? `\u001b[${-rows}A` : `\u001b[${rows}B`;
}

const STYLE_AT = /^(?:\u001b\[[0-9;]*m|\u001b\]8;;[^\u001b]*\u001b\\)/u;

/** A styled line cut to the width, with its styles ended. */
export function clipStyled(line: string, columns: number): string {
  if (!line.includes("\u001b")) return clipToWidth(line, columns);
  if (displayWidth(withoutStyles(line)) <= columns) return line;
  let kept = "";
  let used = 0;
  for (let rest = line; rest !== ""; ) {
    const [style] = STYLE_AT.exec(rest) ?? [];
    const next = rest.indexOf("\u001b", 1);
    const part = style ?? (next < 0 ? rest : rest.slice(0, next));
    rest = rest.slice(part.length);
    if (style !== undefined) {
      kept += style;
      continue;
    }
    for (const character of used < columns ? graphemesOf(part) : []) {
      used += cells(character);
      if (used > columns - 1) {
        kept += "…";
        used = columns;
        break;
      }
      kept += character;
    }
  }
  return `${kept}\u001b[0m`;
}
