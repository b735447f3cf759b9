// Reads of records, of any session and account: what is asked for in one moment goes in one statement.
import { handled } from "../base/async/scope.js";
import { TenonError } from "../base/errors.js";
import type { SessionId } from "../base/id.js";
import type { World } from "../base/ports/world.js";
import { readRecord, SESSION_LIMITS, SHOWN_BY, type StoredRecord, unknownSession } from "../session/index.js";
import type { Database, Row } from "./database.js";
import { POSTGRES_LIMITS } from "./limits.js";

export interface RecordRange {
  readonly account: string;
  readonly id: SessionId;
  /** The record before the first one; with `isTurn` what `SessionStore.readTurn` gives up to it comes first. */
  readonly after: number;
  readonly isTurn?: boolean;
  readonly limit: number;
}

export interface ReadRecord {
  readonly record: StoredRecord;
  readonly chars: number;
}

interface Asked extends RecordRange {
  readonly resolve: (found: readonly ReadRecord[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One row without a number where a session has no such record, without a key where there is no such session. `is_later`: after the
 * ranges before it there was no room for this one; the first one always fits.
 */
const READ = `with asked as (
  select * from unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[], $5::bigint[]) with ordinality
    as a(account, id, after, is_turn, most, place)),
found as (
  select a.place, s.key, r.seq, r.line, r.n, r.total from asked a
  left join tenon_session s on s.account = a.account and s.id = a.id
  left join lateral (
    select seq, line, sum(octet_length(line)) over (order by seq) as total, row_number() over (order by seq) as n
    from (
      select t.seq, t.line from tenon_record t
      where t.session = s.key and t.seq > case when a.is_turn
        then coalesce((select p.seq from tenon_record p where p.session = s.key and p.kind = 'prompt' and p.seq <= a.after
          order by p.seq desc limit 1), 1) - 1
        else a.after end and (not a.is_turn or t.seq > a.after or t.kind = any($7))
      order by t.seq limit a.most) page) r on true
  where r.n is null or r.n = 1 or r.total <= $6),
counted as (
  select *, place > 1 and coalesce(sum(octet_length(line)) over (order by place), 0) > $6 as is_later from found)
select place, key, is_later, case when is_later then null else seq end as seq, case when is_later then null else line end as line
from counted order by place, seq`;

interface FoundRow extends Row {
  readonly place: number;
  readonly key: number | null;
  readonly is_later: boolean;
  readonly seq: number | null;
  readonly line: string | null;
}

interface RecordReadsOptions {
  readonly world: Pick<World, "log">;
  readonly database: Pick<Database, "query">;
}

export class RecordReads {
  readonly #options: RecordReadsOptions;
  #waiting: Asked[] = [];
  #running = 0;

  constructor(options: RecordReadsOptions) {
    this.#options = options;
  }

  /** Rejects with `session.not_found`. */
  read(range: RecordRange): Promise<readonly ReadRecord[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...range, resolve, reject });
      if (this.#waiting.length === 1) queueMicrotask(() => this.#next());
    });
  }

  /** What comes while statements are under way is in the next one. */
  #next(): void {
    const { statements, ranges } = POSTGRES_LIMITS.reads;
    if (this.#running >= statements || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, ranges);
    this.#running += 1;
    handled(this.#attempt(batch), this.#options.world.log, "read records");
    this.#next();
  }

  async #attempt(batch: readonly Asked[]): Promise<void> {
    try {
      await this.#run(batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  async #run(batch: readonly Asked[]): Promise<void> {
    const rows = await this.#options.database.query<FoundRow>(READ, [
      batch.map(({ account }) => account),
      batch.map(({ id }) => id),
      batch.map(({ after }) => after),
      batch.map(({ isTurn = false }) => isTurn),
      batch.map(({ limit }) => Math.max(0, limit)),
      SESSION_LIMITS.log.readBytes,
      SHOWN_BY,
    ]);
    const byPlace = new Map<number, FoundRow[]>();
    for (const row of rows) {
      const own = byPlace.get(row.place);
      if (own) own.push(row);
      else byPlace.set(row.place, [row]);
    }
    const later: Asked[] = [];
    for (const [index, asked] of batch.entries()) {
      const own = byPlace.get(index + 1) ?? [];
      const [first] = own;
      if (!first) asked.reject(new TenonError("internal", `records of session "${asked.id}" were not looked for`));
      else if (first.key === null) asked.reject(unknownSession(asked.id));
      else if (first.is_later) later.push(asked);
      else asked.resolve(own.flatMap(recordOf));
    }
    this.#waiting.unshift(...later);
  }
}

function recordOf({ seq, line }: FoundRow): ReadRecord[] {
  if (seq === null || line === null) return [];
  return [{ record: readRecord(line) ?? { kind: "strange", seq }, chars: line.length }];
}
