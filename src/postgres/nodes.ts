// The nodes of one database: which there are, which owns a session, and whose open turns this one takes over.
import type { ReadonlyCell } from "../base/async/cell.js";
import type { LeftSession, NodeFigures, NodeHint, NodeInfo, NodeMessage, Nodes } from "../gateway/index.js";
import type { AppendQueue } from "./append-queue.js";
import type { Database, Row } from "./database.js";
import type { PostgresInbox } from "./inbox.js";
import type { Lease } from "./lease.js";
import { POSTGRES_LIMITS } from "./limits.js";
import { ACQUIRED, type AcquiredRow, type TakenSessions } from "./session-store.js";

export interface PostgresNodesParts {
  readonly database: Database;
  readonly lease: Lease;
  readonly queue: AppendQueue;
  readonly inbox: PostgresInbox;
  readonly taken: TakenSessions;
  readonly roots: readonly string[];
}

const NODE = `n.id, n.name, n.version, n.roots, n.draining,
  (extract(epoch from n.expires_at - now()) * 1000)::float8 as left_ms,
  (select count(*) from tenon_session s where s.owner = n.id) as sessions`;

/** A turn is open, or prompts wait; and nobody who lives goes on with it. */
const IS_LEFT = `s.unfinished is not null and s.state <> 'resting'
  and (s.owner is null or not exists (select from tenon_node n where n.id = s.owner and n.expires_at > now()))`;

/** A turn is open of a session that node $4 owns and does not have open; $5 are the rows it has open. */
const IS_LOST =
  "s.unfinished is not null and s.state <> 'resting' and s.owner = $4::uuid and s.key <> all($5::bigint[])";

/** Of the folders that this node may use: $1 are its roots; without any it may use all. */
const LEFT = `select s.account, s.id, s.cwd, s.additional_directories, s.owner is not distinct from $4::uuid as is_own
  from tenon_session s
  where ((${IS_LEFT}) or (${IS_LOST})) and s.updated_at > now() - $2 * interval '1 millisecond'
    and (cardinality($1::text[]) = 0 or exists (
      select from unnest($1::text[]) r where s.folder = r or starts_with(s.folder, rtrim(r, '/') || '/')))
  order by s.updated_at limit $3`;

/** An owner that released it, in a drain, does not count. */
const TAKE_OVER = `with given as (select * from unnest($2::text[], $3::text[]) as g(account, id)),
free as (
  select s.key from tenon_session s join given g on g.account = s.account and g.id = s.id
  where ${IS_LEFT} and exists (select from tenon_node me where me.id = $1 and me.expires_at > now() and not me.draining)
  for update of s skip locked)
update tenon_session s set owner = $1, epoch = s.epoch + 1, tries = s.tries + (s.owner is not null)::int
from free where s.key = free.key returning s.account, s.id, ${ACQUIRED}`;

const GIVE_BACK = `update tenon_session set owner = null
  where account = $1 and id = $2 and owner = $3 and key <> all($4::bigint[]) returning key`;

interface NodeRow extends Row {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly roots: readonly string[];
  readonly draining: boolean;
  readonly left_ms: number;
  readonly sessions: number;
}

interface LeftRow extends Row {
  readonly account: string;
  readonly id: string;
  readonly cwd: string;
  readonly additional_directories: readonly string[];
  readonly is_own: boolean;
}

export class PostgresNodes implements Nodes {
  readonly #parts: PostgresNodesParts;

  constructor(parts: PostgresNodesParts) {
    this.#parts = parts;
  }

  get self(): ReadonlyCell<string | undefined> {
    return this.#parts.lease.self;
  }

  get leaseMs(): number {
    return this.#parts.lease.leaseMs;
  }

  get problem(): ReadonlyCell<string | undefined> {
    return this.#parts.database.problem;
  }

  async list(): Promise<readonly NodeInfo[]> {
    const rows = await this.#query<NodeRow>(`select ${NODE} from tenon_node n order by n.name, n.id`, []);
    return rows.map(nodeOf);
  }

  async ownerOf(account: string, id: string): Promise<Pick<NodeInfo, "id" | "name"> | undefined> {
    const [row] = await this.#query<Pick<NodeRow, "id" | "name">>(
      `select n.id, n.name from tenon_session o join tenon_node n on n.id = o.owner
       where o.account = $1 and o.id = $2 and n.expires_at > now()`,
      [account, id],
    );
    return row;
  }

  async lastSeqs(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#query<{ id: string; last_seq: number }>(
      "select id, max(last_seq) as last_seq from tenon_session where id = any($1) group by id",
      [ids],
    );
    return new Map(rows.map(({ id, last_seq }) => [id, last_seq]));
  }

  async left(most: number): Promise<readonly LeftSession[]> {
    const { lease, queue, roots } = this.#parts;
    const self = lease.isSure() ? lease.self.value : undefined;
    if (self === undefined || lease.isDraining) return [];
    const rows = await this.#query<LeftRow>(LEFT, [roots, POSTGRES_LIMITS.leftWithinMs, most, self, queue.keys]);
    return rows.map(({ account, id, cwd, additional_directories: additionalDirectories, is_own: isOwn }) => {
      return { account, id, cwd, additionalDirectories, isOwn };
    });
  }

  async giveBack({ account, id }: LeftSession): Promise<void> {
    const { lease, queue, inbox, taken } = this.#parts;
    taken.take(account, id, undefined);
    const rows = await this.#query(GIVE_BACK, [account, id, lease.self.value, queue.keys]);
    if (rows.length > 0) inbox.hint({ session: id });
  }

  async takeOver(sessions: readonly LeftSession[]): Promise<readonly LeftSession[]> {
    const { lease, taken } = this.#parts;
    const self = lease.isSure() ? lease.self.value : undefined;
    if (self === undefined || lease.isDraining || sessions.length === 0) return [];
    const given = [sessions.map(({ account }) => account), sessions.map(({ id }) => id)];
    const rows = await this.#query<Pick<LeftRow, "account" | "id"> & AcquiredRow>(TAKE_OVER, [self, ...given]);
    for (const row of rows) taken.add(row.account, row.id, { row, self });
    const keys = new Set(rows.map(({ account, id }) => `${account} ${id}`));
    return sessions.filter(({ account, id }) => keys.has(`${account} ${id}`));
  }

  figures(): NodeFigures {
    const { queue, lease, inbox } = this.#parts;
    const { batches: appendBatches, ms: appendMs, records: appendedRecords, refused: refusedAppends } = queue.figures;
    const appends = { appendBatches, appendMs, appendedRecords, refusedAppends };
    return { ...appends, leaseLeftMs: lease.leftMs, inboxDepth: inbox.depth };
  }

  async drain(): Promise<void> {
    await this.#parts.lease.drain();
  }

  send(message: NodeMessage): void {
    this.#parts.inbox.send(message);
  }

  listen(listener: Parameters<Nodes["listen"]>[0]): Disposable {
    return this.#parts.inbox.listen(listener);
  }

  hint(hint: NodeHint): void {
    this.#parts.inbox.hint(hint);
  }

  onHint(listener: (hint: NodeHint) => void): Disposable {
    return this.#parts.inbox.onHint(listener);
  }

  async #query<T extends Row>(text: string, values: readonly unknown[]): Promise<readonly T[]> {
    return await this.#parts.database.query<T>(text, values);
  }
}

function nodeOf(row: NodeRow): NodeInfo {
  const { id, name, version, roots, draining: isDraining, left_ms: leaseLeftMs, sessions } = row;
  return { id, name, version, roots, isDraining, leaseLeftMs, sessions };
}
