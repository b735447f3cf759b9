// The sessions on the disk: their files, what is in them, and copying and removing them.
import { join, resolve } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import { isSessionId, type SessionId } from "../../base/id.js";
import { type FileLock, tryFileLock } from "../../base/io/file-lock.js";
import { defined } from "../../base/json/defined.js";
import { LineSplitter } from "../../base/json/ndjson.js";
import type { World } from "../../base/ports/world.js";
import { markForeign } from "../../base/text/marking.js";
import { SESSION_LIMITS } from "../limits.js";
import type { JournalHeader } from "./entry.js";
import { History } from "./history.js";
import { type JournalTail, journalFile, ONLY_COMMANDS } from "./journal.js";
import { chunksOf, isHeader, type JournalContent, readHeader, readJournal, readRecord } from "./read-journal.js";

/** `problems` are what people should hear of: damage to the file, a turn that was broken off. */
export interface StoredSession extends Omit<JournalContent, "tail"> {
  readonly history: History;
  readonly tail: JournalTail;
}

const BROKEN_OFF =
  "The last turn of this session was broken off. Its prompt is not run again: send it again if it should be.";
const NEWLINE = 0x0a;
const RESULT_INDEX = "index.ndjson";

export class StoredSessions {
  readonly #world: World;
  readonly #stateDir: string;

  constructor(world: World, stateDir: string) {
    this.#world = world;
    this.#stateDir = stateDir;
  }

  get folder(): string {
    return join(this.#stateDir, "sessions");
  }

  /** False as well for what cannot be the id of a session: it never becomes a path. */
  has(id: string): id is SessionId {
    return isSessionId(id) && this.#world.files.isFile(this.#journal(id));
  }

  /** One process at a time has a session open. Throws `session.busy` when it is open, here or in another process. */
  async lock(id: SessionId): Promise<FileLock> {
    const path = join(this.#stateDir, "session-locks", `${id}.lock`);
    const attempt = await tryFileLock(this.#world, path);
    if (attempt.lock) return attempt.lock;
    if (attempt.heldBy === this.#world.processes.ownId) throw alreadyOpen(id);
    throw new TenonError("session.busy", `session "${id}" is open in process ${attempt.heldBy}`, {
      hint: `Close it there. If that is no Tenon, delete the file ${path}.`,
    });
  }

  /** For a new session: a lock that cannot be written costs the protection, not the session. Throws `session.busy` all the same. */
  async hold(id: SessionId): Promise<FileLock | undefined> {
    try {
      return await this.lock(id);
    } catch (error) {
      if (error instanceof TenonError && error.code === "session.busy") throw error;
      this.#world.log.warn("session.not_locked", { session: id, error: messageOf(error) });
      return undefined;
    }
  }

  async read(id: SessionId): Promise<StoredSession> {
    const history = new History();
    const read = await readJournal(this.#world.files, this.#journal(id), (record) => history.add(record));
    const repairs = history.end();
    const problems = repairs.every(({ kind }) => kind !== "error") ? read.problems : [...read.problems, BROKEN_OFF];
    return { ...read, history, tail: { ...read.tail, repairs }, problems };
  }

  /** A session of its own with everything the other one has by now, its kept results included. */
  async copy(
    from: SessionId,
    header: Omit<JournalHeader, "v" | "t" | "forkedFrom"> & { readonly id: SessionId },
  ): Promise<void> {
    const { files } = this.#world;
    const first = `${JSON.stringify({ v: 1, ...header, forkedFrom: from, t: this.#world.now() })}\n`;
    const records = await this.#recordBytes(from);
    const results = await files.list(this.#results(from));
    for (const { name } of results) {
      const [source, target] = [join(this.#results(from), name), join(this.#results(header.id), name)];
      // Results never change, so both sessions can have the same bytes; the list of them grows.
      if (name === RESULT_INDEX) await files.writeAtomic(target, await files.readText(source));
      else await files.adopt(source, target);
    }
    const title = titleFile(this.folder, from);
    if (files.isFile(title)) await files.adopt(title, titleFile(this.folder, header.id));
    await files.writeParts(this.#journal(header.id), [Buffer.from(first), ...records]);
  }

  /** What a listing shows from now on, in place of the beginning of the first prompt. */
  async setTitle(id: SessionId, title: string): Promise<void> {
    await this.#world.files.writeAtomic(titleFile(this.folder, id), title);
  }

  hasTitle(id: SessionId): boolean {
    return this.#world.files.isFile(titleFile(this.folder, id));
  }

  async remove(id: SessionId): Promise<void> {
    const { files } = this.#world;
    await files.remove(this.#results(id));
    await files.remove(titleFile(this.folder, id));
    await files.remove(this.#journal(id));
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

  #journal(id: SessionId): string {
    return journalFile(this.#stateDir, id);
  }

  #results(id: SessionId): string {
    return resultsFolder(this.#stateDir, id);
  }
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

export interface SessionSummary {
  readonly id: SessionId;
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  /** Given by a person, else the beginning of the first prompt. */
  readonly title: string;
  /** Milliseconds since the epoch. */
  readonly updatedMs: number;
}

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /** For the next page; missing on the last one. */
  readonly nextCursor?: string;
}

export interface ListRequest {
  /** Only sessions of this directory. */
  readonly cwd?: string;
  readonly cursor?: string;
  readonly pageSize?: number;
}

type Place = Pick<SessionSummary, "id" | "updatedMs">;

const EXTENSION = ".ndjson";

/** Sessions in which nothing was said are left out. */
export async function listSessions(world: World, folder: string, request: ListRequest): Promise<SessionPage> {
  const { cwd, cursor, pageSize = SESSION_LIMITS.journal.pageSize } = request;
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const files = await world.files.list(folder);
  const titled = new Set(files.map(({ name }) => name).filter((name) => name.endsWith(TITLE_EXTENSION)));
  const places = files
    .filter(({ name }) => name.endsWith(EXTENSION))
    .flatMap(({ name, modifiedMs }): readonly Place[] => {
      const id = name.slice(0, -EXTENSION.length);
      return isSessionId(id) ? [{ id, updatedMs: Math.floor(modifiedMs) }] : [];
    })
    .sort(byAge)
    .filter((place) => after === undefined || byAge(after, place) < 0);
  const sessions: SessionSummary[] = [];
  for (const place of places) {
    const summary = await summaryOf(world, folder, { ...place, isTitled: titled.has(`${place.id}${TITLE_EXTENSION}`) });
    if (!summary || (cwd !== undefined && resolve(summary.cwd) !== resolve(cwd))) continue;
    const last = sessions.at(-1);
    // The page is full, and there is at least one more.
    if (last && sessions.length === pageSize)
      return { sessions, nextCursor: Buffer.from(`${last.updatedMs} ${last.id}`).toString("base64url") };
    sessions.push(summary);
  }
  return { sessions };
}

/** The same order for everybody at any time: no two sessions have the same place. */
function byAge(one: Place, other: Place): number {
  return other.updatedMs - one.updatedMs || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);
}

async function summaryOf(
  world: World,
  folder: string,
  { id, updatedMs, isTitled }: Place & { readonly isTitled: boolean },
): Promise<SessionSummary | undefined> {
  try {
    const range = { start: 0, length: SESSION_LIMITS.journal.headBytes };
    const { header, title } = readHead(await world.files.readBytes(join(folder, `${id}${EXTENSION}`), range));
    if (!header || title === undefined) return undefined;
    const { cwd, additionalDirectories = [] } = header;
    const given = isTitled ? await world.files.readText(titleFile(folder, id)) : title;
    return { id, cwd, additionalDirectories, title: given, updatedMs };
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

function readCursor(cursor: string): Place {
  const [, updatedMs, id] = /^(\d+) (.+)$/u.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (updatedMs === undefined || id === undefined || !isSessionId(id)) {
    throw new TenonError("session.invalid_request", "the cursor is not one that a listing gave", {
      hint: "List the sessions from the beginning.",
    });
  }
  return { updatedMs: Number(updatedMs), id };
}
