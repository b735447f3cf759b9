// Sessions in files: one journal each, owned through one lock file, with the results that were kept and a given title beside it.
import { join, resolve } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import { isSessionId, type SessionId } from "../../base/id.js";
import { type FileLock, type LockWorld, lockOwner, tryFileLock } from "../../base/io/file-lock.js";
import { defined } from "../../base/json/defined.js";
import { LineSplitter } from "../../base/json/ndjson.js";
import type { World } from "../../base/ports/world.js";
import { markForeign } from "../../base/text/marking.js";
import type { JournalHeader } from "../journal/entry.js";
import { ONLY_COMMANDS } from "../journal/journal.js";
import { type LeftOpen, OpenWork } from "../journal/open-work.js";
import {
  chunksOf,
  isHeader,
  JournalReader,
  type OnStored,
  readHeader,
  readJournal,
  readRecord,
  type StoredRecord,
} from "../journal/read-journal.js";
import { SESSION_LIMITS } from "../limits.js";
import { OwnedFile, type OwnedFileOptions } from "./owned-file.js";
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

const NEWLINE = 0x0a;
const RESULT_INDEX = "index.ndjson";
const EXTENSION = ".ndjson";
/** Room for the record that says that a session was closed. */
const LAST_LINE_BYTES = 256;

/** The part of a World that the store needs. */
export type StoreWorld = LockWorld & Pick<World, "now" | "monotonicMs">;

/** A line of a journal at which reading may begin: all records up to `seq` lie before it. */
interface Place {
  readonly start: number;
  readonly seq: number;
}

export class FileSessionStore implements SessionStore {
  readonly #world: StoreWorld;
  readonly #stateDir: string;
  /** By session, in the order of the file. The ones used last come last. */
  readonly #places = new Map<string, Place[]>();

  constructor(world: StoreWorld, stateDir: string) {
    this.#world = world;
    this.#stateDir = stateDir;
  }

  create(about: SessionAbout, { isPromised = false }: { readonly isPromised?: boolean } = {}): OwnedSession {
    const { id } = about;
    const path = this.#journal(id);
    const isThere = this.#world.files.isFile(path);
    if (isThere && !isPromised) {
      throw new TenonError("session.invalid_request", `there is a stored session "${id}" already`, {
        hint: "Load it with loadSession, delete it, or leave the id out.",
      });
    }
    const header = isThere ? undefined : headerLine(about, this.#world.now());
    const owned = this.#owned(id, { lock: this.#hold(id), seq: 0, isClean: true, header });
    if (!isThere) owned.begin();
    return owned;
  }

  async acquire(about: SessionAbout, onRecord: OnStored): Promise<AcquiredSession> {
    const known = await this.#known(about.id);
    const lock = await this.#lock(known);
    try {
      await this.#known(known); // its owner may have removed it meanwhile
      const { header, seq, isClean, problems } = await readJournal(this.#world.files, this.#journal(known), onRecord);
      const first = header ? undefined : headerLine(about, this.#world.now());
      const owned = this.#owned(known, { lock: Promise.resolve(lock), seq, isClean, header: first });
      await owned.settled;
      const isTitled = this.#world.files.isFile(this.#title(known));
      return { owned, ...aboutOf(header), problems, isTitled };
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  async readAll(id: string, onRecord: OnStored): Promise<SessionContent> {
    const known = await this.#known(id);
    const { header, problems } = await readJournal(this.#world.files, this.#journal(known), onRecord);
    return { ...aboutOf(header), problems };
  }

  async turnStart(id: string, upTo: number): Promise<number> {
    let start = 0;
    await this.readAll(id, ({ kind, seq }) => {
      if (kind === "prompt" && seq <= upTo) start = seq;
    });
    return start;
  }

  async readTurn(id: string, upTo: number, limit: number): Promise<readonly StoredRecord[]> {
    return await this.read(id, Math.max(await this.turnStart(id, upTo), 1) - 1, limit);
  }

  async read(id: string, after: number, limit: number): Promise<readonly StoredRecord[]> {
    const known = await this.#known(id);
    const places = this.#placesOf(known);
    const from = places.findLast(({ seq }) => seq <= after) ?? { start: 0, seq: 0 };
    const found: StoredRecord[] = [];
    let room: number = SESSION_LIMITS.log.readBytes;
    let isFull = limit <= 0;
    const path = this.#journal(known);
    const reader = new JournalReader(
      path,
      (record, chars) => {
        if (record.seq <= after || isFull) return;
        isFull = found.length > 0 && chars > room;
        if (isFull) return;
        found.push(record);
        room -= chars;
        isFull = found.length >= limit || room <= 0;
      },
      from.seq,
    );
    const lines = new LineSplitter(SESSION_LIMITS.journal.maxLineBytes);
    let start = from.start;
    for await (const bytes of chunksOf(this.#world.files, path, {
      from: start,
      length: SESSION_LIMITS.log.stepBytes,
    })) {
      for (const line of lines.push(bytes)) reader.line(line);
      const end = bytes.lastIndexOf(NEWLINE);
      const place = { start: start + end + 1, seq: reader.seq };
      if (end >= 0 && reader.isSettled && place.start > (places.at(-1)?.start ?? 0)) places.push(place);
      start += bytes.length;
      if (isFull) break;
    }
    if (!isFull) reader.end(lines.flush()[0]); // whoever loads the session counts it as well
    return found;
  }

  async has(id: string): Promise<boolean> {
    return isSessionId(id) && this.#world.files.isFile(this.#journal(id));
  }

  async place(id: string): ReturnType<SessionStore["place"]> {
    const known = await this.#known(id);
    const range = { start: 0, length: SESSION_LIMITS.journal.headBytes };
    const { header, title: first } = readHead(await this.#world.files.readBytes(this.#journal(known), range));
    if (!header) return undefined;
    const { files } = this.#world;
    const title = files.isFile(this.#title(known)) ? await files.readText(this.#title(known)) : first;
    return { cwd: header.cwd, additionalDirectories: header.additionalDirectories ?? [], ...defined({ title }) };
  }

  async list(request: ListRequest): Promise<SessionPage> {
    return await listSessions(this.#world, this.#folder, request);
  }

  /** A session that was closed says so in its last line: of the others the whole journal is read. */
  async unfinished(sinceMs: number): Promise<readonly UnfinishedSession[]> {
    const found: UnfinishedSession[] = [];
    for (const { name, modifiedMs, bytes } of await this.#world.files.list(this.#folder)) {
      const id = name.endsWith(EXTENSION) ? name.slice(0, -EXTENSION.length) : "";
      if (!isSessionId(id) || modifiedMs < sinceMs) continue;
      try {
        const left = await this.#leftOpen(id, bytes);
        if (!left) continue;
        const isTitled = this.#world.files.isFile(this.#title(id));
        const place = { id, updatedMs: Math.floor(modifiedMs), isTitled };
        const summary = await summaryOf(this.#world, this.#folder, place);
        if (summary) found.push({ ...summary, ...left });
      } catch (error) {
        this.#world.log.warn("session.unlistable", { session: id, error: messageOf(error) });
      }
    }
    return found;
  }

  async #leftOpen(id: SessionId, bytes: number): Promise<LeftOpen | undefined> {
    const path = this.#journal(id);
    const length = Math.min(bytes, LAST_LINE_BYTES);
    const end = Buffer.from(await this.#world.files.readBytes(path, { start: bytes - length, length })).toString();
    const last = readRecord(end.trimEnd().split("\n").at(-1) ?? "");
    if (last?.kind === "closed") return undefined;
    const work = new OpenWork();
    await readJournal(this.#world.files, path, (record) => work.add(record));
    return work.left;
  }

  async copy(from: string, about: SessionAbout): Promise<void> {
    const known = await this.#known(from);
    const { files } = this.#world;
    const first = `${headerLine({ ...about, forkedFrom: known }, this.#world.now())}\n`;
    const records = await this.#recordBytes(known);
    const results = await files.list(this.#results(known));
    for (const { name } of results) {
      const [source, target] = [join(this.#results(known), name), join(this.#results(about.id), name)];
      // Results never change, so both sessions can have the same bytes; the list of them grows.
      if (name === RESULT_INDEX) await files.writeAtomic(target, await files.readText(source));
      else await files.adopt(source, target);
    }
    const title = this.#title(known);
    if (files.isFile(title)) await files.adopt(title, this.#title(about.id));
    await files.writeParts(this.#journal(about.id), [Buffer.from(first), ...records]);
  }

  async setTitle(id: string, title: string): Promise<void> {
    await this.#world.files.writeAtomic(this.#title(await this.#known(id)), title);
  }

  async remove(id: string): Promise<void> {
    if (!isSessionId(id) || !(await this.has(id))) return;
    const lock = await this.#lock(id);
    try {
      const { files } = this.#world;
      await files.remove(this.#results(id));
      await files.remove(this.#title(id));
      await files.remove(this.#journal(id));
      this.#places.delete(id);
    } finally {
      await lock.release();
    }
  }

  /** Rejects with `session.not_found` also for what cannot be the id of a session: it never becomes a path. */
  async #known(id: string): Promise<SessionId> {
    if (isSessionId(id) && (await this.has(id))) return id;
    throw unknownSession(id);
  }

  async ownerOf(id: string): Promise<string | undefined> {
    const owner = isSessionId(id) ? await lockOwner(this.#world, this.#lockFile(id)) : undefined;
    return owner === undefined ? undefined : `process ${owner}`;
  }

  #lockFile(id: SessionId): string {
    return join(this.#stateDir, "session-locks", `${id}.lock`);
  }

  /** One process at a time has a session open. Throws `session.busy` when it is open, here or in another process. */
  async #lock(id: SessionId): Promise<FileLock> {
    const path = this.#lockFile(id);
    const attempt = await tryFileLock(this.#world, path);
    if (attempt.lock) return attempt.lock;
    if (attempt.heldBy === this.#world.processes.ownId) throw alreadyOpen(id);
    throw new TenonError("session.busy", `session "${id}" is open in process ${attempt.heldBy}`, {
      hint: `Close it there. If that is no Tenon, delete the file ${path}.`,
    });
  }

  /** For a new session: a lock that cannot be written costs the protection, not the session. Throws `session.busy` all the same. */
  async #hold(id: SessionId): Promise<FileLock | undefined> {
    try {
      return await this.#lock(id);
    } catch (error) {
      if (error instanceof TenonError && error.code === "session.busy") throw error;
      this.#world.log.warn("session.not_locked", { session: id, error: messageOf(error) });
      return undefined;
    }
  }

  #owned(id: SessionId, file: Pick<OwnedFileOptions, "lock" | "seq" | "isClean" | "header">): OwnedFile {
    return new OwnedFile({ world: this.#world, id, path: this.#journal(id), ...file });
  }

  #placesOf(id: SessionId): Place[] {
    const places = this.#places.get(id) ?? [];
    this.#places.delete(id);
    this.#places.set(id, places);
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= SESSION_LIMITS.log.indexedFiles) break;
      this.#places.delete(oldest);
    }
    return places;
  }

  /** Everything behind the header. */
  async #recordBytes(id: SessionId): Promise<readonly Uint8Array[]> {
    const parts: Uint8Array[] = [];
    for await (const bytes of chunksOf(this.#world.files, this.#journal(id))) parts.push(bytes);
    const head = parts[0] ?? new Uint8Array();
    const end = head.indexOf(NEWLINE) + 1;
    const isRecord = readRecord(Buffer.from(head.subarray(0, end)).toString()) !== undefined;
    return isRecord ? parts : [head.subarray(end), ...parts.slice(1)];
  }

  get #folder(): string {
    return join(this.#stateDir, "sessions");
  }

  #journal(id: SessionId): string {
    return journalFile(this.#stateDir, id);
  }

  #results(id: SessionId): string {
    return resultsFolder(this.#stateDir, id);
  }

  #title(id: SessionId): string {
    return titleFile(this.#folder, id);
  }
}

/** Of a journal whose first line is damaged nothing is known. */
export function aboutOf(header: JournalHeader | undefined): Pick<SessionContent, "createdMs" | "forkedFrom" | "label"> {
  const { t: createdMs, forkedFrom, label } = header ?? {};
  return defined({ createdMs, forkedFrom, label });
}

/** The first line of a journal. */
export function headerLine({ additionalDirectories = [], ...about }: SessionAbout, nowMs: number): string {
  const more = additionalDirectories.length > 0 ? additionalDirectories : undefined;
  return JSON.stringify({ v: 1, ...about, ...defined({ additionalDirectories: more }), t: nowMs });
}

/** A journal's path and first line, for a session whose id is given out before it can be opened. */
export function journalStart(stateDir: string, about: SessionAbout, nowMs: number): { path: string; line: string } {
  const { id, cwd, additionalDirectories = [] } = about;
  return { path: journalFile(stateDir, id), line: `${headerLine({ id, cwd, additionalDirectories }, nowMs)}\n` };
}

function journalFile(stateDir: string, id: SessionId): string {
  return join(stateDir, "sessions", `${id}${EXTENSION}`);
}

export function resultsFolder(stateDir: string, id: SessionId): string {
  return join(stateDir, "sessions", `${id}.results`);
}

/** Throws `session.invalid_request` for a text that cannot be the id of a session. */
export function sessionId(text: string): SessionId {
  if (isSessionId(text)) return text;
  const shown = JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
  throw new TenonError("session.invalid_request", `${shown} cannot be the id of a session`, {
    hint: "Use 1 to 128 letters, digits, - and _, beginning with a letter or a digit; or leave it out.",
  });
}

export function alreadyOpen(id: SessionId): TenonError {
  return new TenonError("session.busy", `session "${id}" is already open here`, {
    hint: "Go on with it, or close it first.",
  });
}

export function unknownSession(id: string): TenonError {
  return new TenonError("session.not_found", `there is no session "${id}"`, { hint: "List the sessions there are." });
}

const TITLE_EXTENSION = ".title";

function titleFile(folder: string, id: SessionId): string {
  return join(folder, `${id}${TITLE_EXTENSION}`);
}

/** On one line, and not longer than a list has room for. Throws `session.invalid_request` when nothing is left of it. */
export function givenTitle(words: string): string {
  const line = markForeign(words).replaceAll(/\s+/gu, " ").trim();
  if (line === "") throw new TenonError("session.invalid_request", "the title is empty");
  const characters = Array.from(line);
  if (characters.length <= SESSION_LIMITS.journal.titleChars) return line;
  return `${characters.slice(0, SESSION_LIMITS.journal.titleChars).join("").trimEnd()}…`;
}

type Listed = Pick<SessionSummary, "id" | "updatedMs">;

/** Sessions in which nothing was said are left out. */
async function listSessions(world: StoreWorld, folder: string, request: ListRequest): Promise<SessionPage> {
  const { cwd, label, cursor, pageSize = SESSION_LIMITS.journal.pageSize } = request;
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const files = await world.files.list(folder);
  const titled = new Set(files.map(({ name }) => name).filter((name) => name.endsWith(TITLE_EXTENSION)));
  const places = files
    .filter(({ name }) => name.endsWith(EXTENSION))
    .flatMap(({ name, modifiedMs }): readonly Listed[] => {
      const id = name.slice(0, -EXTENSION.length);
      return isSessionId(id) ? [{ id, updatedMs: Math.floor(modifiedMs) }] : [];
    })
    .sort(byAge)
    .filter((place) => after === undefined || byAge(after, place) < 0);
  const sessions: SessionSummary[] = [];
  for (const place of places) {
    const summary = await summaryOf(world, folder, { ...place, isTitled: titled.has(`${place.id}${TITLE_EXTENSION}`) });
    if (!summary || (cwd !== undefined && resolve(summary.cwd) !== resolve(cwd))) continue;
    if (label !== undefined && summary.label !== label) continue;
    const last = sessions.at(-1);
    // The page is full, and there is at least one more.
    if (last && sessions.length === pageSize) return { sessions, nextCursor: cursorAfter(last) };
    sessions.push(summary);
  }
  return { sessions };
}

/** The same order for everybody at any time: no two sessions have the same place. */
export function byAge(one: Listed, other: Listed): number {
  return other.updatedMs - one.updatedMs || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);
}

async function summaryOf(
  world: StoreWorld,
  folder: string,
  { id, updatedMs, isTitled }: Listed & { readonly isTitled: boolean },
): Promise<SessionSummary | undefined> {
  try {
    const range = { start: 0, length: SESSION_LIMITS.journal.headBytes };
    const { header, title } = readHead(await world.files.readBytes(join(folder, `${id}${EXTENSION}`), range));
    if (!header || title === undefined) return undefined;
    const { cwd, additionalDirectories = [], label } = header;
    const given = isTitled ? await world.files.readText(titleFile(folder, id)) : title;
    return { id, cwd, additionalDirectories, title: given, updatedMs, ...defined({ label }) };
  } catch (error) {
    world.log.warn("session.unlistable", { session: id, error: messageOf(error) }); // deleted meanwhile, for one
    return undefined;
  }
}

function readHead(bytes: Uint8Array): { header?: JournalHeader; title?: string } {
  let header: JournalHeader | undefined;
  let title: string | undefined;
  for (const line of new LineSplitter(SESSION_LIMITS.journal.headBytes).push(bytes)) {
    if (line.kind !== "line") continue;
    if (!header) {
      const read = readHeader(line.text);
      if (read && isHeader(read)) header = read;
    }
    const record = readRecord(line.text);
    if (record?.kind === "title") title = record.title;
    if (title !== undefined && title !== ONLY_COMMANDS) break;
  }
  return defined({ header, title });
}

/** The next page begins behind this session. */
export function cursorAfter({ updatedMs, id }: Listed): string {
  return Buffer.from(`${updatedMs} ${id}`).toString("base64url");
}

/** Throws `session.invalid_request` for a text that `cursorAfter` did not make. */
export function readCursor(cursor: string): Listed {
  const [, updatedMs, id] = /^(\d+) (.+)$/u.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (updatedMs === undefined || id === undefined || !isSessionId(id)) {
    throw new TenonError("session.invalid_request", "the cursor is not one that a listing gave", {
      hint: "List the sessions from the beginning.",
    });
  }
  return { updatedMs: Number(updatedMs), id };
}
