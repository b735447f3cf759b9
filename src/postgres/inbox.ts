// Messages between nodes through a table, each once and in order on its link; and hints, which may be lost.
import type { ReadonlyCell } from "../base/async/cell.js";
import { sleep } from "../base/async/deadline.js";
import { abortListeners, contained, Scope } from "../base/async/scope.js";
import { messageOf } from "../base/errors.js";
import { isJsonObject, parseJson } from "../base/json/json.js";
import type { Timer, World } from "../base/ports/world.js";
import type { NodeHint, NodeMessage, Nodes } from "../gateway/index.js";
import { type Connection, type Database, joined, sqlState } from "./database.js";
import { POSTGRES_LIMITS } from "./limits.js";

export interface InboxOptions {
  readonly world: Pick<World, "log" | "after" | "deadline">;
  readonly database: Database;
  /** The id of this node, while it has a lease. */
  readonly self: ReadonlyCell<string | undefined>;
}

const CHANNEL = "tenon_hint";

/** Gives the nodes that do not live: what was for them is dropped. A message that is there already is not written again. */
const SEND = `with given as (
  select * from unnest($2::uuid[], $3::text[], $4::bigint[], string_to_array($5, E'\\n')) as g(to_node, link, n, body)),
written as (
  insert into tenon_inbox (to_node, from_node, link, n, body)
  select g.to_node, $1, g.link, g.n, g.body from given g
  join tenon_node t on t.id = g.to_node and t.expires_at > now() order by g.n
  on conflict do nothing)
select distinct g.to_node as node from given g
where not exists (select from tenon_node t where t.id = g.to_node and t.expires_at > now())`;

/** As much as fits, at least one. */
const TAKE = `with next as (
  select from_node, link, n, octet_length(body) as bytes,
    sum(octet_length(body)) over (order by from_node, link, n) as total
  from tenon_inbox where to_node = $1 order by from_node, link, n limit $2),
taken as (
  delete from tenon_inbox i using next
  where i.to_node = $1 and i.from_node = next.from_node and i.link = next.link and i.n = next.n
    and (next.total - next.bytes) < $3
  returning i.from_node, i.link, i.n, i.body)
select from_node as node, link, n, body from taken order by from_node, link, n`;

const CLEAN = `delete from tenon_inbox i using tenon_node t where t.id = i.to_node and t.expires_at < now()`;

type Listener = Parameters<Nodes["listen"]>[0];
type Taken = Pick<NodeMessage, keyof NodeMessage> & { readonly [column: string]: unknown };

export class PostgresInbox implements Pick<Nodes, "send" | "listen" | "hint" | "onHint">, AsyncDisposable {
  readonly #options: InboxOptions;
  readonly #scope: Scope;
  readonly #sending: Connection;
  readonly #taking: Connection;
  readonly #hints: Connection;
  #listener: Listener | undefined;
  readonly #hinted = new Set<(hint: NodeHint) => void>();
  /** Not written yet. */
  #unsent: NodeMessage[] = [];
  #unsentBytes = 0;
  #sendingNow: Promise<void> | undefined;
  #isTaking = false;
  #isWanted = false;
  /** Of sessions, the last number; and the nodes that have messages. */
  readonly #news = new Map<string, number | undefined>();
  readonly #receivers = new Set<string>();
  #tell: Timer | undefined;

  constructor(options: InboxOptions) {
    const { database, world } = options;
    this.#options = options;
    this.#scope = new Scope(world.log);
    this.#sending = database.connection();
    this.#taking = database.connection();
    this.#hints = database.connection({ channel: CHANNEL, onNotification: (payload) => this.#hear(payload) });
    this.#scope.run("messages of other nodes", (signal) => this.#poll(signal));
    this.#scope.run("hints of other nodes", (signal) => this.#probe(signal));
  }

  /** Messages that are not written yet. */
  get depth(): number {
    return this.#unsent.length;
  }

  send(message: NodeMessage): void {
    this.#unsent.push(message);
    this.#unsentBytes += message.body.length;
    const { messages, bytes } = POSTGRES_LIMITS.inbox.unsent;
    if (this.#unsent.length > messages || this.#unsentBytes > bytes) this.#dropLargest();
    if (this.#sendingNow) return;
    this.#scope.run("messages to other nodes", async (signal) => {
      this.#sendingNow = this.#sendAll(signal);
      await this.#sendingNow;
    });
  }

  listen(listener: Listener): Disposable {
    this.#listener = listener;
    return {
      [Symbol.dispose]: () => {
        this.#listener = undefined;
      },
    };
  }

  hint({ session, seq }: NodeHint): void {
    this.#news.set(session, seq);
    this.#tellSoon();
  }

  onHint(listener: (hint: NodeHint) => void): Disposable {
    this.#hinted.add(listener);
    return {
      [Symbol.dispose]: () => {
        this.#hinted.delete(listener);
      },
    };
  }

  /** What was sent and told until now still goes out, within a bound: others need not wait for the end of the lease. */
  async [Symbol.asyncDispose](): Promise<void> {
    using deadline = this.#options.world.deadline(POSTGRES_LIMITS.inbox.closeMs);
    const late = new Promise<void>((resolve) => abortListeners(deadline.signal).add(() => resolve()));
    await Promise.race([late, this.#sendingNow?.then(() => this.#tellAll()) ?? this.#tellAll()]);
    this.#tell?.clear();
    const closed = this.#scope.close();
    for (const connection of [this.#sending, this.#taking, this.#hints]) connection[Symbol.dispose]();
    await closed;
  }

  async #sendAll(signal: AbortSignal): Promise<void> {
    try {
      await Promise.resolve(); // what is sent in this turn of the event loop goes in one statement
      while (this.#unsent.length > 0 && !signal.aborted) await this.#sendSome(signal);
    } finally {
      this.#sendingNow = undefined;
    }
  }

  /** Written again where it is not known whether it was: the receiver counts. */
  async #sendSome(signal: AbortSignal): Promise<void> {
    const self = this.#options.self.value;
    const batch = this.#takeBatch();
    if (self === undefined) return; // its links are over
    const columns = [
      batch.map(({ node }) => node),
      batch.map(({ link }) => link),
      batch.map(({ n }) => n),
      joined(batch.map(({ body }) => body)),
    ];
    const { attempts, retryMs, statementMs } = POSTGRES_LIMITS.inbox;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const statement = { text: SEND, values: [self, ...columns], name: "inbox_send" };
        const gone = await this.#sending.query<{ node: string }>(statement, statementMs);
        for (const { node } of batch) this.#receivers.add(node);
        this.#tellSoon();
        for (const { node } of gone) this.#broken(node);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (attempt >= attempts || this.#options.self.value !== self) return this.#lose(messageOf(error));
        await sleep(this.#options.world, retryMs, signal);
      }
    }
  }

  #takeBatch(): readonly NodeMessage[] {
    const { messages, bytes: most } = POSTGRES_LIMITS.inbox.batch;
    let bytes = 0;
    const end = this.#unsent.findIndex(({ body }, index) => {
      bytes += body.length;
      return index > 0 && (index >= messages || bytes > most);
    });
    const batch = this.#unsent.splice(0, end === -1 ? this.#unsent.length : end);
    this.#unsentBytes -= batch.reduce((sum, { body }) => sum + body.length, 0);
    return batch;
  }

  /** What waited is dropped: nobody may get a later message of the same link. */
  #lose(reason: string): void {
    this.#options.world.log.warn("inbox.lost", { reason });
    this.#unsent = [];
    this.#unsentBytes = 0;
    this.#broken(undefined);
  }

  /** The link that fills it costs no other one its messages. */
  #dropLargest(): void {
    const sizes = new Map<string, number>();
    for (const { link, body } of this.#unsent) sizes.set(link, (sizes.get(link) ?? 0) + 1_000 + body.length);
    const [largest] = [...sizes].reduce((most, one) => (one[1] > most[1] ? one : most));
    const node = this.#unsent.find(({ link }) => link === largest)?.node;
    this.#unsent = this.#unsent.filter(({ link }) => link !== largest);
    this.#unsentBytes = this.#unsent.reduce((sum, { body }) => sum + body.length, 0);
    this.#options.world.log.warn("inbox.full", { link: largest });
    this.#broken(node, largest);
  }

  #broken(node: string | undefined, link?: string): void {
    contained(this.#options.world.log, "links that broke", () => this.#listener?.onBroken(node, link));
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { pollMs, cleanEvery } = POSTGRES_LIMITS.inbox;
    for (let round = 1; ; round += 1) {
      await sleep(this.#options.world, pollMs, signal);
      await this.#takeAll();
      if (round % cleanEvery === 0) await this.#options.database.query(CLEAN).catch(() => undefined); // the next round does
    }
  }

  async #takeAll(): Promise<void> {
    this.#isWanted = true;
    if (this.#isTaking) return;
    this.#isTaking = true;
    try {
      while (this.#isWanted && !this.#scope.isClosed) {
        this.#isWanted = false;
        const self = this.#options.self.value;
        if (self !== undefined) await this.#take(self);
      }
    } finally {
      this.#isTaking = false;
    }
  }

  async #take(self: string): Promise<void> {
    const { world } = this.#options;
    const { batch, statementMs } = POSTGRES_LIMITS.inbox;
    try {
      const statement = { text: TAKE, values: [self, batch.messages, batch.bytes], name: "inbox_take" };
      const taken = await this.#taking.query<Taken>(statement, statementMs);
      if (taken.length > 0) this.#isWanted = true; // there may be more
      for (const { node, link, n, body } of taken) {
        contained(world.log, "message of another node", () => this.#listener?.onMessage({ node, link, n, body }));
      }
    } catch (error) {
      if (this.#scope.isClosed) return;
      world.log.debug("inbox.not_taken", { error: messageOf(error) });
      // Where the connection broke, messages may be gone from the table without having come here.
      if (!/^(?!08|57)./u.test(sqlState(error) ?? "")) this.#broken(undefined);
    }
  }

  #tellSoon(): void {
    if (this.#scope.isClosed) return;
    this.#tell ??= this.#options.world.after(POSTGRES_LIMITS.inbox.hintEveryMs, () => {
      this.#tell = undefined;
      this.#scope.run("hints to other nodes", () => this.#tellAll());
    });
  }

  /** One that is lost costs the time until the next poll. */
  async #tellAll(): Promise<void> {
    const { self, world } = this.#options;
    const sessions = [...this.#news].map(([session, seq]) => (seq === undefined ? [session] : [session, seq]));
    const nodes = [...this.#receivers];
    this.#news.clear();
    this.#receivers.clear();
    const { hintItems: most, statementMs } = POSTGRES_LIMITS.inbox;
    while (sessions.length + nodes.length > 0) {
      const payload = JSON.stringify({
        from: self.value ?? "",
        nodes: nodes.splice(0, most),
        sessions: sessions.splice(0, most),
      });
      try {
        const values = [CHANNEL, payload];
        await this.#hints.query({ text: "select pg_notify($1, $2)", values, name: "inbox_hint" }, statementMs);
      } catch (error) {
        world.log.debug("inbox.hint_lost", { error: messageOf(error) });
      }
    }
  }

  #hear(payload: string): void {
    const parsed = parseJson(payload);
    const { from, nodes, sessions } = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
    const { self, world } = this.#options;
    if (from === self.value) return;
    if (Array.isArray(nodes) && nodes.some((node) => node === self.value)) {
      this.#scope.run("messages of other nodes", () => this.#takeAll());
    }
    for (const news of Array.isArray(sessions) ? sessions : []) {
      const [session, seq] = Array.isArray(news) ? news : [];
      if (typeof session !== "string") continue;
      const hint: NodeHint = typeof seq === "number" ? { session, seq } : { session };
      for (const listener of this.#hinted) contained(world.log, "hint of another node", () => listener(hint));
    }
  }

  /** A connection that broke without a word gets no notifications: a statement finds out, and makes it again. */
  async #probe(signal: AbortSignal): Promise<void> {
    const { world } = this.#options;
    for (;;) {
      try {
        await this.#hints.query({ text: "select 1" }, POSTGRES_LIMITS.inbox.probeMs);
      } catch (error) {
        if (!signal.aborted) world.log.debug("inbox.no_hints", { error: messageOf(error) });
      }
      await sleep(world, POSTGRES_LIMITS.inbox.pollMs, signal);
    }
  }
}
