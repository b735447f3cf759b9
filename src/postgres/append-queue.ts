// Appends of all sessions of this node: one statement at a time, which writes what waits and names what is not ours any more.
import { backoffDelayMs, orAborted, sleep } from "../base/async/deadline.js";
import { handled, Scope } from "../base/async/scope.js";
import { messageOf, TenonError } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import { ONLY_COMMANDS } from "../session/index.js";
import { type Connection, type Database, joined, type Row, type Statement, sqlState } from "./database.js";
import type { Lease } from "./lease.js";
import { POSTGRES_LIMITS } from "./limits.js";
import { firstTitle, type OwnedRow, type RowChange, type WaitingAppend } from "./owned-row.js";

export interface AppendQueueOptions {
  readonly world: Pick<World, "log" | "after" | "soon" | "monotonicMs" | "deadline">;
  readonly database: Database;
  readonly lease: Lease;
  /** A session was released: others may have it. */
  readonly onReleased: (session: string) => void;
}

/** Since the start of this node. */
export interface AppendFigures {
  batches: number;
  records: number;
  refused: number;
  ms: number;
}

/** What one statement takes of one session: its first appends. */
interface Part {
  readonly row: OwnedRow;
  readonly key: number;
  readonly appends: readonly WaitingAppend[];
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/**
 * The row is only changed where owner, epoch and last number fit, and records are only written where it was changed, so that an
 * owner that was superseded writes nothing, and nothing is written twice. `updated_at` has an index: while a turn streams it is
 * changed once a second.
 */
export const APPEND: string = `with batch as (
  select * from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::boolean[], $10::boolean[])
    as b(key, epoch, first_seq, last_seq, state, unfinished, title, has_progress, keeps_time)),
held as (
  update tenon_session s set last_seq = b.last_seq, state = b.state, unfinished = b.unfinished,
    tries = case when b.has_progress then 0 else s.tries end,
    title = case when s.title is null or s.title = '${ONLY_COMMANDS}' then coalesce(b.title, s.title) else s.title end,
    updated_at = case when not b.keeps_time and (s.state <> b.state or s.updated_at < now() - interval '1 second')
      then date_trunc('milliseconds', now()) else s.updated_at end
  from batch b where s.key = b.key and s.owner = $1 and s.epoch = b.epoch and s.last_seq = b.first_seq - 1
  returning s.key, s.epoch),
written as (
  insert into tenon_record (session, seq, epoch, kind, line)
  select h.key, r.seq, h.epoch, r.kind, r.line
  from unnest($11::bigint[], $12::bigint[], $13::text[], string_to_array($14, E'\\n')) as r(key, seq, kind, line)
  join held h on h.key = r.key)
select key from held`;

const LOOK = "select key, owner, epoch, last_seq from tenon_session where key = any($1)";

/** A turn that is open stays as it is, for the next owner. Gives those that somebody keeps locked: they hold up no others. */
const RELEASE = `with leaving as (
  select s.key, s.owner, b.epoch from unnest($2::bigint[], $3::bigint[]) as b(key, epoch)
  join tenon_session s on s.key = b.key and s.epoch = b.epoch and s.owner = $1),
free as (
  select s.key from tenon_session s join leaving l on s.key = l.key and s.epoch = l.epoch and s.owner = l.owner for update of s skip locked),
released as (
  update tenon_session s set owner = null, state = case when s.unfinished is null then 'resting' else s.state end
  from free where s.key = free.key)
select key from leaving where key not in (select key from free)`;

/** What PostgreSQL says of values it does not take, however often they are sent; and of a row that somebody else keeps locked. */
const REFUSED_VALUES = /^(?:21|22|23|54)/u;
const LOCKED = "55P03";

export class AppendQueue implements AsyncDisposable {
  readonly #options: AppendQueueOptions;
  readonly #scope: Scope;
  #connection: Connection;
  /** Those whose last statement may still come to the database. */
  readonly #late = new Set<Connection>();
  /** Aborts when the lease is lost: what was asked under it is not waited for. */
  #leaseLost = new AbortController();
  readonly #open = new Set<OwnedRow>();
  /** Rows with something to do, those that wait longest first. */
  readonly #work = new Set<OwnedRow>();
  /** One of them has values that PostgreSQL does not take, or a row that is locked: each is sent alone. */
  readonly #suspects = new Set<OwnedRow>();
  /** What was sent and not answered: it may be in the database, or still come there. */
  #unsettled: readonly Part[] = [];
  #isRunning = false;
  readonly figures: AppendFigures = { batches: 0, records: 0, refused: 0, ms: 0 };

  constructor(options: AppendQueueOptions) {
    this.#options = options;
    const { world, database, lease } = options;
    this.#scope = new Scope(world.log);
    this.#connection = database.impatientConnection();
    this.#scope.defer(lease.self.subscribe(() => this.#loseAll()));
  }

  /** From now on its appends are sent, until `forget`. */
  add(row: OwnedRow): void {
    this.#open.add(row);
  }

  enqueue(row: OwnedRow): void {
    this.#work.add(row);
    if (this.#isRunning || row.key === undefined) return;
    this.#isRunning = true;
    this.#options.world.soon(() => this.#scope.run("append", (signal) => this.#run(signal)));
  }

  forget(row: OwnedRow): void {
    this.#open.delete(row);
    this.#work.delete(row);
    this.#suspects.delete(row);
  }

  isSure(): boolean {
    return this.#options.lease.isSure();
  }

  /** Of the rows that this node has open. */
  get keys(): readonly number[] {
    return [...this.#open].flatMap(({ key }) => key ?? []);
  }

  /** What waits is written as long as the lease holds; then the rest is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { world, lease } = this.#options;
    const endMs = world.monotonicMs() + lease.leaseMs;
    const never = new AbortController().signal;
    while (this.#isRunning && world.monotonicMs() < endMs) await sleep(world, 10, never);
    this.#loseAll();
    this.#options.database.report("appends", undefined);
    await this.#scope.close();
    for (const one of [this.#connection, ...this.#late]) one[Symbol.dispose]();
  }

  /** Its id is another one now, or it has none: sessions of the old one are others'. */
  #loseAll(): void {
    for (const row of [...this.#open]) row.supersede("this node was cut off from the database for too long");
    this.#unsettled = [];
    this.#leaseLost.abort();
    this.#leaseLost = new AbortController();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { world, database } = this.#options;
    try {
      for (let failures = 0; this.#hasWork() && !signal.aborted; ) {
        try {
          if (!this.isSure()) break;
          await this.#settle();
          // Neither holds up the other.
          const problems = [await this.#append(), await this.#release()];
          const locked = problems.find((problem) => problem !== undefined);
          if (locked) throw locked;
          failures = 0;
          database.report("appends", undefined);
        } catch (error) {
          database.report("appends", messageOf(error));
          world.log.debug("append.failed", { error: messageOf(error), sessions: this.#work.size });
          await sleep(world, backoffDelayMs(POSTGRES_LIMITS.retry, failures, 1), signal);
          failures += 1;
        }
      }
    } finally {
      this.#isRunning = false;
      database.report("appends", undefined); // nothing waits any more
    }
  }

  /**
   * A connection that was cut off may be silent for long, and its statement may come to the database much later: it is left to that,
   * and the next statement has another one.
   */
  async #ask<T extends Row>(
    statement: Statement,
    onLate: (rows: readonly T[]) => void = () => {},
  ): Promise<readonly T[]> {
    const { world, database } = this.#options;
    const { answerMs, lateMs } = POSTGRES_LIMITS;
    const connection = this.#connection;
    const answer = connection.query<T>(statement, lateMs);
    using deadline = world.deadline(answerMs, this.#leaseLost.signal);
    try {
      return await orAborted(answer, deadline.signal);
    } catch (error) {
      if (!deadline.signal.aborted) throw error;
      this.#connection = database.impatientConnection();
      this.#late.add(connection);
      const end = () => {
        this.#late.delete(connection);
        connection[Symbol.dispose]();
      };
      if (!connection.isAsking) end(); // nothing is sent under a lease that is lost
      handled(answer.then(onLate, () => undefined).finally(end), world.log, "late append");
      throw new TenonError("store.unavailable", `PostgreSQL at ${database.shown} did not answer in time`);
    }
  }

  /** What was sent under a lease that is lost: the database refuses it where another owner came first. */
  #countLate(parts: readonly Part[], held: readonly { readonly key: number }[]): void {
    for (const { row, key, lastSeq } of parts) {
      if (!row.lost.aborted || held.some((one) => one.key === key)) continue;
      this.figures.refused += 1;
      this.#options.world.log.warn("append.refused", { session: row.id, epoch: row.epoch, lastSeq });
    }
  }

  #hasWork(): boolean {
    for (const row of this.#work) if (row.key !== undefined && (row.waiting.length > 0 || row.isLeaving)) return true;
    return false;
  }

  /** Resolves with a problem where the row is locked: the session is tried again, behind the others. */
  async #append(): Promise<TenonError | undefined> {
    const parts = this.#nextParts();
    if (parts.length === 0) return undefined;
    const { world, lease } = this.#options;
    const self = lease.self.value;
    const sentMs = world.monotonicMs();
    this.#unsettled = parts;
    let held: ReadonlySet<number>;
    try {
      const rows = await this.#ask<{ key: number }>(statementOf(self, parts), (late) => this.#countLate(parts, late));
      held = new Set(rows.map(({ key }) => key));
    } catch (error) {
      const state = sqlState(error) ?? "";
      if (state !== LOCKED && !REFUSED_VALUES.test(state)) throw error;
      this.#unsettled = [];
      if (parts.length > 1) this.#suspect(parts);
      else if (state !== LOCKED) this.#refuseValues(parts, messageOf(error));
      else {
        for (const { row } of parts) this.#done(row);
        return new TenonError("store.unavailable", messageOf(error), { cause: error });
      }
      return undefined;
    }
    const tookMs = world.monotonicMs() - sentMs;
    this.figures.batches += 1;
    this.figures.ms += tookMs;
    const isLate = tookMs > lease.leaseMs / 3;
    const known = isLate ? [] : parts.filter(({ key }) => held.has(key));
    this.#unsettled = parts.filter((part) => !known.includes(part));
    if (this.isSure()) for (const part of known) this.#written(part);
    return undefined;
  }

  /** The first appends of those that wait longest, as many as one statement takes. */
  #nextParts(): readonly Part[] {
    const parts: Part[] = [];
    const { maxLines, maxChars } = POSTGRES_LIMITS.append;
    let [lines, chars] = [0, 0];
    for (const row of this.#work) {
      const { key } = row;
      if (key === undefined) continue;
      if (this.#suspects.has(row) && parts.length > 0) continue;
      const appends: WaitingAppend[] = [];
      for (const one of row.waiting) {
        if (lines > 0 && (lines + one.lines.length > maxLines || chars + one.chars > maxChars)) break;
        appends.push(one);
        lines += one.lines.length;
        chars += one.chars;
      }
      const [firstSeq, lastSeq] = [appends[0]?.lines[0]?.seq, appends.at(-1)?.lines.at(-1)?.seq];
      if (firstSeq !== undefined && lastSeq !== undefined) parts.push({ row, key, appends, firstSeq, lastSeq });
      if (appends.length < row.waiting.length || this.#suspects.has(row)) break;
    }
    return parts;
  }

  /**
   * Reads what became of appends that were not confirmed, or too late to be sure that the session is still ours. One that is on
   * its way yet comes too late for a row that went on: its numbers fit no more.
   */
  async #settle(): Promise<void> {
    const { world, lease } = this.#options;
    while (this.#unsettled.length > 0) {
      const self = lease.self.value;
      const sentMs = world.monotonicMs();
      const values = [this.#unsettled.map(({ key }) => key)];
      const found = await this.#ask<FoundRow>({ text: LOOK, values, name: "look" });
      if (!this.isSure()) return;
      if (world.monotonicMs() - sentMs > lease.leaseMs / 3) continue;
      const byKey = new Map(found.map((one) => [one.key, one]));
      for (const part of this.#unsettled) {
        const now = byKey.get(part.key);
        const isOurs = now?.owner === self && now?.epoch === part.row.epoch;
        // An earlier statement that was believed lost may have come meanwhile, with the first of these appends.
        const done = isOurs ? part.appends.filter(({ lines }) => (lines.at(-1)?.seq ?? 0) <= now.last_seq) : [];
        const lastSeq = done.at(-1)?.lines.at(-1)?.seq ?? part.firstSeq - 1;
        if (!isOurs || (done.length < part.appends.length && now.last_seq !== lastSeq)) this.#superseded(part, now);
        else if (done.length > 0) this.#written({ ...part, appends: done, lastSeq });
      }
      this.#unsettled = [];
    }
  }

  #written({ row, appends }: Part): void {
    if (row.lost.aborted) return;
    row.written(appends.length);
    for (const { lines } of appends) this.figures.records += lines.length;
    this.#suspects.delete(row);
    this.#done(row);
  }

  /** Behind the others, where it has more to do. */
  #done(row: OwnedRow): void {
    this.#work.delete(row);
    if (row.waiting.length > 0 || row.isLeaving) this.#work.add(row);
  }

  #superseded({ row, lastSeq }: Part, now: FoundRow | undefined): void {
    this.figures.refused += 1;
    const found = { owner: now?.owner, epochNow: now?.epoch, lastSeqNow: now?.last_seq };
    this.#options.world.log.warn("append.refused", { session: row.id, epoch: row.epoch, lastSeq, ...found });
    row.supersede(now ? "another node has it now" : "it was deleted");
  }

  /** Each is sent alone: one of them is why none was written. */
  #suspect(parts: readonly Part[]): void {
    for (const { row } of parts) this.#suspects.add(row);
  }

  #refuseValues([only]: readonly Part[], reason: string): void {
    if (!only) return;
    this.#options.world.log.error("append.impossible", { session: only.row.id, error: reason });
    this.#work.delete(only.row);
    this.#suspects.delete(only.row);
    only.row.fail(
      new TenonError("session.not_recorded", `the records of this session cannot be written: ${reason}`, {
        hint: "Close the session and load it again; what was not recorded is lost.",
      }),
    );
  }

  /** Resolves with a problem where rows are locked. */
  async #release(): Promise<TenonError | undefined> {
    const leaving = [...this.#work].filter((row) => row.isLeaving && row.key !== undefined);
    if (leaving.length === 0) return undefined;
    const values = [this.#options.lease.self.value, leaving.map(({ key }) => key), leaving.map(({ epoch }) => epoch)];
    const locked = await this.#ask<{ key: number }>({ text: RELEASE, values, name: "release" });
    for (const row of leaving) {
      if (locked.some(({ key }) => key === row.key)) continue;
      row.left();
      this.#options.onReleased(row.id);
    }
    if (locked.length === 0) return undefined;
    return new TenonError("store.unavailable", "somebody keeps the rows of sessions that end locked");
  }
}

interface FoundRow {
  readonly [column: string]: unknown;
  readonly key: number;
  readonly owner: string | null;
  readonly epoch: number;
  readonly last_seq: number;
}

function statementOf(
  self: string | undefined,
  parts: readonly Part[],
): { name: string; text: string; values: unknown[] } {
  const changes = parts.map(({ appends }) => changeOf(appends));
  const records = parts.flatMap(({ key, appends }) =>
    appends.flatMap(({ lines }) => lines.map(({ seq, line, entry }) => ({ key, seq, line, kind: entry.kind }))),
  );
  const values = [
    self,
    parts.map(({ key }) => key),
    parts.map(({ row }) => row.epoch),
    parts.map(({ firstSeq }) => firstSeq),
    parts.map(({ lastSeq }) => lastSeq),
    changes.map(({ state }) => state),
    changes.map(({ left }) => left),
    changes.map(({ title }) => title),
    changes.map(({ hasProgress }) => hasProgress),
    changes.map(({ keepsTime }) => keepsTime),
    records.map(({ key }) => key),
    records.map(({ seq }) => seq),
    records.map(({ kind }) => kind),
    joined(records.map(({ line }) => line)),
  ];
  return { name: "append", text: APPEND, values };
}

/** Of several appends of one session together. */
function changeOf(appends: readonly WaitingAppend[]): RowChange {
  const [first, ...rest] = appends.map(({ change }) => change);
  if (!first) throw new Error("an append of nothing");
  return rest.reduce(
    (all, next) => ({
      ...next,
      hasProgress: all.hasProgress || next.hasProgress,
      keepsTime: all.keepsTime && next.keepsTime,
      title: firstTitle(all.title, next.title),
    }),
    first,
  );
}
