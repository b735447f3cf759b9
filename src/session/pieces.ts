// The pieces of a model's answer, gathered for one turn of the event loop: journaled with one write, then told.

import type { World } from "../base/ports/world.js";
import type { TurnEvent } from "../engine/index.js";
import type { Audience } from "./audience.js";
import type { Journal } from "./journal.js";
import type { JournalEntry } from "./journal-entry.js";
import { SESSION_LIMITS } from "./limits.js";

export type Piece = Extract<TurnEvent, { readonly kind: "text" | "thought" }>;

export interface PiecesOptions {
  readonly world: Pick<World, "soon">;
  readonly journal: Journal;
  readonly audience: Audience;
}

/** A piece costs a write to the disk and one to the client; those that a model sends in one packet share both. */
export class Pieces {
  readonly #options: PiecesOptions;
  #waiting: Piece[] = [];
  #isDue = false;
  #told: Promise<void> | undefined;

  constructor(options: PiecesOptions) {
    this.#options = options;
  }

  /** A promise when readers cannot keep up: it resolves once they can. */
  add(piece: Piece): Promise<void> | undefined {
    this.#waiting.push(piece);
    if (this.#waiting.length >= SESSION_LIMITS.piecesAtOnce) return this.flush();
    if (!this.#isDue) {
      this.#isDue = true;
      this.#options.world.soon(() => {
        this.#isDue = false;
        this.write();
      });
    }
    return this.#told;
  }

  /** What waits is in the journal when this returns, and told once the promise resolves. */
  flush(): Promise<void> | undefined {
    this.write();
    return this.#told;
  }

  /** What waits is in the journal when this returns, and is told as soon as readers take it. */
  write(): void {
    if (this.#waiting.length === 0) return;
    const pieces = this.#waiting;
    this.#waiting = [];
    const { journal, audience } = this.#options;
    journal.append(...recordsOf(pieces));
    const before = this.#told;
    const tell = () => audience.publish(...pieces.map((event) => ({ kind: "turn", event }) as const));
    const told = before ? before.then(tell) : tell();
    this.#told = told;
    told?.then(
      () => {
        if (this.#told === told) this.#told = undefined;
      },
      () => undefined, // it never rejects
    );
  }
}

/** Adjacent ones of a kind are joined, as readers of a journal join them too. */
function recordsOf(pieces: readonly Piece[]): readonly JournalEntry[] {
  const records: { kind: Piece["kind"]; text: string }[] = [];
  for (const { kind, text } of pieces) {
    const last = records.at(-1);
    if (last?.kind === kind) last.text += text;
    else records.push({ kind, text });
  }
  return records;
}
