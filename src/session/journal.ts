// The session's journal: append-only, one file per session, written before the client hears of what it records.
import type { ContentBlock } from "../base/content.js";
import { messageOf } from "../base/errors.js";
import type { JsonObject } from "../base/json.js";
import type { AppendFile, World } from "../base/world.js";
import type { StopReason } from "../engine/index.js";
import type { ToolOutcome } from "../tools/index.js";

/** What is recorded. Never here: environment variables, headers, or anything else of a server's configuration. */
export type JournalEntry =
  | { readonly kind: "prompt"; readonly turn: number; readonly content: readonly ContentBlock[] }
  | { readonly kind: "text" | "thought"; readonly text: string }
  | {
      readonly kind: "call";
      readonly toolCallId: string;
      readonly tool: string;
      readonly label: string;
      readonly arguments: JsonObject;
    }
  | { readonly kind: "intent"; readonly toolCallId: string; readonly definitionHash: string }
  | { readonly kind: "outcome"; readonly toolCallId: string; readonly outcome: ToolOutcome }
  | { readonly kind: "end"; readonly turn: number; readonly stopReason: StopReason }
  | { readonly kind: "error"; readonly turn: number; readonly code: string; readonly message: string }
  | { readonly kind: "closed" };

/** A journal that cannot be written costs the record, never the session: it is logged once, and the session goes on. */
export class Journal {
  readonly #world: World;
  readonly #path: string;
  #file: AppendFile | undefined;
  #seq = 0;

  constructor(world: World, path: string, session: { id: string; cwd: string }) {
    this.#world = world;
    this.#path = path;
    this.#guard(() => {
      this.#file = world.files.openAppend(path);
      this.#file.write(`${JSON.stringify({ v: 1, id: session.id, cwd: session.cwd, t: world.now() })}\n`);
    });
  }

  append(entry: JournalEntry): void {
    this.#seq += 1;
    const line = `${JSON.stringify({ seq: this.#seq, t: this.#world.now(), ...entry })}\n`;
    this.#guard(() => this.#file?.write(line));
  }

  /** At the end of a turn: what was acknowledged must survive the machine, not only the process. */
  sync(): void {
    this.#guard(() => this.#file?.sync());
  }

  close(): void {
    if (!this.#file) return;
    this.append({ kind: "closed" });
    this.sync();
    this.#guard(() => this.#file?.close());
    this.#file = undefined;
  }

  #guard(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#file = undefined;
      this.#world.log.error("journal.lost", { path: this.#path, error: messageOf(error) });
    }
  }
}
