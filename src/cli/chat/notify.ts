// Tells a person who looks elsewhere that the chat asks or is done: bell, title of the window, notice of the desktop (OSC 9 and 777).
import type { LiveTerminal } from "../terminal/live/live-terminal.js";
import { visibleLine } from "../terminal/text.js";

export type NoticeLevel = "on" | "bell" | "off";

export class Notifier {
  readonly #terminal: Pick<LiveTerminal, "write" | "isFocused">;
  readonly #level: () => NoticeLevel;
  #title = "";

  constructor(terminal: Pick<LiveTerminal, "write" | "isFocused">, level: () => NoticeLevel) {
    this.#terminal = terminal;
    this.#level = level;
  }

  title(words: string): void {
    this.#title = visibleLine(words).slice(0, MAX_CHARS);
    this.#showTitle("");
  }

  /** Nothing where the window is known to have the keyboard: the person sees it. */
  tell(words: string): void {
    const level = this.#level();
    if (level === "off" || this.#terminal.isFocused === true) return;
    this.#showTitle("● ");
    const text = visibleLine(words).slice(0, MAX_CHARS).replaceAll(";", ",");
    const desktop = level === "on" ? `\u001b]9;${text}\u001b\\\u001b]777;notify;Tenon;${text}\u001b\\` : "";
    this.#terminal.write(`\u0007${desktop}`);
  }

  /** The person is back, or the chat ends. */
  clear(): void {
    this.#showTitle("");
  }

  #showTitle(mark: string): void {
    if (this.#level() !== "off")
      this.#terminal.write(`\u001b]0;${mark}${this.#title === "" ? "tenon" : `tenon: ${this.#title}`}\u0007`);
  }
}

const MAX_CHARS = 120;
