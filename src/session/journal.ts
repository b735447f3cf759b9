// The session's journal: append-only, one file per session, written before the client hears of what it records.
import { messageOf } from "../base/errors.js";
import type { AppendFile, World } from "../base/world.js";
import { type BlobStock, BlobWriter } from "./journal-blobs.js";
import type { JournalEntry, JournalHeader } from "./journal-entry.js";

/** Where the writing of an earlier run ended. */
export interface JournalTail {
  /** Of the last record that counts. */
  readonly seq: number;
  /** Nothing lies behind that record: a line that is not whole, for one. */
  readonly isClean: boolean;
  readonly blobs: BlobStock;
  /** Whether the first line was whole: if not, it is written again. */
  readonly hasHeader: boolean;
  /** How what was under way came to its end. Written with the next entry: looking at a session leaves its file alone. */
  readonly repairs: readonly JournalEntry[];
}

export interface JournalOptions {
  readonly world: World;
  readonly path: string;
  readonly header: Omit<JournalHeader, "v" | "t">;
  /** For a journal that is there already. */
  readonly tail?: JournalTail;
  /** Somebody has written its first line, and nothing else. */
  readonly isBegun?: boolean;
  /** From now on nothing is recorded. */
  onLost(reason: string): void;
}

/** The first line of a journal. */
export function headerLine(header: JournalOptions["header"], nowMs: number): string {
  return `${JSON.stringify({ v: 1, ...header, t: nowMs })}\n`;
}

/** A journal that cannot be written costs the record, never the session: it is told once, and the session goes on. */
export class Journal {
  readonly #options: JournalOptions;
  readonly #blobs: BlobWriter;
  #file: AppendFile | undefined;
  #seq: number;
  /** To be written before the next record. */
  #start: string;
  #pending: readonly JournalEntry[];
  #isLost = false;

  constructor(options: JournalOptions) {
    const { world, header, tail, isBegun = false } = options;
    this.#options = options;
    this.#seq = tail?.seq ?? 0;
    this.#blobs = new BlobWriter(tail?.blobs);
    // What is left of a line that was never finished must not become the beginning of the next one.
    const end = tail && !tail.isClean ? "\n" : "";
    this.#start = end + (isBegun || tail?.hasHeader ? "" : headerLine(header, world.now()));
    const reopened: readonly JournalEntry[] = end === "" ? [] : [{ kind: "reopened", after: this.#seq }];
    this.#pending = [...reopened, ...(tail?.repairs ?? [])];
    if (!tail && !isBegun) this.#write([]);
  }

  /** One write for all of them, done when this returns. */
  append(...entries: readonly JournalEntry[]): void {
    if (!this.#isLost) this.#write(entries);
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

  /** Nothing is recorded any more: what is under way shall be found as it is now, by whoever loads the session next. */
  seal(): void {
    this.sync();
    this.#guard(() => this.#file?.close());
    this.#file = undefined;
    this.#isLost = true;
  }

  /** Nothing an entry holds may cost more than its own record, and the count goes on. */
  #lines(entry: JournalEntry): string {
    const first = this.#seq;
    try {
      return this.#blobs
        .pack(entry)
        .map((packed) => this.#line(packed))
        .join("");
    } catch (error) {
      const { path, world } = this.#options;
      world.log.error("journal.unwritable", { path, kind: entry.kind, error: messageOf(error) });
      this.#seq = first + 1;
      return `${JSON.stringify({ seq: this.#seq, t: world.now(), kind: "unwritable" })}\n`;
    }
  }

  #line(entry: JournalEntry): string {
    this.#seq += 1;
    return `${JSON.stringify({ seq: this.#seq, t: this.#options.world.now(), ...entry })}\n`;
  }

  #write(entries: readonly JournalEntry[]): void {
    const text = this.#start + [...this.#pending, ...entries].map((entry) => this.#lines(entry)).join("");
    this.#start = "";
    this.#pending = [];
    this.#guard(() => {
      this.#file ??= this.#options.world.files.openAppend(this.#options.path);
      this.#file.write(text);
    });
  }

  #guard(write: () => void): void {
    if (this.#isLost) return;
    try {
      write();
    } catch (error) {
      const { path, world } = this.#options;
      const reason = messageOf(error);
      this.#isLost = true;
      this.#file = undefined;
      world.log.error("journal.lost", { path, error: reason });
      this.#options.onLost(reason);
    }
  }
}
