// Sessions in a store of the program around Tenon, which keeps lists of lines by key and knows nothing of what they say.
import { orAborted } from "../../base/async/deadline.js";
import { messageOf, orFail, TenonError } from "../../base/errors.js";
import { isSessionId, type SessionId } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { StoredLine } from "../journal/journal.js";
import { OpenWork } from "../journal/open-work.js";
import { type JournalContent, JournalReader, type OnStored, type StoredRecord } from "../journal/read-journal.js";
import { SESSION_LIMITS } from "../limits.js";
import { aboutOf, alreadyOpen, byAge, cursorAfter, headerLine, readCursor, unknownSession } from "./file-store.js";
import type {
  AcquiredSession,
  ListRequest,
  OwnedSession,
  SessionAbout,
  SessionContent,
  SessionPage,
  SessionStore,
  SessionSummary,
  UnfinishedSession,
} from "./session-store.js";

/**
 * Lists of lines by key. Keys are ids of sessions, or such an id with `.title`. One process at a time uses a key.
 *
 * @example
 * const store: SessionStore = { list: () => db.keys(), read: (key) => db.lines(key), append: (key, lines) => db.add(key, lines), remove: (key) => db.drop(key) };
 */
export interface LineStore {
  /** Every key there is, with the time of its last change in milliseconds since the epoch. */
  list(): Promise<readonly { readonly key: string; readonly updatedMs: number }[]>;
  /** Undefined when there is nothing under the key. */
  read(key: string): Promise<readonly string[] | undefined>;
  /** Resolves once the lines are kept, behind those of before. Lines have no line breaks in them. */
  append(key: string, lines: readonly string[]): Promise<void>;
  /** One that is not there is no error. */
  remove(key: string): Promise<void>;
}

const TITLE = ".title";

type StoreWorld = Pick<World, "now" | "log" | "deadline">;

/** Rejects when the store of a program takes too long: nobody may wait for it without end. */
async function inTime<T>(world: StoreWorld, doing: Promise<T>): Promise<T> {
  using patience = world.deadline(SESSION_LIMITS.storeMs);
  return await orAborted(doing, patience.signal);
}

/** The same store, every operation of which ends in time, and fails with a code: what it gives back is checked. */
function bounded(lines: LineStore, world: StoreWorld): LineStore {
  const asked = async <T>(ask: () => Promise<T>, isFitting: (answer: unknown) => boolean = () => true): Promise<T> => {
    const answering = async () => await ask();
    const answer = await orFail("store.unavailable", STORE_FAILED, inTime(world, answering()));
    if (!isFitting(answer)) throw new TenonError("store.unavailable", `${STORE_FAILED}: its answer is malformed`);
    return answer;
  };
  const isText = (one: unknown) => typeof one === "string";
  return {
    list: () =>
      asked(
        () => lines.list(),
        (found) => Array.isArray(found) && found.every(isJsonObject),
      ),
    read: (key) =>
      asked(
        () => lines.read(key),
        (found) => found === undefined || (Array.isArray(found) && found.every(isText)),
      ),
    append: (key, more) => asked(() => lines.append(key, more)),
    remove: (key) => asked(() => lines.remove(key)),
  };
}

const STORE_FAILED = "the store of sessions failed";

interface ReadSession extends JournalContent {
  readonly title?: string;
}

export class LineSessionStore implements SessionStore {
  readonly #lines: LineStore;
  readonly #given: LineStore;
  readonly #world: StoreWorld;
  /** Those that are open here. */
  readonly #open = new Set<string>();

  constructor(lines: LineStore, world: StoreWorld) {
    this.#lines = bounded(lines, world);
    this.#given = lines;
    this.#world = world;
  }

  create(about: SessionAbout): OwnedSession {
    const { id } = about;
    if (this.#open.has(id)) throw alreadyOpen(id);
    return this.#owned(id, { seq: 0, header: headerLine(about, this.#world.now()), isNew: true });
  }

  async acquire(about: SessionAbout, onRecord: OnStored): Promise<AcquiredSession> {
    const { id } = about;
    if (this.#open.has(id)) throw alreadyOpen(id);
    this.#open.add(id); // before the first wait: another load meanwhile would write beside this one
    try {
      const { header, seq, problems } = await this.#read(id, onRecord);
      const isTitled = (await this.#lines.read(`${id}${TITLE}`)) !== undefined;
      const first = header ? undefined : headerLine(about, this.#world.now());
      const owned = this.#owned(id, { seq, isNew: false, ...defined({ header: first }) });
      return { owned, ...aboutOf(header), problems, isTitled };
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  async readAll(id: string, onRecord: OnStored): Promise<SessionContent> {
    const { header, problems } = await this.#read(id, onRecord);
    return { ...aboutOf(header), problems };
  }

  async read(id: string, after: number, limit: number): Promise<readonly StoredRecord[]> {
    const found: StoredRecord[] = [];
    let room: number = SESSION_LIMITS.log.readBytes;
    await this.#read(id, (record, chars) => {
      const fits = found.length === 0 || chars <= room;
      if (record.seq <= after || found.length >= limit || !fits) return;
      found.push(record);
      room -= chars;
    });
    return found;
  }

  async readTurn(id: string, upTo: number, limit: number): Promise<readonly StoredRecord[]> {
    return await this.read(id, Math.max(await this.turnStart(id, upTo), 1) - 1, limit);
  }

  async turnStart(id: string, upTo: number): Promise<number> {
    let start = 0;
    await this.#read(id, ({ kind, seq }) => {
      if (kind === "prompt" && seq <= upTo) start = seq;
    });
    return start;
  }

  async has(id: string): Promise<boolean> {
    return isSessionId(id) && (this.#open.has(id) || (await this.#lines.read(id)) !== undefined);
  }

  async place(id: string): ReturnType<SessionStore["place"]> {
    const { header, title } = await this.#read(id, () => undefined);
    if (!header) return undefined;
    return { cwd: header.cwd, additionalDirectories: header.additionalDirectories ?? [], ...defined({ title }) };
  }

  async ownerOf(id: string): Promise<string | undefined> {
    return this.#open.has(id) ? "this process" : undefined;
  }

  async list({ cwd, label, cursor, pageSize = SESSION_LIMITS.journal.pageSize }: ListRequest): Promise<SessionPage> {
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const keys = (await this.#lines.list())
      .flatMap(({ key, updatedMs }) => (isSessionId(key) ? [{ id: key, updatedMs: Math.floor(updatedMs) }] : []))
      .toSorted(byAge)
      .filter((one) => after === undefined || byAge(after, one) < 0);
    const sessions: SessionSummary[] = [];
    for (const { id, updatedMs } of keys) {
      const summary = await this.#summary(id, updatedMs);
      if (!summary || (cwd !== undefined && summary.cwd !== cwd)) continue;
      if (label !== undefined && summary.label !== label) continue;
      const last = sessions.at(-1);
      if (last && sessions.length === pageSize) return { sessions, nextCursor: cursorAfter(last) };
      sessions.push(summary);
    }
    return { sessions };
  }

  async unfinished(sinceMs: number): Promise<readonly UnfinishedSession[]> {
    const found: UnfinishedSession[] = [];
    for (const { key, updatedMs } of await this.#lines.list()) {
      if (!isSessionId(key) || updatedMs < sinceMs) continue;
      const work = new OpenWork();
      await this.#read(key, (record) => work.add(record));
      const summary = work.left && (await this.#summary(key, updatedMs));
      if (summary && work.left) found.push({ ...summary, ...work.left });
    }
    return found;
  }

  async copy(from: string, about: SessionAbout): Promise<void> {
    const lines = await this.#lines.read(from);
    if (!isSessionId(from) || !lines) throw unknownSession(from);
    const [, ...records] = lines;
    await this.#lines.append(about.id, [headerLine({ ...about, forkedFrom: from }, this.#world.now()), ...records]);
    const title = await this.#lines.read(`${from}${TITLE}`);
    if (title) await this.#lines.append(`${about.id}${TITLE}`, title);
  }

  async setTitle(id: string, title: string): Promise<void> {
    if (!(await this.has(id))) throw unknownSession(id);
    await this.#lines.append(`${id}${TITLE}`, [title]);
  }

  async remove(id: string): Promise<void> {
    if (!isSessionId(id)) return;
    if (this.#open.has(id)) throw alreadyOpen(id);
    await this.#lines.remove(`${id}${TITLE}`);
    await this.#lines.remove(id);
  }

  async #summary(id: SessionId, updatedMs: number): Promise<SessionSummary | undefined> {
    try {
      const { header, title } = await this.#read(id, () => undefined);
      if (!header || title === undefined) return undefined;
      const { cwd, additionalDirectories = [], label } = header;
      return { id, cwd, additionalDirectories, title, updatedMs, ...defined({ label }) };
    } catch (error) {
      this.#world.log.warn("session.unlistable", { session: id, error: messageOf(error) });
      return undefined;
    }
  }

  async #read(id: string, onRecord: OnStored): Promise<ReadSession> {
    const lines = isSessionId(id) ? await this.#lines.read(id) : undefined;
    if (!lines) throw unknownSession(id);
    let title: string | undefined;
    const reader = new JournalReader(`session ${id}`, (record, chars) => {
      if (record.kind === "title") title = record.title;
      onRecord(record, chars);
    });
    for (const text of lines) reader.line({ kind: "line", text });
    const given = await this.#lines.read(`${id}${TITLE}`);
    return { ...reader.end(undefined), ...defined({ title: given?.at(-1) ?? title }) };
  }

  #owned(id: SessionId, begin: Begin): OwnedSession {
    this.#open.add(id);
    const onReleased = () => this.#open.delete(id);
    return new OwnedLines(id, { store: this.#given, world: this.#world, onReleased }, begin);
  }
}

interface Begin {
  readonly seq: number;
  readonly header?: string;
  /** Nothing may be under its key yet. */
  readonly isNew: boolean;
}

interface OwnedParts {
  readonly store: LineStore;
  readonly world: StoreWorld;
  readonly onReleased: () => void;
}

interface Sent {
  readonly count: number;
  readonly upTo: number;
  readonly taken: Promise<void>;
}

/** Writes in order, one step at a time. Lines that were not taken are kept and written before the next ones. */
class OwnedLines implements OwnedSession {
  readonly id: SessionId;
  readonly epoch: number;
  readonly settled: Promise<void>;
  readonly lost: AbortSignal = new AbortController().signal;
  readonly #parts: OwnedParts;
  #lastSeq: number;
  #appended: number;
  #waiting: string[];
  #writing: Promise<void> | undefined;
  /** What the store has and has not answered for: sent again, its lines could be there twice. */
  #sent: Sent | undefined;
  #failure: string | undefined;
  #isTouched = false;
  #onFailing: (reason: string) => void = () => {};

  constructor(id: SessionId, parts: OwnedParts, { seq, header, isNew }: Begin) {
    this.id = id;
    this.epoch = seq + 1;
    this.#parts = parts;
    this.#lastSeq = seq;
    this.#appended = seq;
    this.#waiting = header === undefined ? [] : [header];
    this.settled = isNew ? this.#mustBeFree() : Promise.resolve();
    this.settled.catch(() => undefined); // the first prompt tells the person
  }

  async #mustBeFree(): Promise<void> {
    const { store, world } = this.#parts;
    const reading = async () => await store.read(this.id);
    if ((await orFail("store.unavailable", STORE_FAILED, inTime(world, reading()))) === undefined) return;
    throw new TenonError("session.invalid_request", `there is a stored session "${this.id}" already`, {
      hint: "Load it with loadSession, delete it, or leave the id out.",
    });
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get isTouched(): boolean {
    return this.#isTouched;
  }

  append(lines: readonly StoredLine[]): Promise<void> {
    this.#isTouched = true;
    this.#appended = lines.at(-1)?.seq ?? this.#appended;
    this.#waiting.push(...lines.map(({ line }) => line));
    return this.#write();
  }

  sync(): Promise<void> | undefined {
    return this.#writing;
  }

  assertWritten(): void {
    if (this.#failure === undefined) return;
    this.#write().catch(() => undefined); // never rejects: the next one who asks hears how it ended
    throw new TenonError("session.not_recorded", `${STORE_FAILED}: ${this.#failure}`);
  }

  onFailing(listener: (reason: string) => void): void {
    this.#onFailing = listener;
    if (this.#failure !== undefined) listener(this.#failure);
  }

  async release(): Promise<void> {
    const { world, onReleased } = this.#parts;
    await this.#writing;
    const lines = this.#waiting.length;
    if (lines > 0) world.log.error("session.unwritten", { session: this.id, lines, error: this.#failure });
    onReleased();
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    await this.settled.catch(() => undefined);
    while (this.#waiting.length > 0) {
      this.#sent ??= this.#send();
      const { count, upTo, taken } = this.#sent;
      try {
        await inTime(this.#parts.world, taken);
      } catch (error) {
        if (this.#failure === undefined) this.#onFailing(messageOf(error));
        this.#failure = messageOf(error);
        return;
      }
      this.#sent = undefined;
      this.#failure = undefined;
      this.#waiting = this.#waiting.slice(count);
      this.#lastSeq = upTo;
    }
  }

  #send(): Sent {
    const lines = [...this.#waiting];
    const appending = async () => await this.#parts.store.append(this.id, lines);
    const taken = appending().catch((error: unknown) => {
      this.#sent = undefined; // refused: to be sent again
      throw error;
    });
    taken.catch(() => undefined); // it may fail when nobody waits for it any more
    return { count: lines.length, upTo: this.#appended, taken };
  }
}
