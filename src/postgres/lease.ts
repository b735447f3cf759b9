// The lease of this node: it owns sessions only while it can be sure that the database still counts it among the living.
import { Cell, type ReadonlyCell } from "../base/async/cell.js";
import { sleep } from "../base/async/deadline.js";
import { Scope } from "../base/async/scope.js";
import { messageOf } from "../base/errors.js";
import type { Timer, World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import type { Connection, Database } from "./database.js";

export interface LeaseOptions {
  readonly world: Pick<World, "log" | "after" | "monotonicMs">;
  readonly database: Database;
  readonly node: { readonly name: string; readonly roots: readonly string[] };
  readonly leaseMs: number;
}

const REGISTER = `with old as (update tenon_node set expires_at = least(expires_at, now()) where id = $5),
  gone as (delete from tenon_node where expires_at < now() - interval '1 day')
  insert into tenon_node (name, version, roots, expires_at, draining)
  values ($1, $2, $3, now() + $4 * interval '1 millisecond', $6) returning id`;
const RENEW = `update tenon_node set expires_at = now() + $2 * interval '1 millisecond'
  where id = $1 and expires_at > now() returning id`;

/**
 * Only the database's clock decides whether a lease is over; this node's clock only measures how long the database was silent,
 * from the moment a renewal was sent. After two thirds of the lease without one the node gives it up, before others may take its
 * sessions, and starts anew under another id.
 */
export class Lease implements AsyncDisposable {
  readonly #options: LeaseOptions;
  readonly #self = new Cell<string | undefined>(undefined);
  readonly #scope: Scope;
  /** The second one is for a renewal that got no answer on the first. */
  readonly #connections: readonly [Connection, Connection];
  /** By the monotonic clock. */
  #renewedMs = 0;
  #silence: Timer | undefined;
  #lastId: string | undefined;
  #isDraining = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#scope = new Scope(options.world.log);
    this.#connections = [options.database.connection(), options.database.connection()];
  }

  /** Rejects when this node cannot be registered. */
  async start(): Promise<void> {
    await this.#register();
    this.#scope.run("node lease", (signal) => this.#keep(signal));
  }

  /** The id of this node while it has a lease. */
  get self(): ReadonlyCell<string | undefined> {
    return this.#self;
  }

  get leaseMs(): number {
    return this.#options.leaseMs;
  }

  /** By the clock of this node; undefined without one. */
  get leftMs(): number | undefined {
    if (this.#self.value === undefined) return undefined;
    return this.#renewedMs + this.leaseMs - this.#options.world.monotonicMs();
  }

  /** Looks at the clock, and gives the lease up where that is due: a process that was frozen has run no timer. */
  isSure(): boolean {
    if (this.#self.value === undefined) return false;
    if (this.#silentMs < (this.leaseMs * 2) / 3) return true;
    this.#lose("the database did not answer in time");
    return false;
  }

  /** Others see it; also of the ids to come. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#options.database.query("update tenon_node set draining = true where id = $1", [this.#self.value]);
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.close();
    this.#silence?.clear();
    const id = this.#self.value;
    this.#self.set(undefined);
    const [connection] = this.#connections;
    if (id !== undefined) {
      const text = "delete from tenon_node where id = $1"; // its sessions are others' at once
      await connection.query({ text, values: [id] }, this.leaseMs).catch(() => undefined);
    }
    for (const one of this.#connections) one[Symbol.dispose]();
    this.#options.database.report("lease", undefined);
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { world, database } = this.#options;
    for (;;) {
      try {
        const id = this.#self.value;
        if (id === undefined) await this.#register();
        else {
          const nextMs = this.#renewedMs + this.leaseMs / 3 - world.monotonicMs();
          await sleep(world, Math.max(0, nextMs), signal);
          await this.#renew(id);
        }
        database.report("lease", undefined);
      } catch (error) {
        signal.throwIfAborted();
        database.report("lease", messageOf(error));
        world.log.debug("node.not_renewed", { error: messageOf(error) });
        await sleep(world, this.leaseMs / 12, signal);
      }
    }
  }

  async #register(): Promise<void> {
    const { node, world } = this.#options;
    const sentMs = world.monotonicMs();
    const values = [node.name, VERSION, node.roots, this.leaseMs, this.#lastId, this.#isDraining];
    const [row] = await this.#connections[0].query<{ id: string }>({ text: REGISTER, values }, this.leaseMs);
    if (!row) return;
    this.#lastId = row.id;
    this.#renewed(sentMs);
    this.#self.set(row.id);
    if (!this.isSure()) return; // the answer took too long
    world.log.info("node.registered", { node: row.id, name: node.name });
  }

  /** Rejects when neither attempt was answered; the lease may be lost then, or not yet. */
  async #renew(id: string): Promise<void> {
    const [first, second] = this.#connections;
    const early = new AbortController();
    const attempt = this.#attempt(first, id);
    const again = sleep(this.#options.world, this.leaseMs / 6, early.signal).then(
      () => this.#attempt(second, id),
      () => attempt,
    );
    attempt.catch(() => undefined).finally(() => early.abort());
    await Promise.any([attempt, again]).catch(() => attempt);
  }

  async #attempt(connection: Connection, id: string): Promise<void> {
    const sentMs = this.#options.world.monotonicMs();
    const statement = { text: RENEW, values: [id, this.leaseMs] };
    const rows = await connection.query(statement, this.leaseMs / 3);
    if (this.#self.value !== id) return;
    if (rows.length === 0) this.#lose("it was over at the database");
    else this.#renewed(sentMs);
  }

  #renewed(sentMs: number): void {
    this.#renewedMs = Math.max(this.#renewedMs, sentMs);
    this.#watch();
  }

  #watch(): void {
    this.#silence?.clear();
    const untilMs = Math.max(1, (this.leaseMs * 2) / 3 - this.#silentMs);
    this.#silence = this.#options.world.after(untilMs, () => {
      if (this.isSure()) this.#watch();
    });
  }

  get #silentMs(): number {
    return this.#options.world.monotonicMs() - this.#renewedMs;
  }

  #lose(reason: string): void {
    const id = this.#self.value;
    if (id === undefined) return;
    this.#options.world.log.warn("node.lease_lost", { node: id, reason });
    this.#self.set(undefined);
    this.#options.database.reset();
  }
}
