// The log of a session for any number of clients: recent records in memory, older ones from the store.
import { TenonError } from "../../base/errors.js";
import type { EventStream, SessionEvent } from "../events.js";
import type { JournalEntry } from "../journal/entry.js";
import type { StoredRecord } from "../journal/read-journal.js";
import { SESSION_LIMITS } from "../limits.js";
import type { OwnedSession, SessionStore } from "../store/session-store.js";
import { RecordEvents } from "./record-events.js";
import { StoredBlobs } from "./stored-blobs.js";

/** What one record or moment is, once for all followers: a sender may keep the text it made of it. */
export type LogItem =
  | {
      readonly kind: "record";
      readonly seq: number;
      /** None for records that show nothing. */
      readonly events: readonly SessionEvent[];
    }
  /** An event of now, without a number: followers that are not at the end of the log miss it. */
  | { readonly kind: "moment"; readonly event: SessionEvent };

/** `live`: every record that is durable by now has been given, once; moments come from here on. */
export type Followed = LogItem | { readonly kind: "live" };

export interface SessionLogOptions {
  readonly store: Pick<SessionStore, "read">;
  readonly owned: Pick<OwnedSession, "lastSeq"> & { readonly id: string };
  readonly events: Pick<EventStream, "onMoment">;
  /** Of the records that are stored already: the numbers of those that turns begin with. All of them, unless the store knows. */
  readonly turnStarts?: readonly number[];
  /** Of the last of these up to a number, where `turnStarts` has none; 0: there is none. */
  readonly turnStart?: (upTo: number) => Promise<number>;
  /** Records of a turn that is open, from its prompt on. */
  readonly openRecords?: readonly JournalEntry[];
  /** Records are kept from the beginning on, not only once somebody follows. */
  readonly isFollowed?: boolean;
}

/** One of its methods per step of a record: `add` when it is numbered, `wake` when it is durable. */
export class SessionLog {
  readonly #options: SessionLogOptions;
  /** Made for the first who follows. */
  #blobs: StoredBlobs | undefined;
  readonly #records = new RecordEvents();
  readonly #turnStarts: number[];
  readonly #waiting = new Set<() => void>();
  /** The last items, and the place of the first of them among all there were. Nothing before somebody follows. */
  readonly #items: { readonly item: LogItem; readonly bytes: number }[] = [];
  #first = 0;
  #bytes = 0;
  #isFollowed: boolean;
  /** Every record with a higher number is among the items. */
  #after: number;
  /** Of the last record, durable or not. */
  #seq: number;
  #isClosed = false;

  constructor(options: SessionLogOptions) {
    const { owned, turnStarts = [], openRecords = [], isFollowed = false } = options;
    this.#options = options;
    this.#turnStarts = [...turnStarts];
    this.#seq = owned.lastSeq;
    this.#after = owned.lastSeq;
    for (const entry of openRecords) this.#records.of(entry);
    this.#isFollowed = isFollowed;
  }

  /** Of the last record that is durable. */
  get lastSeq(): number {
    return Math.min(this.#seq, this.#options.owned.lastSeq);
  }

  add(entry: JournalEntry, seq: number, bytes: number): void {
    // Long parts of it have records of their own, which come before it.
    this.skip(seq - 1);
    this.#seq = seq;
    if (entry.kind === "prompt") this.#turnStarts.push(seq);
    if (!this.#isFollowed && (entry.kind === "text" || entry.kind === "thought")) return;
    const events = this.#records.of(entry); // also before anybody follows: what comes later depends on it
    if (this.#isFollowed) this.#push({ kind: "record", seq, events }, bytes);
  }

  /** A record that shows nothing, and that is no entry. */
  skip(seq: number): void {
    for (let part = this.#seq + 1; part <= seq && this.#isFollowed; part += 1) this.#push(nothingAt(part), 0);
    this.#seq = Math.max(this.#seq, seq);
  }

  /** Followers may go on as far as records are durable. */
  wake(): void {
    if (this.#waiting.size === 0) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const go of waiting) go();
  }

  /** Followers get all there is, and end. */
  close(): void {
    this.#isClosed = true;
    this.#options.events.onMoment = undefined;
    this.wake();
  }

  /**
   * Every record after that number, in order, without a gap or a repeat; moments from `live` on, while it keeps up. Nothing is
   * queued for a follower, and none holds a turn up. Ends with the session and with the signal. Throws
   * `session.invalid_request` for a number beyond the log.
   */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<Followed, void, void> {
    if (!Number.isSafeInteger(after) || after < 0 || after > this.lastSeq) {
      const text = `the log of this session has records 1 to ${this.lastSeq}: nothing can be read after ${after}`;
      throw new TenonError("session.invalid_request", text);
    }
    this.#begin();
    const wake = () => this.wake();
    signal.addEventListener("abort", wake);
    const { store, owned } = this.#options;
    this.#blobs ??= new StoredBlobs((from, limit) => store.read(owned.id, from, limit));
    const reader = new StoredReader(this.#options, this.#blobs, this.#turnStarts);
    let seq = after;
    let place = this.#placeAfter(seq);
    let isLive = false;
    try {
      while (!signal.aborted) {
        if (place === undefined || place < this.#first) {
          if (seq >= this.lastSeq) {
            // The next record fell out of memory before it was durable: with a full disk that may take long.
            if (isLive && this.#isClosed) return;
            if (isLive) await this.#more();
            else yield { kind: "live" };
            isLive = true;
            continue;
          }
          for await (const item of reader.read(seq, () => this.lastSeq)) {
            if (signal.aborted) return;
            seq = item.seq;
            yield item;
          }
          place = this.#placeAfter(seq);
          continue;
        }
        const item = this.#items[place - this.#first]?.item;
        if (item?.kind === "moment" && !isLive)
          place += 1; // it was for those who were there
        else if (item && (item.kind === "moment" || item.seq <= this.lastSeq)) {
          place += 1;
          if (item.kind === "record") seq = item.seq;
          yield item;
        } else if (!isLive) {
          isLive = true;
          yield { kind: "live" };
        } else if (this.#isClosed) return;
        else await this.#more();
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  /** Records are kept from now on, as they come. */
  #begin(): void {
    if (this.#isFollowed) return;
    this.#isFollowed = true;
    this.#after = this.#seq;
    if (!this.#isClosed) this.#options.events.onMoment = (event) => this.#moment(event);
  }

  /** Behind the record of that number; undefined when records that follow it are only in the store. */
  #placeAfter(seq: number): number | undefined {
    if (seq < this.#after) return undefined;
    const at = this.#items.findLastIndex(({ item }) => item.kind === "record" && item.seq <= seq);
    return this.#first + at + 1;
  }

  #moment(event: SessionEvent): void {
    this.#push({ kind: "moment", event }, bytesOf(event));
    this.wake();
  }

  #push(item: LogItem, bytes: number): void {
    this.#items.push({ item, bytes });
    this.#bytes += bytes;
    const { items, bytes: most } = SESSION_LIMITS.log;
    if (this.#items.length <= items + SLACK && this.#bytes <= most) return;
    let dropped = 0;
    while (this.#items.length - dropped > items || (this.#bytes > most && dropped < this.#items.length - 1)) {
      const { item: oldest, bytes: size } = this.#items[dropped] ?? { bytes: 0 };
      if (oldest?.kind === "record") this.#after = oldest.seq;
      this.#bytes -= size;
      dropped += 1;
    }
    if (dropped === 0) return;
    this.#items.splice(0, dropped);
    this.#first += dropped;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }
}

/** Reads older records for one follower, as the events they were. */
class StoredReader {
  readonly #options: Pick<SessionLogOptions, "store" | "owned" | "turnStart">;
  readonly #blobs: StoredBlobs;
  readonly #turnStarts: readonly number[];
  #records = new RecordEvents({ isStored: true });
  /** Of the last record that `#records` has had. */
  #at = 0;

  constructor(
    options: Pick<SessionLogOptions, "store" | "owned" | "turnStart">,
    blobs: StoredBlobs,
    turnStarts: readonly number[],
  ) {
    this.#options = options;
    this.#blobs = blobs;
    this.#turnStarts = turnStarts;
  }

  /** One read of the store. The beginning of the turn is read with it, since what a record shows may depend on it. */
  async *read(after: number, lastSeq: () => number): AsyncGenerator<Extract<LogItem, { kind: "record" }>, void, void> {
    const known = this.#turnStarts.findLast((seq) => seq <= after) ?? (await this.#options.turnStart?.(after));
    const begin = Math.max(known ?? 1, 1) - 1;
    if (begin > this.#at) {
      this.#records = new RecordEvents({ isStored: true });
      this.#at = begin;
    }
    for (;;) {
      const found = await this.#next();
      for (const record of found) {
        if (record.seq > lastSeq()) return;
        this.#at = record.seq;
        if (record.seq <= after) {
          if (isShown(record)) this.#records.of(record);
          continue;
        }
        const events = isShown(record) ? this.#records.of(await this.#blobs.whole(record)) : [];
        yield { kind: "record", seq: record.seq, events };
      }
      if (this.#at > after) return;
    }
  }

  async #next(): Promise<readonly StoredRecord[]> {
    const { store, owned } = this.#options;
    const found = await store.read(owned.id, this.#at, SESSION_LIMITS.log.readRecords);
    const first = found[0];
    if (first?.seq === this.#at + 1) return found;
    const text = `record ${this.#at + 1} of session "${owned.id}" cannot be read: ${first ? "it is missing" : "the log ends before it"}`;
    throw new TenonError("store.unavailable", text);
  }
}

/** Old items are dropped so many at a time: taking the first one off an array moves all others. */
const SLACK = 64;

function nothingAt(seq: number): LogItem {
  return { kind: "record", seq, events: [] };
}

export function isShown(
  record: StoredRecord,
): record is Exclude<StoredRecord, { kind: "strange" | "blob" | "reopened" }> {
  return record.kind !== "strange" && record.kind !== "blob" && record.kind !== "reopened";
}

/** Roughly: only what may be long is looked at. */
function bytesOf(event: SessionEvent): number {
  if (event.kind !== "turn") return 1_024;
  const turn = event.event;
  if (turn.kind === "call_arguments") return 256 + turn.delta.length;
  return turn.kind === "call_progress" ? JSON.stringify(event).length : 256;
}
