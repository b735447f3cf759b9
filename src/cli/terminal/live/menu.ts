// A question with answers to choose from: arrows and Enter, or the number of an answer. Keys count only once it has been on the
// screen for a moment without typing, so that nothing typed before the question can answer it.
import { styled, wrapSpans } from "../spans.js";
import type { Palette } from "../stream.js";
import type { Key } from "./keys.js";

export interface MenuChoice {
  readonly label: string;
  /** A key that chooses it at once. */
  readonly key?: string;
}

export interface MenuQuestion {
  /** Styled. */
  readonly title: string;
  readonly choices: readonly MenuChoice[];
}

/** How long no key may come before an answer counts. */
export const QUIET_MS = 400;

export class Menu {
  readonly #question: MenuQuestion;
  readonly #palette: Palette;
  #selected = 0;
  /** Answers count from now on. */
  isArmed = false;

  constructor(question: MenuQuestion, palette: Palette) {
    this.#question = question;
    this.#palette = palette;
  }

  /** At most `rows` lines, of which the answer that Enter chooses is always one. `canStop`: Esc stops what asks. */
  render(columns: number, { rows, canStop }: { readonly rows: number; readonly canStop: boolean }): string[] {
    const { cyan, dim } = this.#palette;
    const { title, choices } = this.#question;
    const answers = choices.map(({ label }, index) => {
      const isSelected = this.isArmed && index === this.#selected;
      const mark = `${isSelected ? "❯" : " "} ${index + 1}. `;
      // Nothing of a label is left out, a long path or address neither: it says what is granted.
      return wrapSpans([{ text: label }], columns - mark.length - 2).map((part, at) => {
        const line = `${at === 0 ? mark : " ".repeat(mark.length)}${styled(part)}`;
        return isSelected ? cyan(line) : line;
      });
    });
    const lines = answers.flat();
    const room = Math.max(answers[this.#selected]?.length ?? 1, rows - 2); // title and hint
    const before = answers.slice(0, this.#selected).flat().length;
    const first = Math.max(0, Math.min(before, lines.length - room));
    const place = lines.length > room ? `${this.#selected + 1} of ${choices.length} · ` : "";
    const keys = `↑ ↓ and Enter, or a number${canStop ? "; Esc stops the turn" : ""}`;
    const hint = this.isArmed ? place + keys : "…";
    return [title, ...lines.slice(first, first + room), dim(`  ${hint}`)];
  }

  /** The index of the answer that a key chose. */
  press(key: Key): number | undefined {
    const { choices } = this.#question;
    if (key.kind === "text") {
      const byKey = choices.findIndex((choice) => choice.key === key.text.toLowerCase());
      const number = /^[1-9]$/u.test(key.text) ? Number(key.text) - 1 : byKey;
      return number >= 0 && number < choices.length ? number : undefined;
    }
    if (key.kind !== "key" || key.ctrl || key.alt) return undefined;
    if (key.name === "enter") return this.#selected;
    const step = key.name === "up" ? -1 : key.name === "down" || key.name === "tab" ? 1 : 0;
    this.#selected = (this.#selected + step + choices.length) % choices.length;
    return undefined;
  }
}
