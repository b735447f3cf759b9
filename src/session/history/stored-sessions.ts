// The sessions on the disk: their files, what is in them, and copying and removing them.
import { join } from "node:path";
import { TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/world.js";
import type { JournalTail } from "../journal.js";
import type { JournalHeader } from "../journal-entry.js";
import { SessionLock } from "../journal-lock.js";
import { History } from "./history.js";
import { readJournal } from "./read-journal.js";
import { readRecord } from "./read-record.js";
import { titleFile } from "./titles.js";

export interface StoredSession {
  readonly header?: JournalHeader;
  readonly history: History;
  readonly tail: JournalTail;
  /** What people should hear of: damage to the file, a turn that was broken off. */
  readonly problems: readonly string[];
}

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
  has(id: string): boolean {
    return isSessionId(id) && this.#world.files.isFile(this.#journal(id));
  }

  async lock(id: string): Promise<SessionLock> {
    return await SessionLock.take(this.#world, this.#lockFile(id), id);
  }

  /** For a session that is new: nobody else can want it. */
  async hold(id: string): Promise<SessionLock | undefined> {
    return await SessionLock.hold(this.#world, this.#lockFile(id), id);
  }

  async read(id: string): Promise<StoredSession> {
    const history = new History();
    const { header, tail, problems } = await readJournal(this.#world.files, this.#journal(id), (record) =>
      history.add(record),
    );
    const repairs = history.end();
    const brokenOff =
      repairs.length === 0
        ? []
        : ["The last turn of this session was broken off. Its prompt is not run again: send it again if it should be."];
    return {
      ...(header ? { header } : {}),
      history,
      tail: { ...tail, repairs },
      problems: [...problems, ...brokenOff],
    };
  }

  /** A session of its own with everything the other one has by now, its kept results included. */
  async copy(from: string, header: Omit<JournalHeader, "v" | "t" | "forkedFrom">): Promise<void> {
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
  async setTitle(id: string, title: string): Promise<void> {
    await this.#world.files.writeAtomic(titleFile(this.folder, id), title);
  }

  hasTitle(id: string): boolean {
    return this.#world.files.isFile(titleFile(this.folder, id));
  }

  async remove(id: string): Promise<void> {
    const { files } = this.#world;
    await files.remove(this.#results(id));
    await files.remove(titleFile(this.folder, id));
    await files.remove(this.#journal(id));
  }

  /** Everything behind the header. */
  async #recordBytes(id: string): Promise<readonly Uint8Array[]> {
    const parts: Uint8Array[] = [];
    const length = LIMITS.journal.readBytes;
    for (let start = 0; ; ) {
      const bytes = await this.#world.files.readBytes(this.#journal(id), { start, length });
      parts.push(bytes);
      start += bytes.length;
      if (bytes.length < length) break;
    }
    const head = parts[0] ?? new Uint8Array();
    const end = head.indexOf(NEWLINE) + 1;
    const isRecord = readRecord(Buffer.from(head.subarray(0, end)).toString()) !== undefined;
    return isRecord ? parts : [head.subarray(end), ...parts.slice(1)];
  }

  #journal(id: string): string {
    return journalFile(this.#stateDir, id);
  }

  #results(id: string): string {
    return resultsFolder(this.#stateDir, id);
  }

  #lockFile(id: string): string {
    return join(this.#stateDir, "session-locks", `${id}.lock`);
  }
}

export function journalFile(stateDir: string, id: string): string {
  return join(stateDir, "sessions", `${id}.ndjson`);
}

function resultsFolder(stateDir: string, id: string): string {
  return join(stateDir, "sessions", `${id}.results`);
}

function isSessionId(id: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/u.test(id);
}

export function unknownSession(id: string): TenonError {
  return new TenonError("session.not_found", `there is no session "${id}"`, { hint: "List the sessions there are." });
}
