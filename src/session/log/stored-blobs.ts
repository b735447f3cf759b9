// Long texts and media of a session's records, read one by one when they are needed: a follower never holds all of them.

import type { JournalEntry } from "../journal/entry.js";
import { type BlobReference, blobsOf, unpack } from "../journal/journal.js";
import { isBlock, type StoredRecord } from "../journal/read-journal.js";
import { SESSION_LIMITS } from "../limits.js";

type Read = (after: number, limit: number) => Promise<readonly StoredRecord[]>;

export class StoredBlobs {
  readonly #read: Read;
  /** The ones used last come last. */
  readonly #kept = new Map<string, string>();
  #bytes = 0;
  /** For journals of earlier versions, whose records do not say where a blob is: where each is, as far as was read. */
  readonly #places = new Map<string, number>();
  #placesUntil = 0;

  constructor(read: Read) {
    this.#read = read;
  }

  /** The entry with its long parts. One that is not there leaves a word in its place. */
  async whole(entry: JournalEntry): Promise<JournalEntry> {
    const references = blobsOf(entry);
    const found = new Map<string, string>();
    for (const reference of references) {
      const data = await this.#data(reference);
      if (data !== undefined) found.set(reference.blob, data);
    }
    // Also without a reference: a block that looks like one is wrapped.
    return unpack(entry, found, isBlock);
  }

  async #data({ blob, seq = -1 }: BlobReference): Promise<string | undefined> {
    const kept = this.#kept.get(blob);
    if (kept !== undefined) {
      this.#kept.delete(blob);
      this.#kept.set(blob, kept);
      return kept;
    }
    const place = seq > 0 ? seq : await this.#placeOf(blob);
    const [record] = place === undefined ? [] : await this.#read(place - 1, 1);
    if (record?.kind !== "blob" || record.blob !== blob) return undefined;
    this.#keep(blob, record.data);
    return record.data;
  }

  #keep(blob: string, data: string): void {
    this.#kept.set(blob, data);
    this.#bytes += data.length;
    for (const [oldest, { length }] of this.#kept) {
      if (this.#bytes <= SESSION_LIMITS.log.blobBytes) return;
      this.#kept.delete(oldest);
      this.#bytes -= length;
    }
  }

  async #placeOf(blob: string): Promise<number | undefined> {
    while (!this.#places.has(blob)) {
      const records = await this.#read(this.#placesUntil, SESSION_LIMITS.log.readRecords);
      for (const record of records) if (record.kind === "blob") this.#places.set(record.blob, record.seq);
      const last = records.at(-1);
      if (!last) return undefined;
      this.#placesUntil = last.seq;
    }
    return this.#places.get(blob);
  }
}
