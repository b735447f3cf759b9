// The text a person edits: several lines, a cursor, words, a kill buffer, and pasted text that is shown by its size.
import { displayWidth, graphemesOf, visible } from "../text.js";
import type { Key } from "./keys.js";

/** Longer pasted text is shown as one short mark. */
const INLINE_PASTE = { lines: 10, chars: 1_000 } as const;

export interface EditorView {
  readonly lines: readonly string[];
  readonly row: number;
  readonly column: number;
}

export class Editor {
  #text = "";
  #cursor = 0;
  #killed = "";
  /** What marks stand for. */
  readonly #pasted = new Map<string, string>();

  /** As it is shown, with marks for long pasted text. */
  get text(): string {
    return this.#text;
  }

  get cursor(): number {
    return this.#cursor;
  }

  get isEmpty(): boolean {
    return this.#text === "";
  }

  /** As it is sent. What begins with text that is not shown is no command. */
  get whole(): string {
    const begin = this.#text.trimStart();
    const isHidden = [...this.#pasted.keys()].some((mark) => begin.startsWith(mark));
    let whole = this.#text;
    for (const [mark, text] of this.#pasted) whole = whole.replace(mark, () => text);
    return isHidden && /^\s*[!/]/u.test(whole) ? `Pasted text:\n${whole}` : whole;
  }

  set(text: string, cursor: number = text.length): void {
    this.#text = text;
    this.#cursor = Math.min(cursor, text.length);
    if (text === "") this.#pasted.clear();
  }

  insert(text: string): void {
    this.#text = this.#text.slice(0, this.#cursor) + text + this.#text.slice(this.#cursor);
    this.#cursor += text.length;
  }

  paste(text: string, isCut = false): void {
    const given = text.replaceAll(/\r\n?/gu, "\n");
    const lines = given.split("\n").length;
    // `![badge](…)` begins many a README: several lines are no command for the shell.
    const clean = this.#cursor === 0 && lines > 1 ? given.replace(/^!/u, " !") : given;
    if (lines <= INLINE_PASTE.lines && clean.length <= INLINE_PASTE.chars) return this.insert(clean);
    const number = this.#pasted.size + 1;
    const size = lines === 1 ? `${clean.length} characters` : `${lines} lines`;
    const mark = `[Pasted text ${number}: ${size}${isCut ? ", too long: its end is left out" : ""}]`;
    this.#pasted.set(mark, clean);
    this.insert(mark);
  }

  /** Replaces what is before the cursor from an index on. */
  complete(from: number, text: string): void {
    this.#text = this.#text.slice(0, from) + text + this.#text.slice(this.#cursor);
    this.#cursor = from + text.length;
  }

  /** False for a key that is not about the text. */
  press(key: Key): boolean {
    if (key.kind === "text") {
      this.insert(key.text);
      return true;
    }
    if (key.kind === "paste") {
      this.paste(key.text, key.isCut);
      return true;
    }
    if (key.kind !== "key") return false;
    const { name, ctrl, alt } = key;
    if (name === "enter") return this.#enter(key);
    const action = ctrl ? CONTROL[name] : alt ? META[name] : PLAIN[name];
    return action ? action(this) : false;
  }

  /** Whether the cursor moved to another line of the text; without one there the key is for the history. */
  moveLine(step: -1 | 1): boolean {
    const start = this.#text.lastIndexOf("\n", this.#cursor - 1) + 1;
    const offset = this.#cursor - start;
    if (step < 0) {
      if (start === 0) return false;
      const before = this.#text.lastIndexOf("\n", start - 2) + 1;
      this.#cursor = Math.min(before + offset, start - 1);
      return true;
    }
    const end = this.#text.indexOf("\n", this.#cursor);
    if (end < 0) return false;
    const next = this.#text.indexOf("\n", end + 1);
    this.#cursor = Math.min(end + 1 + offset, next < 0 ? this.#text.length : next);
    return true;
  }

  /** Modified, or behind a backslash: a new line. Otherwise the text is finished, and the key not for us. */
  #enter({ shift, alt, ctrl }: Extract<Key, { kind: "key" }>): boolean {
    const isEscaped = this.#text.charAt(this.#cursor - 1) === "\\";
    if (!shift && !alt && !ctrl && !isEscaped) return false;
    if (isEscaped) this.#remove(this.#cursor - 1, this.#cursor);
    this.insert("\n");
    return true;
  }

  move(by: "character" | "word" | "line", step: -1 | 1): boolean {
    this.#cursor = this.#target(by, step);
    return true;
  }

  /** Removes up to where the cursor would go. */
  erase(by: "character" | "word" | "line", step: -1 | 1): boolean {
    const target = this.#target(by, step);
    const [from, to] = step < 0 ? [target, this.#cursor] : [this.#cursor, target];
    if (by !== "character") this.#killed = this.#text.slice(from, to);
    // At the end of a line Ctrl-K joins it with the next one.
    const joins = by === "line" && from === to && step > 0 && to < this.#text.length;
    this.#remove(from, joins ? to + 1 : to);
    return true;
  }

  yank(): boolean {
    this.insert(this.#killed);
    return true;
  }

  #remove(from: number, to: number): void {
    this.#text = this.#text.slice(0, from) + this.#text.slice(to);
    this.#cursor = from;
  }

  #target(by: "character" | "word" | "line", step: -1 | 1): number {
    const [before, after] = [this.#text.slice(0, this.#cursor), this.#text.slice(this.#cursor)];
    if (by === "line") {
      if (step < 0) return before.lastIndexOf("\n") + 1;
      const end = after.indexOf("\n");
      return end < 0 ? this.#text.length : this.#cursor + end;
    }
    if (by === "character") {
      const mark = [...this.#pasted.keys()].find((one) => (step < 0 ? before.endsWith(one) : after.startsWith(one)));
      if (mark !== undefined) return this.#cursor + step * mark.length;
      const near = graphemesOf(step < 0 ? lastLineOf(before) : firstLineOf(after));
      const one = (step < 0 ? near.at(-1) : near[0]) ?? (step < 0 ? before.slice(-1) : after.slice(0, 1));
      return this.#cursor + step * one.length;
    }
    if (step < 0) return beginOfWord(before);
    const [word = ""] = /^\s*(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+)?/u.exec(after) ?? [];
    return this.#cursor + word.length;
  }

  /** Lines no wider than `columns`, broken between words, the first one behind `prompt`, the others indented as far. */
  view(prompt: string, promptWidth: number, columns: number): EditorView {
    const width = Math.max(2, columns - promptWidth - 1);
    const lines: string[] = [];
    let [row, column] = [0, promptWidth];
    let at = 0;
    for (const line of this.#text.split("\n")) {
      const cells = graphemesOf(line).map((character) => cellOf(character));
      let begin = 0;
      do {
        const end = endOfRow(cells, begin, width);
        const isLast = end === cells.length;
        let used = 0;
        for (const { length, columns: wide } of cells.slice(begin, end)) {
          if (at === this.#cursor) [row, column] = [lines.length, promptWidth + used];
          used += wide;
          at += length;
        }
        // Behind a blank at the edge there is no column left.
        if (isLast && at === this.#cursor) [row, column] = [lines.length, Math.min(promptWidth + used, columns - 1)];
        lines.push(
          cells
            .slice(begin, end)
            .map(({ picture }) => picture)
            .join(""),
        );
        begin = end;
      } while (begin < cells.length);
      at += 1;
    }
    const indent = " ".repeat(promptWidth);
    return { lines: lines.map((line, index) => (index === 0 ? prompt : indent) + line), row, column };
  }
}

/** One character as it is shown. */
interface Cell {
  readonly picture: string;
  readonly columns: number;
  /** In the text. */
  readonly length: number;
}

function cellOf(character: string): Cell {
  const picture = character === "\t" ? "  " : visible(character);
  return { picture, columns: displayWidth(picture), length: character.length };
}

/** Where a row ends that begins at an index: behind the last blank that fits, else at the edge. A blank may stand on the edge. */
function endOfRow(cells: readonly Cell[], begin: number, width: number): number {
  let used = 0;
  let blank = 0;
  for (let index = begin; index < cells.length; index += 1) {
    const { picture = "", columns = 0 } = cells[index] ?? {};
    const isBlank = picture === " ";
    used += columns;
    if (used > width && !(isBlank && used === width + 1)) return blank > begin ? blank : Math.max(index, begin + 1);
    if (isBlank) blank = index + 1;
  }
  return cells.length;
}

function lastLineOf(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}

function firstLineOf(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}

type Actions = Readonly<Record<string, (editor: Editor) => boolean>>;

const PLAIN: Actions = {
  left: (editor) => editor.move("character", -1),
  right: (editor) => editor.move("character", 1),
  home: (editor) => editor.move("line", -1),
  end: (editor) => editor.move("line", 1),
  backspace: (editor) => editor.erase("character", -1),
  delete: (editor) => editor.erase("character", 1),
};
const CONTROL: Actions = {
  a: (editor) => editor.move("line", -1),
  e: (editor) => editor.move("line", 1),
  b: (editor) => editor.move("character", -1),
  f: (editor) => editor.move("character", 1),
  left: (editor) => editor.move("word", -1),
  right: (editor) => editor.move("word", 1),
  w: (editor) => editor.erase("word", -1),
  backspace: (editor) => editor.erase("word", -1),
  u: (editor) => editor.erase("line", -1),
  k: (editor) => editor.erase("line", 1),
  y: (editor) => editor.yank(),
  j: (editor) => {
    editor.insert("\n");
    return true;
  },
};
const META: Actions = {
  b: (editor) => editor.move("word", -1),
  f: (editor) => editor.move("word", 1),
  left: (editor) => editor.move("word", -1),
  right: (editor) => editor.move("word", 1),
  d: (editor) => editor.erase("word", 1),
  backspace: (editor) => editor.erase("word", -1),
};

/** Of the last word, or run of other marks, before the end. Read from there: a pattern would try every place before it. */
function beginOfWord(text: string): number {
  let begin = text.trimEnd().length;
  let isOfWord: boolean | undefined;
  while (begin > 0) {
    const [last = ""] = /[^]$/u.exec(text.slice(Math.max(0, begin - 2), begin)) ?? [];
    const isLetter = /[\p{L}\p{N}_]/u.test(last);
    if (/\s/u.test(last) || isLetter !== (isOfWord ?? isLetter)) break;
    isOfWord = isLetter;
    begin -= last.length;
  }
  return begin;
}
