// Stored sessions: the port through which every session is created, owned, read, listed, copied and removed.
// A store is of one account: other accounts' sessions do not exist in it. `FileSessionStore` keeps them in files.
import type { SessionId } from "../../base/id.js";
import type { KeptResults } from "../../tools/index.js";
import type { JournalHeader } from "../journal/entry.js";
import type { RecordSink } from "../journal/journal.js";
import type { LeftOpen } from "../journal/open-work.js";
import type { OnStored, StoredRecord } from "../journal/read-journal.js";
import type { SessionState } from "../ports.js";

/** What is known of a session from its beginning on. */
export type SessionAbout = Omit<JournalHeader, "v" | "t" | "id"> & { readonly id: SessionId };

/** A session that may be written to, by one owner at a time. */
export interface OwnedSession extends RecordSink {
  readonly id: SessionId;
  /** Higher than that of every earlier owner that wrote something. */
  readonly epoch: number;
  /** Resolves once it is certain that the session is ours; rejects with `session.busy`. */
  readonly settled: Promise<void>;
  /** Aborts with `session.superseded` when another has the session, or this owner cannot be sure any more that it has. */
  readonly lost: AbortSignal;
  /** Where its results are kept, by its owner alone; in files of the state folder unless given. */
  readonly results?: KeptResults;
  /** The next owner may have it. Never rejects. */
  release(): Promise<void>;
}

/** What there is beside the records. */
export interface SessionContent extends Pick<SessionAbout, "forkedFrom" | "label"> {
  /** Milliseconds since the epoch; missing where the beginning is damaged. */
  readonly createdMs?: number;
  /** What could not be read, in words for people. */
  readonly problems: readonly string[];
}

export interface AcquiredSession extends SessionContent {
  readonly owned: OwnedSession;
  /** A person gave it a title. */
  readonly isTitled: boolean;
  /** What it is called, where the store knows that by now. */
  readonly title?: string;
  /**
   * How many owners in a row were gone before its open turn had an outcome or an answer of the model, where the store counts them;
   * those that left it in a drain do not count.
   */
  readonly tries?: number;
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
  /** Where the store knows it, because several nodes share it. */
  readonly state?: SessionState;
}

export type UnfinishedSession = SessionSummary & LeftOpen;

/** `title`: missing before the first prompt. */
export type SessionPlace = Pick<SessionSummary, "cwd" | "additionalDirectories"> &
  Partial<Pick<SessionSummary, "title">>;

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

/** Ids are taken from outside: one that cannot be the id of a session is one that nobody has. */
export interface SessionStore {
  /**
   * Returns at once: `settled` tells whether it is ours. Throws for an id that is in use, as far as that is known at once;
   * `isPromised`: it was given out before, and its beginning may be there already.
   */
  create(about: SessionAbout, options?: { readonly isPromised?: boolean }): OwnedSession;
  /**
   * `onRecord` gets every record so far, in order, before this resolves. Rejects with `session.busy` while a living owner has
   * the session, and says who; with `session.not_found` when there is none. `about` takes the place of a damaged beginning.
   */
  acquire(about: SessionAbout, onRecord: OnStored): Promise<AcquiredSession>;
  /** Every record so far, in order, without owning the session. Rejects with `session.not_found`. */
  readAll(id: string, onRecord: OnStored): Promise<SessionContent>;
  /**
   * Records after a number, in order and without a gap, without owning the session: at most `limit`, and no more than
   * `SESSION_LIMITS.log.readBytes` but for the first. Empty at the end. Rejects with `session.not_found`.
   */
  read(id: string, after: number, limit: number): Promise<readonly StoredRecord[]>;
  /**
   * The same from the record on with which the turn of that one begins; from the first on where there is no turn. Of those up to it only
   * what later ones are shown by (`SHOWN_BY`) need be there.
   */
  readTurn(id: string, upTo: number, limit: number): Promise<readonly StoredRecord[]>;
  /** The number of the last record up to that one with which a turn begins; 0: there is none. */
  turnStart(id: string, upTo: number): Promise<number>;
  has(id: string): Promise<boolean>;
  /** Where it was begun, and what it is called; undefined where its beginning is damaged. Rejects with `session.not_found`. */
  place(id: string): Promise<SessionPlace | undefined>;
  /** Who has it open now, for people; undefined: nobody has. */
  ownerOf(id: string): Promise<string | undefined>;
  list(request: ListRequest): Promise<SessionPage>;
  /** Sessions changed since then whose turn a gateway's client began and that has not ended, or in which prompts wait. */
  unfinished(sinceMs: number): Promise<readonly UnfinishedSession[]>;
  /** A session of its own with everything the other one has by now, its kept results included. */
  copy(from: string, about: SessionAbout): Promise<void>;
  /** In place of the beginning of the first prompt. */
  setTitle(id: string, title: string): Promise<void>;
  /** All there is of it; one that is not there is no error. Rejects with `session.busy` while it is owned. */
  remove(id: string): Promise<void>;
}
