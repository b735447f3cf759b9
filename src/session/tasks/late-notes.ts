// Results that came after the turn of their call: each is put before the model once, with a prompt.
import type { MarkedContent } from "../../base/text/marking.js";

export interface Note {
  readonly toolCallId: string;
  readonly content: MarkedContent;
}

export class LateNotes {
  #waiting: readonly Note[];
  /** With the last prompt. */
  #told: readonly Note[] = [];

  constructor(waiting: readonly Note[] = []) {
    this.#waiting = waiting;
  }

  get waiting(): readonly Note[] {
    return this.#waiting;
  }

  /** One for each call: the same one again, after a crash between writing it and its outcome, takes its place. */
  add({ toolCallId, content }: Note): void {
    this.#waiting = [...this.#waiting.filter((note) => note.toolCallId !== toolCallId), { toolCallId, content }];
  }

  /** These are part of the prompt that was added now. */
  tell(toolCallIds: readonly string[]): void {
    this.#told = this.#waiting.filter(({ toolCallId }) => toolCallIds.includes(toolCallId));
    this.#waiting = this.#waiting.filter((note) => !this.#told.includes(note));
  }

  /** The prompt was dropped, because no provider took it: they go with the next one. */
  takeBack(): void {
    this.#waiting = [...this.#told, ...this.#waiting];
    this.#told = [];
  }
}
