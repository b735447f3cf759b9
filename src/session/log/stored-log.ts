// The log of a session that another process writes: fed from the store, for any number of followers here.
import type { JournalEntry } from "../journal/entry.js";
import type { StoredRecord } from "../journal/read-journal.js";
import { SESSION_LIMITS } from "../limits.js";
import type { SessionStore } from "../store/session-store.js";
import { SHOWN_BY } from "./record-events.js";
import { isShown, SessionLog } from "./session-log.js";
import { StoredBlobs } from "./stored-blobs.js";

type Store = Pick<SessionStore, "read" | "readTurn" | "turnStart">;

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
      ...{ events: { onMoment: undefined }, isFollowed: true },
      turnStart: (upTo) => store.turnStart(owned.id, upTo),
    });
  }

  /** `seq`: of a record that is durable. Those after it are kept in memory, those up to it are read when a follower needs them. */
  static async open(store: Store, id: string, seq: number): Promise<StoredLog> {
    const records: JournalEntry[] = [];
    let found = await store.readTurn(id, seq, SESSION_LIMITS.log.readRecords);
    const [first] = found;
    for (;;) {
      for (const record of found) if (record.seq <= seq && isShown(record) && isNeeded(record)) records.push(record);
      const last = found.at(-1)?.seq ?? seq;
      if (last >= seq || !isPart(found, JSON.stringify(found).length)) break;
      found = await store.read(id, last, SESSION_LIMITS.log.readRecords);
    }
    const start = first?.kind === "prompt" && first.seq <= seq ? first.seq : 0;
    const log = new StoredLog(store, { id, lastSeq: seq }, { start, records });
    const later = found.filter((record) => record.seq > seq);
    if (later.length > 0) await log.#add(later);
    return log;
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
      const length = await this.#add(found);
      if (isPart(found, length)) this.#isBehind = true;
      if (found.length > 0) this.log.wake();
    }
  }

  /** Their length. */
  async #add(found: readonly StoredRecord[]): Promise<number> {
    let total = 0;
    for (const record of found) {
      const { seq } = record;
      const { length } = JSON.stringify(record);
      if (isShown(record)) this.log.add(await this.#blobs.whole(record), seq, length);
      else this.log.skip(seq);
      this.#owned.lastSeq = seq;
      total += length;
    }
    return total;
  }
}

/** There may be more: one read gives so much. */
function isPart(found: readonly StoredRecord[], length: number): boolean {
  const { readRecords, readBytes } = SESSION_LIMITS.log;
  return found.length >= readRecords || length > readBytes / 2;
}

function isNeeded({ kind }: JournalEntry): boolean {
  return SHOWN_BY.includes(kind);
}
