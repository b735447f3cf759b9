// The plan of a session's work: journaled, told, and kept in sight of the model when the conversation is compacted.
import { type ContentBlock, text } from "../base/text/content.js";
import type { PlanEntry } from "../builtin/index.js";
import type { Audience } from "./audience.js";
import type { Journal } from "./journal.js";

export class SessionPlan {
  readonly #journal: Journal;
  readonly #audience: Audience;
  #entries: readonly PlanEntry[] = [];

  constructor(journal: Journal, audience: Audience) {
    this.#journal = journal;
    this.#audience = audience;
  }

  /** The whole plan each time. */
  set(entries: readonly PlanEntry[]): void {
    this.#entries = entries;
    this.#journal.append({ kind: "plan", entries });
    this.#audience.tell({ kind: "plan", entries });
  }

  /** What is left of it to do, for the model; nothing when all is done. */
  get pinned(): readonly ContentBlock[] {
    const isOpen = this.#entries.some(({ status }) => status !== "completed");
    if (!isOpen) return [];
    const lines = this.#entries.map(({ status, content }) => `- ${status}: ${content}`);
    return [text(["The plan, as you last updated it:", ...lines].join("\n"))];
  }
}
