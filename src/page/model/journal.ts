// The records of a session's journal, read page by page and kept while the session is looked at.
import { signal } from "@preact/signals";
import { defined } from "../../base/json/defined.js";
import { type JsonObject, numberAt, objectsAt, textAt } from "../wire/json.js";

/** The part of the page that asks the gateway. */
export interface Requests {
  request(method: string, params?: object): Promise<JsonObject>;
}

const PER_REQUEST = 500;
/** Of a longer journal the newest records are read: a page of a browser shows no more in a useful way. */
export const MOST_RECORDS = 30_000;

export class Journal {
  readonly records = signal<readonly JsonObject[]>([]);
  readonly isComplete = signal(true);
  readonly blobs = new Map<string, string>();
  readonly #sessionId: string;
  readonly #requests: Requests;
  #after: number | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(sessionId: string, requests: Requests) {
    this.#sessionId = sessionId;
    this.#requests = requests;
  }

  /** All that is new since the last time. One after the other: two at once would read the same records. */
  async read(kinds?: readonly string[]): Promise<void> {
    const reading = this.#reading.then(() => this.#readNew(kinds));
    this.#reading = reading.catch(() => undefined);
    await reading;
  }

  async #readNew(kinds: readonly string[] | undefined): Promise<void> {
    const found: JsonObject[] = [];
    const params = { sessionId: this.#sessionId, limit: PER_REQUEST, ...defined({ kinds }) };
    let after = this.#after ?? (await this.#beginning());
    for (;;) {
      const answer = await this.#requests.request("_tenon/session/records", { ...params, after });
      for (const record of objectsAt(answer, "records")) {
        const [blob, data] = [textAt(record, "blob"), textAt(record, "data")];
        if (blob !== undefined && data !== undefined) this.blobs.set(blob, data);
        else found.push(record);
      }
      const before = after;
      after = numberAt(answer, "seq") ?? after;
      if (after <= before || answer["next"] === undefined) break;
    }
    this.#after = after; // only now: what a read that fails has found is read again
    if (found.length > 0) this.records.value = [...this.records.value, ...found];
  }

  async #beginning(): Promise<number> {
    const view = await this.#requests.request("_tenon/session/view", { sessionId: this.#sessionId });
    const after = Math.max(0, (numberAt(view, "seq") ?? 0) - MOST_RECORDS);
    this.isComplete.value = after === 0;
    return after;
  }
}
