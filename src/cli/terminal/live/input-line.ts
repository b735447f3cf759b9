// The line a person types in: editing, history with search, and completion. Says what a key came to; draws itself.
import type { Palette } from "../stream.js";
import { clipToWidth, displayWidth, graphemesOf, visible, visibleLine } from "../text.js";
import { type Completion, type CompletionSources, completionAt } from "./completion.js";
import { Editor } from "./editor.js";
import type { InputHistory } from "./history.js";
import type { Key } from "./keys.js";
import type { Frame } from "./region.js";

export interface InputLineOptions {
  readonly palette: Palette;
  readonly history: InputHistory;
  readonly sources: CompletionSources;
}

/** `used`: it changed something here. `free`: it is for somebody else. */
export type Pressed = { readonly kind: "used" | "free" } | { readonly kind: "submit"; readonly text: string };

const USED: Pressed = { kind: "used" };
const FREE: Pressed = { kind: "free" };
const MENU_ROWS = 6;

export class InputLine {
  readonly editor: Editor = new Editor();
  readonly #options: InputLineOptions;
  /** Which entry of the history is shown, counted from the oldest; undefined for what is being written. */
  #place: number | undefined;
  #draft = "";
  #search: { words: string; at: number } | undefined;
  #completion: Completion | undefined;
  #selected = 0;
  /** The person closed the menu for the word as it stood then. */
  #dismissed: string | undefined;

  constructor(options: InputLineOptions) {
    this.#options = options;
  }

  get isCompleting(): boolean {
    return this.#completion !== undefined;
  }

  clear(): void {
    this.editor.set("");
    this.#place = undefined;
    this.#search = undefined;
    this.#completion = undefined;
  }

  press(key: Key): Pressed {
    if (this.#search) return this.#pressInSearch(this.#search, key);
    const pressed = this.#press(key);
    if (pressed.kind !== "free") this.#lookUp();
    return pressed;
  }

  #press(key: Key): Pressed {
    const isPlain = key.kind === "key" && !key.ctrl && !key.alt && !key.shift;
    if (isPlain && this.#completion) {
      const pressed = this.#pressInMenu(key.name, this.#completion);
      if (pressed) return pressed;
    }
    if (this.editor.press(key)) {
      this.#place = undefined;
      return USED;
    }
    if (key.kind !== "key") return FREE;
    if (key.name === "enter") return this.#submit();
    if (key.ctrl && key.name === "r") {
      this.#search = { words: "", at: this.#options.history.entries.length };
      return USED;
    }
    const step =
      key.name === "up" || (key.ctrl && key.name === "p")
        ? -1
        : key.name === "down" || (key.ctrl && key.name === "n")
          ? 1
          : 0;
    if (step === 0) return FREE;
    return this.editor.moveLine(step) ? USED : this.#recall(step);
  }

  #submit(): Pressed {
    const text = this.editor.whole;
    if (text.trim() === "") return USED;
    this.#options.history.add(text);
    this.clear();
    return { kind: "submit", text };
  }

  #recall(step: -1 | 1): Pressed {
    const { entries } = this.#options.history;
    const place = (this.#place ?? entries.length) + step;
    if (place < 0 || place > entries.length || (this.#place === undefined && step > 0)) return FREE;
    if (this.#place === undefined) this.#draft = this.editor.text;
    this.#place = place === entries.length ? undefined : place;
    this.editor.set(this.#place === undefined ? this.#draft : (entries[place] ?? ""));
    this.#dismissed = this.editor.text;
    return USED;
  }

  #pressInMenu(name: string, { from, candidates }: Completion): Pressed | undefined {
    if (name === "escape") {
      this.#dismissed = this.editor.text;
      this.#completion = undefined;
      return USED;
    }
    if (name === "up" || name === "down") {
      const step = name === "up" ? -1 : 1;
      this.#selected = (this.#selected + step + candidates.length) % candidates.length;
      return USED;
    }
    const chosen = candidates[this.#selected]?.text ?? "";
    const typed = this.editor.text.slice(from, this.editor.cursor);
    if (name === "tab" || (name === "enter" && typed !== chosen && from > 0)) {
      this.editor.complete(from, `${chosen} `);
      return USED;
    }
    if (name !== "enter") return undefined;
    // A command that is not typed to its end is completed and run.
    if (typed !== chosen) this.editor.complete(from, chosen);
    return this.#submit();
  }

  #pressInSearch(search: { words: string; at: number }, key: Key): Pressed {
    const { history } = this.#options;
    if (key.kind === "text" || key.kind === "paste") search.words += visibleLine(key.text);
    else if (key.kind !== "key") return USED;
    else if (key.ctrl && key.name === "r") {
      const older = history.search(search.words, search.at);
      if (older >= 0) search.at = older;
      return USED;
    } else if (key.name === "backspace") search.words = graphemesOf(search.words).slice(0, -1).join("");
    else {
      const isLeft = key.name === "escape" || key.ctrl;
      const found = history.entries[search.at];
      this.#search = undefined;
      if (!isLeft && found !== undefined) this.editor.set(found);
      this.#dismissed = this.editor.text;
      return USED;
    }
    const found = history.search(search.words, history.entries.length);
    search.at = found < 0 ? history.entries.length : found;
    return USED;
  }

  /** What could be completed, anew after each key. */
  #lookUp(): void {
    const { text, cursor } = this.editor;
    if (text !== this.#dismissed) this.#dismissed = undefined;
    const found = this.#dismissed === undefined ? completionAt(text, cursor, this.#options.sources) : undefined;
    if (found?.candidates[0]?.text !== this.#completion?.candidates[0]?.text) this.#selected = 0;
    this.#completion = found;
    this.#selected = Math.min(this.#selected, Math.max(0, (found?.candidates.length ?? 1) - 1));
  }

  /** Files were found since: the menu may have more. */
  refresh(): void {
    if (this.#search === undefined) this.#lookUp();
  }

  render(columns: number, rows: number): Frame {
    const { palette } = this.#options;
    if (this.#search) return this.#renderSearch(this.#search, columns);
    const { lines, row, column } = this.editor.view(palette.cyan("› "), 2, columns);
    const most = Math.max(3, Math.floor(rows / 2));
    const first = Math.max(0, Math.min(row - most + 1, lines.length - most));
    const shown = lines.slice(first, first + most);
    return { lines: [...shown, ...this.#menuLines(columns)], cursor: { row: row - first, column } };
  }

  #renderSearch({ words, at }: { readonly words: string; readonly at: number }, columns: number): Frame {
    const { palette, history } = this.#options;
    const found = history.entries[at] ?? "";
    const label = `search: ${words}`;
    const line = `${palette.cyan(label)} ${palette.dim("→")} ${visibleLine(found)}`;
    return { lines: [line], cursor: { row: 0, column: Math.min(columns - 1, displayWidth(label)) } };
  }

  #menuLines(columns: number): string[] {
    const { palette } = this.#options;
    const { candidates = [] } = this.#completion ?? {};
    const first = Math.max(0, Math.min(this.#selected - MENU_ROWS + 1, candidates.length - MENU_ROWS));
    const shown = candidates.slice(first, first + MENU_ROWS);
    const width = Math.min(Math.max(...shown.map(({ text }) => displayWidth(text)), 0), Math.floor(columns / 2));
    const lines = shown.map(({ text, note }, index) => {
      const name = clipToWidth(visible(text), width);
      const blanks = " ".repeat(Math.max(0, width - displayWidth(name)));
      const words =
        note === ""
          ? ""
          : `${blanks}  ${palette.dim(clipToWidth(visibleLine(note), Math.max(0, columns - width - 6)))}`;
      const isSelected = first + index === this.#selected;
      return `  ${isSelected ? palette.inverse(name) : name}${words}`;
    });
    const hidden = candidates.length - shown.length;
    return hidden > 0 ? [...lines, palette.dim(`  … ${hidden} more`)] : lines;
  }
}
