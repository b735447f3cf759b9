// The log of a session that another process writes: fed from the store, for any number of followers here.
import { TenonError } from "../../base/errors.js";
import type { JournalEntry } from "../journal/entry.js";
import { SESSION_LIMITS } from "../limits.js";
import type { SessionStore } from "../store/session-store.js";
import { isShown, SessionLog } from "./session-log.js";
import { StoredBlobs } from "./stored-blobs.js";

type Store = Pick<SessionStore, "read" | "turnStart">;

export class StoredLog {
  readonly log: SessionLog;
  readonly #store: Store;
  readonly #owned: { readonly id: string; lastSeq: number };
  readonly #blobs: StoredBlobs;
  /** The read that is under way, and whether another one is wanted after it. */
  #reading: Promise<void> | undefined;
  #isBehind = false;
  #isClosed = false;

  private constructor(
    store: Store,
    owned: { readonly id: string; lastSeq: number },
    openTurn: { readonly start: number; readonly records: readonly JournalEntry[] },
  ) {
    this.#store = store;
    this.#owned = owned;
    this.#blobs = new StoredBlobs((from, limit) => store.read(owned.id, from, limit));
    this.log = new SessionLog({
      ...{ store, owned, openRecords: openTurn.records, turnStarts: openTurn.start > 0 ? [openTurn.start] : [] },
      events: { onMoment: undefined },
      turnStart: (upTo) => store.turnStart(owned.id, upTo),
    });
  }

  /** `seq`: of a record that is durable. Those up to it are read when a follower needs them. */
  static async open(store: Store, id: string, seq: number): Promise<StoredLog> {
    const start = await store.turnStart(id, seq);
    const records: JournalEntry[] = [];
    for (let at = Math.max(start, 1) - 1; at < seq; ) {
      const found = await store.read(id, at, SESSION_LIMITS.log.readRecords);
      const last = found.at(-1);
      if (!last) throw new TenonError("store.unavailable", `record ${at + 1} of session "${id}" cannot be read`);
      for (const record of found) if (record.seq <= seq && isShown(record) && isNeeded(record)) records.push(record);
      at = last.seq;
    }
    return new StoredLog(store, { id, lastSeq: seq }, { start, records });
  }

  /** Followers get every record that is in the store by now. Rejects when it cannot be read. */
  async advance(): Promise<void> {
    this.#isBehind = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  /** Followers get what was read, and end. */
  close(): void {
    this.#isClosed = true;
    this.log.close();
  }

  async #readAll(): Promise<void> {
    while (this.#isBehind && !this.#isClosed) {
      this.#isBehind = false;
      const found = await this.#store.read(this.#owned.id, this.#owned.lastSeq, SESSION_LIMITS.log.readRecords);
      let total = 0;
      for (const record of found) {
        const { seq } = record;
        const { length } = JSON.stringify(record);
        if (isShown(record)) this.log.add(await this.#blobs.whole(record), seq, length);
        else this.log.skip(seq);
        this.#owned.lastSeq = seq;
        total += length;
      }
      const { readRecords, readBytes } = SESSION_LIMITS.log;
      if (found.length >= readRecords || total > readBytes / 2) this.#isBehind = true; // one read gives no more
      if (found.length > 0) this.log.wake();
    }
  }
}

/** What records after it are shown by may depend on it. */
function isNeeded({ kind }: JournalEntry): boolean {
  return kind !== "text" && kind !== "thought";
}
