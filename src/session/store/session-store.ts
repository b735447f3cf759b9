// Stored sessions: the port through which every session is created, owned, read, listed, copied and removed.
// A store is of one account: other accounts' sessions do not exist in it. `FileSessionStore` keeps them in files.
import type { SessionId } from "../../base/id.js";
import type { JournalHeader, JournalRecord } from "../journal/entry.js";
import type { StrangeRecord } from "../journal/read-journal.js";
import type { SessionState } from "../ports.js";

/** What is known of a session from its beginning on. */
export type SessionAbout = Omit<JournalHeader, "v" | "t" | "id"> & { readonly id: SessionId };

/** One line of the log as it is kept, without its end. Numbers count from 1 without a gap. */
export interface StoredLine {
  readonly seq: number;
  readonly line: string;
}

/** As it is kept: a long text or medium is a `blob` record of its own, and blocks name it by the number of that record. */
export type StoredRecord = JournalRecord | StrangeRecord;

export interface AppendOptions {
  /** Of the session from these lines on. */
  readonly state?: SessionState;
  /** Listings show when something was last said: these lines are no such thing. */
  readonly keepsTime?: boolean;
}

/** A session that may be written to, by one owner at a time. */
export interface OwnedSession {
  readonly id: SessionId;
  /** Higher than that of every earlier owner. */
  readonly epoch: number;
  /** Of the last line that is durable. */
  readonly lastSeq: number;
  /** For one that was created now: resolves once it is ours, rejects with `session.busy`. No turn runs before. */
  readonly settled?: Promise<void>;
  /**
   * In order, in one step. Undefined: done. A promise rejects with `session.superseded`, for good, and waits while the store
   * cannot be reached. Lines that a disk did not take are kept and written with the next ones: `assertWritten` tells.
   */
  append(lines: readonly StoredLine[], options?: AppendOptions): Promise<void> | undefined;
  /** What was appended survives the machine, not only the process. */
  sync(): Promise<void> | undefined;
  /** Throws `session.not_recorded` when something is not written, after one more attempt, and `session.superseded`. */
  assertWritten(): void;
  /** Aborts with `session.superseded` when another has the session, or this owner cannot be sure any more that it has. */
  readonly lost: AbortSignal;
  /** The next owner may have it. Never rejects. */
  release(state?: SessionState): Promise<void>;
}

/** What `acquire` found, beside the records. */
export interface AcquiredSession {
  readonly owned: OwnedSession;
  readonly about: SessionAbout & { readonly createdMs: number };
  /** What could not be read, in words for people. */
  readonly problems: readonly string[];
}

export interface SessionSummary {
  readonly id: SessionId;
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  /** Given by a person, else the beginning of the first prompt. */
  readonly title: string;
  readonly label?: string;
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
  /** Only the one its client gave this label. */
  readonly label?: string;
  readonly cursor?: string;
  readonly pageSize?: number;
}

export interface SessionStore {
  /** Returns at once: `settled` of the session tells whether it is ours. For ids that nobody has. */
  create(about: SessionAbout): OwnedSession;
  /**
   * `onRecord` gets every record so far, in order, before this resolves. Rejects with `session.busy` while a living owner has
   * the session, and says who; with `session.not_found` when there is none.
   */
  acquire(id: SessionId, onRecord: (record: StoredRecord) => void): Promise<AcquiredSession>;
  /**
   * Records after a number, in order and without a gap, without owning the session: at most `limit`, and no more than
   * `SESSION_LIMITS.log.readBytes` beyond the first. Empty at the end. Rejects with `session.not_found`.
   */
  read(id: SessionId, after: number, limit: number): Promise<readonly StoredRecord[]>;
  has(id: string): Promise<boolean>;
  list(request: ListRequest): Promise<SessionPage>;
  /** Sessions that nobody owns whose turn a gateway's client began and that has not ended, changed since then. */
  unfinished(sinceMs: number): Promise<readonly SessionSummary[]>;
  /** A session of its own with everything the other one has by now, its kept results included. */
  copy(from: SessionId, about: SessionAbout): Promise<void>;
  /** In place of the beginning of the first prompt. */
  setTitle(id: SessionId, title: string): Promise<void>;
  /** All there is of it; one that is not there is no error. Rejects with `session.busy` while it is owned. */
  remove(id: SessionId): Promise<void>;
}
