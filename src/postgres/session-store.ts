// Sessions of one account in PostgreSQL: one row each, owned by a node under an epoch, with one row for every record.
import { resolve } from "node:path";
import { backoffDelayMs, sleep } from "../base/async/deadline.js";
import { TenonError } from "../base/errors.js";
import { isSessionId, type SessionId } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import {
  type AcquiredSession,
  alreadyOpen,
  cursorAfter,
  type ListRequest,
  type OnStored,
  OpenWork,
  type OwnedSession,
  readCursor,
  SESSION_LIMITS,
  type SessionAbout,
  type SessionContent,
  type SessionPage,
  type SessionPlace,
  type SessionStore,
  type SessionSummary,
  type StoredRecord,
  type UnfinishedSession,
  unknownSession,
} from "../session/index.js";
import type { KeptResults } from "../tools/index.js";
import type { AppendQueue } from "./append-queue.js";
import { type Database, type Row, sqlState } from "./database.js";
import type { Lease } from "./lease.js";
import { POSTGRES_LIMITS } from "./limits.js";
import { OwnedRow, type RowPlace, storable } from "./owned-row.js";
import type { ReadRecord, RecordRange, RecordReads } from "./record-reads.js";

export interface SessionStoreParts {
  readonly world: Pick<World, "log" | "after">;
  readonly database: Pick<Database, "query">;
  readonly lease: Lease;
  readonly queue: AppendQueue;
  readonly reads: RecordReads;
  readonly taken: TakenSessions;
  readonly results?: (owned: OwnedSession, account: string) => KeptResults;
}

/** Of the session with account $1 and id $2 that no living node but $3 owns, where $3 is alive itself. */
const FREE = `s.account = $1 and s.id = $2
  and (s.owner is null or s.owner = $3 or not exists (select from tenon_node n where n.id = s.owner and n.expires_at > now()))
  and exists (select from tenon_node me where me.id = $3 and me.expires_at > now())`;
const PLACE = "s.key, s.epoch, s.last_seq";

const INSERT = `insert into tenon_session as s (account, id, owner, cwd, folder, additional_directories, forked_from, label, epoch, state)
  select $1, $2, me.id, $4, $5, $6::text[], $7, $8, 1, 'idle' from tenon_node me where me.id = $3 and me.expires_at > now()
  on conflict (id, account) do nothing returning ${PLACE}`;

/** Empty ones that were promised: the one who promised it, or another node, made the row. */
const TAKE_EMPTY = `update tenon_session s set owner = $3, epoch = s.epoch + 1, state = 'idle'
  where ${FREE} and s.last_seq = 0 returning ${PLACE}`;

/** What the new owner of a session has to know. */
export const ACQUIRED: string = `${PLACE}, s.tries, s.forked_from, s.label, s.given_title is not null as is_titled, coalesce(s.given_title, s.title) as title,
    extract(epoch from s.created_at) * 1000 as created_ms`;

/** An owner that is gone before its turn had an outcome or an answer counts; one that released it does not. */
const ACQUIRE = `update tenon_session s set owner = $3, epoch = s.epoch + 1,
    state = case when s.state = 'resting' then 'idle' else s.state end,
    tries = s.tries + coalesce(s.owner <> $3 and s.unfinished is not null, false)::int
  where ${FREE} returning ${ACQUIRED}`;

const OWNER = `select s.owner, n.name, n.expires_at > now() as is_alive, s.last_seq
  from tenon_session s left join tenon_node n on n.id = s.owner where s.account = $1 and s.id = $2`;

const SUMMARY = `s.id, s.cwd, s.additional_directories, coalesce(s.given_title, s.title) as title, s.label,
  case when exists (select from tenon_node n where n.id = s.owner and n.expires_at > now()) then s.state
    when s.unfinished is null then 'resting' else 'waiting' end as state,
  extract(epoch from s.updated_at) * 1000 as updated_ms`;

const LIST = `select ${SUMMARY} from tenon_session s
  where s.account = $1 and s.title is not null and ($2::text is null or s.folder = $2) and ($3::text is null or s.label = $3)
    and ($4::float8 is null or (s.updated_at, s.id) < (to_timestamp($4 / 1000), $5))
  order by s.updated_at desc, s.id desc limit $6`;

/** Not those that a living node goes on with. */
const UNFINISHED = `select ${SUMMARY}, s.unfinished from tenon_session s left join tenon_node n on n.id = s.owner
  where s.account = $1 and s.unfinished is not null and s.title is not null and s.updated_at >= to_timestamp($2::float8 / 1000)
    and (s.owner is null or s.owner = $3 or n.expires_at <= now())`;

const COPY = `with source as (select * from tenon_session where account = $1 and id = $2),
made as (
  insert into tenon_session (account, id, cwd, folder, additional_directories, forked_from, label, title, given_title, epoch, last_seq, state)
  select $1, $3, $4, $5, $6::text[], source.id, $7, title, given_title, 0, last_seq, 'resting' from source returning key),
records as (
  insert into tenon_record (session, seq, epoch, kind, line)
  select made.key, r.seq, 0, r.kind, r.line from made, source join tenon_record r on r.session = source.key and r.seq <= source.last_seq),
kept as (
  insert into tenon_kept (session, name, part, data)
  select made.key, k.name, k.part, k.data from made, source join tenon_kept k on k.session = source.key)
select key from made`;

const REMOVE = `delete from tenon_session s where ${FREE} returning s.key`;

const UNIQUE_VIOLATION = "23505";

interface PlaceRow extends Row {
  readonly key: number;
  readonly epoch: number;
  readonly last_seq: number;
}

export interface AcquiredRow extends PlaceRow {
  readonly tries: number;
  readonly forked_from: string | null;
  readonly label: string | null;
  readonly is_titled: boolean;
  readonly title: string | null;
  readonly created_ms: string;
}

interface SummaryRow extends Row {
  readonly id: SessionId;
  readonly cwd: string;
  readonly additional_directories: readonly string[];
  readonly title: string | null;
  readonly label: string | null;
  readonly state: NonNullable<SessionSummary["state"]>;
  readonly updated_ms: string;
}

/** Sessions that this node took over from others and has not opened yet: opening them needs no further statement. */
export class TakenSessions {
  readonly #rows = new Map<string, { readonly row: AcquiredRow; readonly self: string }>();

  /** Of a lease that is over they are others'. */
  add(account: string, id: string, taken: { readonly row: AcquiredRow; readonly self: string }): void {
    for (const [key, { self }] of this.#rows) if (self !== taken.self) this.#rows.delete(key);
    this.#rows.set(`${account} ${id}`, taken);
  }

  /** Once; undefined unless it was taken under this lease. */
  take(account: string, id: string, self: string | undefined): AcquiredRow | undefined {
    const key = `${account} ${id}`;
    const found = this.#rows.get(key);
    this.#rows.delete(key);
    return found?.self === self ? found?.row : undefined;
  }
}

export class PostgresSessionStore implements SessionStore {
  readonly #account: string;
  readonly #parts: SessionStoreParts;
  /** Those that are open here, or about to be. */
  readonly #open = new Map<string, Pick<OwnedSession, "settled"> | undefined>();

  constructor(account: string, parts: SessionStoreParts) {
    this.#account = account;
    this.#parts = parts;
  }

  create(about: SessionAbout, { isPromised = false }: { readonly isPromised?: boolean } = {}): OwnedSession {
    const { id } = about;
    if (this.#open.has(id)) throw alreadyOpen(id);
    this.#open.set(id, undefined);
    return this.#owned(id, { place: this.#insert(about, isPromised), work: new OpenWork(), isNew: true });
  }

  async acquire({ id }: SessionAbout, onRecord: OnStored): Promise<AcquiredSession> {
    const known = knownId(id);
    if (this.#open.has(known)) throw alreadyOpen(known);
    this.#open.set(known, undefined);
    try {
      const row = this.#parts.taken.take(this.#account, known, this.#self()) ?? (await this.#acquired(known));
      const work = new OpenWork();
      const owned = this.#owned(known, { place: Promise.resolve(placeOf(row)), work, isNew: false });
      try {
        await owned.settled;
        const problems = await this.#readTo(known, row.last_seq, (record, chars) => {
          work.add(record);
          onRecord(record, chars);
        });
        const { is_titled: isTitled, tries, title } = row;
        return { owned, ...contentOf(row), problems, isTitled, tries, ...defined({ title: title ?? undefined }) };
      } catch (error) {
        await owned.release();
        throw error;
      }
    } catch (error) {
      this.#open.delete(known);
      throw error;
    }
  }

  async readAll(id: string, onRecord: OnStored): Promise<SessionContent> {
    const [row] = await this.#query<AcquiredRow>(
      `select ${PLACE}, s.forked_from, s.label, extract(epoch from s.created_at) * 1000 as created_ms
       from tenon_session s where s.account = $1 and s.id = $2`,
      [await this.#known(id)],
    );
    if (!row) throw unknownSession(id);
    const problems = await this.#readTo(knownId(id), row.last_seq, onRecord);
    return { ...contentOf(row), problems };
  }

  async read(id: string, after: number, limit: number): Promise<readonly StoredRecord[]> {
    return (await this.#page({ id: await this.#known(id), after, limit })).map(({ record }) => record);
  }

  async readTurn(id: string, upTo: number, limit: number): Promise<readonly StoredRecord[]> {
    const range = { id: await this.#known(id), after: upTo, limit, isTurn: true };
    return (await this.#page(range)).map(({ record }) => record);
  }

  async turnStart(id: string, upTo: number): Promise<number> {
    const [row] = await this.#query<{ seq: number }>(
      `select coalesce((select r.seq from tenon_record r where r.session = s.key and r.kind = 'prompt' and r.seq <= $3
         order by r.seq desc limit 1), 0) as seq from tenon_session s where s.account = $1 and s.id = $2`,
      [await this.#known(id), upTo],
    );
    if (!row) throw unknownSession(id);
    return row.seq;
  }

  async has(id: string): Promise<boolean> {
    if (!isSessionId(id)) return false;
    await this.#known(id);
    return (await this.#query("select from tenon_session where account = $1 and id = $2", [id])).length > 0;
  }

  async place(id: string): Promise<SessionPlace | undefined> {
    const text = `select ${SUMMARY} from tenon_session s where s.account = $1 and s.id = $2`;
    const [row] = await this.#query<SummaryRow>(text, [await this.#known(id)]);
    if (!row) throw unknownSession(id);
    const { cwd, additional_directories: additionalDirectories, title } = row;
    return { cwd, additionalDirectories, ...defined({ title: title ?? undefined }) };
  }

  async ownerOf(id: string): Promise<string | undefined> {
    if (!isSessionId(id)) return undefined;
    const [row] = await this.#query<OwnerRow>(OWNER, [id]);
    return row?.is_alive ? `node ${row.name}` : undefined;
  }

  async list(request: ListRequest): Promise<SessionPage> {
    const { cwd, label, cursor, pageSize = SESSION_LIMITS.journal.pageSize } = request;
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const folder = cwd === undefined ? undefined : storable(resolve(cwd));
    const given = [
      folder,
      label === undefined ? undefined : storable(label),
      after?.updatedMs,
      after?.id,
      pageSize + 1,
    ];
    const rows = await this.#query<SummaryRow>(LIST, given);
    const sessions = rows.slice(0, pageSize).map(summaryOf);
    const last = sessions.at(-1);
    return { sessions, ...defined({ nextCursor: rows.length > pageSize && last ? cursorAfter(last) : undefined }) };
  }

  async unfinished(sinceMs: number): Promise<readonly UnfinishedSession[]> {
    const since = Math.min(sinceMs, Number.MAX_SAFE_INTEGER);
    const rows = await this.#query<SummaryRow & { readonly unfinished: string }>(UNFINISHED, [
      since,
      this.#parts.lease.self.value,
    ]);
    return rows.map((row) => {
      const { environment }: Pick<UnfinishedSession, "environment"> = JSON.parse(row.unfinished);
      return { ...summaryOf(row), ...defined({ environment }) };
    });
  }

  async copy(from: string, about: SessionAbout): Promise<void> {
    const { id, cwd, additionalDirectories = [], label } = about;
    const values = [await this.#known(from), id, ...folders(cwd, additionalDirectories), orNull(label)];
    try {
      const rows = await this.#query(COPY, values, POSTGRES_LIMITS.statementMs);
      if (rows.length === 0) throw unknownSession(from);
    } catch (error) {
      throw sqlState(error) === UNIQUE_VIOLATION ? inUse(id) : error;
    }
  }

  async setTitle(id: string, title: string): Promise<void> {
    const text = "update tenon_session set given_title = $3 where account = $1 and id = $2 returning key";
    const rows = await this.#query(text, [await this.#known(id), storable(title)]);
    if (rows.length === 0) throw unknownSession(id);
  }

  async remove(id: string): Promise<void> {
    if (!isSessionId(id)) return;
    if (this.#open.has(id)) throw alreadyOpen(id);
    const rows = await this.#query(REMOVE, [id, this.#self()], POSTGRES_LIMITS.statementMs);
    if (rows.length === 0 && (await this.has(id))) throw await this.#notFree(id);
  }

  /** Waits while the database is away, as long as this node holds its lease. */
  async #insert(about: SessionAbout, isPromised: boolean): Promise<RowPlace> {
    const { id, cwd, additionalDirectories = [], forkedFrom, label } = about;
    const { world, lease } = this.#parts;
    const self = this.#self();
    const values = [id, self, ...folders(cwd, additionalDirectories), orNull(forkedFrom), orNull(label)];
    for (let failures = 0; ; failures += 1) {
      try {
        const [row] = await this.#query<PlaceRow>(INSERT, values);
        if (row) return placeOf(row);
        // What an attempt without an answer made is ours, and empty.
        const [taken] = isPromised || failures > 0 ? await this.#query<PlaceRow>(TAKE_EMPTY, [id, self]) : [];
        if (taken) return placeOf(taken);
        throw await this.#notFree(id);
      } catch (error) {
        if (!(error instanceof TenonError) || error.code !== "store.unavailable" || lease.self.value !== self)
          throw error;
        world.log.debug("session.not_created", { session: id, error: error.message });
        await sleep(world, backoffDelayMs(POSTGRES_LIMITS.retry, failures, 1), new AbortController().signal);
      }
    }
  }

  #owned(
    id: SessionId,
    given: { readonly place: Promise<RowPlace>; readonly work: OpenWork; readonly isNew: boolean },
  ): OwnedRow {
    const { queue, results, taken } = this.#parts;
    const account = this.#account;
    const onClosed = () => {
      this.#open.delete(id);
      taken.take(account, id, undefined); // of a takeover whose answer came when a client had opened it already
    };
    const kept = results && ((owned: OwnedRow) => results(owned, account));
    const row = new OwnedRow({ id, queue, onClosed, ...given, ...defined({ results: kept }) });
    queue.add(row);
    this.#open.set(id, row);
    return row;
  }

  /** One that begins here is there once it is settled. Rejects for what cannot be the id of a session. */
  async #known(id: string): Promise<SessionId> {
    await this.#open.get(id)?.settled.catch(() => undefined);
    return knownId(id);
  }

  /** The lease of an owner may end between a refusal and the look for its reason: then it is free. */
  async #acquired(id: SessionId): Promise<AcquiredRow> {
    for (let attempt = 1; attempt <= POSTGRES_LIMITS.acquireTries; attempt += 1) {
      const [row] = await this.#query<AcquiredRow>(ACQUIRE, [id, this.#self()]);
      if (row) return row;
      const problem = await this.#notFree(id);
      if (problem.code !== IN_USE) throw problem;
    }
    throw withoutLease(); // nobody has it, and yet this node may not
  }

  /** Why a session cannot be had. */
  async #notFree(id: SessionId): Promise<TenonError> {
    const [row] = await this.#query<OwnerRow>(OWNER, [id]);
    if (!row) return unknownSession(id);
    if (!this.#parts.lease.isSure()) return withoutLease();
    if (!row.is_alive) return inUse(id);
    return new TenonError("session.busy", `session "${id}" is open in node ${row.name}`, {
      hint: "Use it there: a gateway passes its clients on to that node.",
    });
  }

  /** Throws `store.unavailable` while this node has no lease. */
  #self(): string {
    const { lease } = this.#parts;
    const self = lease.isSure() ? lease.self.value : undefined;
    if (self === undefined) throw withoutLease();
    return self;
  }

  async #readTo(id: SessionId, lastSeq: number, onRecord: OnStored): Promise<readonly string[]> {
    let seq = 0;
    while (seq < lastSeq) {
      const page = await this.#page({ id, after: seq, limit: POSTGRES_LIMITS.readRecords });
      for (const { record, chars } of page) {
        if (record.seq !== seq + 1 || record.seq > lastSeq) break;
        seq = record.seq;
        onRecord(record, chars);
      }
      if (page.length > 0 && page.at(-1)?.record.seq === seq) continue;
      if (seq < lastSeq)
        return [`The records of this session are damaged: those after ${seq} are missing and not shown.`];
    }
    return [];
  }

  #page(range: Omit<RecordRange, "account">): Promise<readonly ReadRecord[]> {
    return this.#parts.reads.read({ account: this.#account, ...range });
  }

  /** $1 is the account. */
  async #query<T extends Row>(text: string, values: readonly unknown[], timeoutMs?: number): Promise<readonly T[]> {
    return await this.#parts.database.query<T>(text, [this.#account, ...values], timeoutMs);
  }
}

interface OwnerRow extends Row {
  readonly owner: string | null;
  readonly name: string | null;
  readonly is_alive: boolean | null;
  readonly last_seq: number;
}

function knownId(id: string): SessionId {
  if (isSessionId(id)) return id;
  throw unknownSession(id);
}

function placeOf({ key, epoch, last_seq: lastSeq }: PlaceRow): RowPlace {
  return { key, epoch, lastSeq };
}

function contentOf(row: AcquiredRow): Omit<SessionContent, "problems"> {
  const { forked_from: forkedFrom, label, created_ms: createdMs } = row;
  return {
    createdMs: Number(createdMs),
    ...defined({ forkedFrom: forkedFrom ?? undefined, label: label ?? undefined }),
  };
}

function summaryOf(row: SummaryRow): SessionSummary {
  const { id, cwd, additional_directories: additionalDirectories, title, label, state, updated_ms: updatedMs } = row;
  const known = { id, cwd, additionalDirectories, title: title ?? "", state, updatedMs: Number(updatedMs) };
  return { ...known, ...defined({ label: label ?? undefined }) };
}

/** As given, as they are compared, and those besides. */
function folders(cwd: string, additional: readonly string[]): readonly [string, string, readonly string[]] {
  return [storable(cwd), storable(resolve(cwd)), additional.map(storable)];
}

function orNull(text: string | undefined): string | null {
  return text === undefined ? null : storable(text);
}

const IN_USE = "session.invalid_request";

/** Also where nobody who lives owns it. */
function inUse(id: string): TenonError {
  return new TenonError(IN_USE, `there is a stored session "${id}" already`, {
    hint: "Load it with loadSession, delete it, or leave the id out.",
  });
}

function withoutLease(): TenonError {
  return new TenonError("store.unavailable", "this node was cut off from the database and owns no sessions now", {
    hint: "Wait until the database is there again; it registers by itself.",
  });
}
