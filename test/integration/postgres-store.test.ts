// Sessions in PostgreSQL: the database itself, the contract of stores, leases, and what becomes of appends when things break.
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { sleep } from "../../src/base/async/deadline.js";
import { TenonError } from "../../src/base/errors.js";
import type { World } from "../../src/base/ports/world.js";
import { Database, migrate, openPostgresStore } from "../../src/postgres/index.js";
import { MIGRATIONS, type Migration } from "../../src/postgres/migrations.js";
import type { JournalEntry } from "../../src/session/journal/entry.js";
import type { Journal } from "../../src/session/journal/journal.js";
import { CERTIFICATE, KEY } from "../certificate.js";
import { runSchedules } from "../log-schedules.js";
import { GUARDED_USER, startPostgres } from "../postgres.js";
import {
  about,
  FaultyWire,
  journalOf,
  openNode,
  said,
  schedulesOverPostgres,
  textsOf,
  world,
} from "../postgres-nodes.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";
import { checkStore, type StorePlace } from "../store-contract.js";

const postgres = postgresOfFile();
const needs = { ...postgres };

scenario(
  ["G730", "G732"],
  "a PostgreSQL of the tests: empty databases, a restart as after a crash, TLS, and nothing left of it",
  async () => {
    const shared = postgres.get();
    const [one, two] = [await shared.database(), await shared.database()];
    await shared.query("create table thing as select 1 as n", one);
    expect(await shared.query("select to_regclass('thing') as thing", two)).toEqual([{ thing: null }]);
    await shared.restart("immediate");
    expect(await shared.query("select n from thing", one)).toEqual([{ n: 1 }]);
    const tls = { key: KEY, certificate: CERTIFICATE };
    const other = await startPostgres({ listen: { address: "127.0.0.1", port: await freePort() }, tls });
    expect(existsSync(other.socketDir)).toBe(true);
    expect(await other.query("select 1 as n", other.tcpUrl)).toEqual([{ n: 1 }]);
    await other.query("alter database postgres set default_transaction_isolation = 'serializable'");
    await using looking = databaseAt(other.tcpUrl ?? "");
    expect(await looking.query("show tcp_keepalives_idle")).toEqual([{ tcp_keepalives_idle: "10" }]);
    // Else two nodes that want the same session at once are told of a failed transaction.
    expect(await looking.query("show transaction_isolation")).toEqual([{ transaction_isolation: "read committed" }]);
    const folder = mkdtempSync(join(tmpdir(), "tenon-ca-"));
    writeFileSync(join(folder, "ca.pem"), CERTIFICATE);
    const encrypted = `${other.tcpUrl}?application_name=x&sslmode=`;
    expect(await problemAt(`${encrypted}require`)).toMatch(/^config\.invalid: .*protected.*sslrootcert=FILE/u);
    expect(await problemAt(`${encrypted}require&sslrootcert=${join(folder, "ca.pem")}`)).toBe("none");
    expect(await problemAt(`${encrypted}no-verify`)).toBe("none");
    rmSync(folder, { recursive: true });
    await other.stop();
    await other.stop();
    expect(existsSync(other.socketDir)).toBe(false);
  },
  needs,
);

function databaseAt(url: string): Database {
  return new Database({ world, url, applicationName: "tenon test" });
}

/** The error of opening it, as one text. */
async function problemAt(url: string, migrations?: readonly Migration[]): Promise<string> {
  const open = async () => {
    await using database = databaseAt(url);
    await migrate(world, database, migrations);
  };
  const error = await open().catch((thrown: unknown) => thrown);
  if (!(error instanceof TenonError)) return "none";
  expect(error.message + error.hint).not.toContain("s3cret");
  return `${error.code}: ${error.message} ${error.hint}`;
}

scenario(
  ["G731"],
  "tables are made once, by one of several nodes, and never by halves; newer and changed ones are left alone",
  async () => {
    const url = await postgres.get().database();
    const tables = () =>
      postgres.get().query("select tablename from pg_tables where schemaname = 'public' order by 1", url);
    const broken = [...MIGRATIONS, { name: "broken", sql: "create table half (); select 1/0" }];
    expect(await problemAt(url, broken)).toContain("division by zero");
    const first = await tables();
    expect(first).toContainEqual({ tablename: "tenon_session" });
    expect(first).not.toContainEqual({ tablename: "half" });
    const more = [...MIGRATIONS, { name: "more", sql: "create table more (); select pg_sleep(0.2)" }];
    expect(await Promise.all([1, 2, 3, 4].map(() => problemAt(url, more)))).toEqual(["none", "none", "none", "none"]);
    expect(await tables()).toContainEqual({ tablename: "more" });
    expect(await problemAt(url)).toMatch(/config\.invalid.*newer Tenon/u);
    const changed = [{ name: "changed", sql: "create table other ()" }, ...more.slice(1)];
    expect(await problemAt(url, changed)).toMatch(/config\.invalid.*other steps.*Step 1/u);
    expect(
      await problemAt(
        url,
        more.map((one) => ({ ...one, sql: ` ${one.sql}\n` })),
      ),
    ).toBe("none");
    // A connection that ends with the answer to a step is made again unnoticed: what was undone with it must not count as applied.
    const other = await postgres.get().database();
    await using wire = await FaultyWire.open(postgres.get());
    const answered = wire.lastAnswer("create table tenon_token");
    const problem = problemAt(wire.url(other));
    await answered;
    const backends = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tenon test'";
    await postgres.get().query(backends, other);
    await problem;
    expect(await problemAt(other)).toBe("none");
    const there = await postgres.get().query("select to_regclass('tenon_token') is not null as there", other);
    expect(there).toEqual([{ there: true }]);
  },
  needs,
);

scenario(
  ["G732"],
  "a database that cannot be used says why, what was tried and what to do, and never the password",
  async () => {
    const shared = postgres.get();
    const url = await shared.database();
    const name = new URL(url.replace("@/", "@x/")).pathname.slice(1);
    const at = (user: string, database = name) =>
      url.replace("postgres@", `${user}@`).replace(`/${name}?`, `/${database}?`);
    await shared.query(`create role ${GUARDED_USER} login password 's3cret'`);
    await shared.query("create role plain login");
    await shared.query("revoke all on schema public from public; grant usage on schema public to plain", url);
    const cases: readonly (readonly [string, RegExp])[] = [
      ["mysql://host/db", /^config\.invalid: .*postgres:\/\//u],
      ["postgres://u:s3cret@host:port/db", /^config\.invalid: /u],
      ["postgres://u@host/db?sslmode=perhaps", /^config\.invalid: .*sslmode.*verify-full/u],
      ["postgres://u@host/db?sslrootcert=/nowhere/ca.pem&sslmode=require", /^config\.invalid: .*ca\.pem/u],
      [
        `postgres://u:s3cret@127.0.0.1:${await freePort()}/db`,
        /^store\.unavailable: .*u@127\.0\.0\.1:\d+\/db .*nothing listens/u,
      ],
      ["postgres://u:s3cret@tenon.invalid/db", /^store\.unavailable: .*host/u],
      ["postgres://u@/db?host=/nowhere", /^store\.unavailable: .*no such socket/u],
      [at(`${GUARDED_USER}:wrong`), /^config\.invalid: .*refused the log-in.*password/u],
      [at("postgres", "nowhere"), /^config\.invalid: .*no such database.*createdb/u],
      [at(`${GUARDED_USER}:s3cret`), /^config\.invalid: .*rights.*grant create/u],
      [at("plain"), /^config\.invalid: .*rights.*grant create/u],
      [`${url}&sslmode=require`, /^config\.invalid: .*protected connection/u],
      [`${url}&options=-c%20default_transaction_read_only%3Don`, /^store\.unavailable: .*read-only.*primary/u],
    ];
    for (const [given, expected] of cases) expect(await problemAt(given), given).toMatch(expected);
    await shared.query("create function current_setting(text) returns text language sql as $$ select '130004' $$", url);
    const old = `${url}&options=-c%20search_path%3Dpublic,pg_catalog`;
    expect(await problemAt(old)).toMatch(/^config\.invalid: .*130004.*too old.*14 or newer/u);
    expect(await problemAt(url)).toBe("none");
    expect(await problemAt(`${url}&options=-c%20default_transaction_read_only%3Don`)).toBe("none"); // nothing to change
  },
  needs,
);

/** Nodes of one database, each with everything that a process of its own would have. */
async function nodesPlace(): Promise<StorePlace> {
  const url = await postgres.get().database();
  const opened: AsyncDisposable[] = [];
  const sql = (text: string) => postgres.get().query(text, url);
  return {
    process: async () => {
      const name = `n${opened.length + 1}`;
      const store = await openPostgresStore({ world, url, node: { name, roots: [] } });
      opened.push(store);
      const die = async () => {
        await sql(`update tenon_node set expires_at = now() - interval '1 second' where name = '${name}'`);
      };
      return { store: store.account("me").sessions, name, die };
    },
    takeAway: async (id) => {
      await sql(`update tenon_session set owner = null, epoch = epoch + 1 where id = '${id}'`);
    },
    damage: async () => false,
    keepResult: async (id, text) => {
      await sql(`insert into tenon_kept select key, 'r1.txt', 0, '${text}' from tenon_session where id = '${id}'`);
    },
    keptResult: async (id) => {
      const [row] =
        await sql(`select convert_from(k.data, 'UTF8') as text from tenon_kept k join tenon_session s on s.key = k.session
        where s.id = '${id}' and k.name = 'r1.txt'`);
      return row && String(row["text"]);
    },
    [Symbol.asyncDispose]: async () => {
      for (const one of opened) await one[Symbol.asyncDispose]();
    },
  };
}

scenario(
  ["G100", "G101", "G102", "G103", "G733"],
  "sessions in PostgreSQL: numbered, with one owner, copied, removed and listed as the contract of stores says",
  () => checkStore(nodesPlace),
  needs,
);

/** `npm run soak -- schedules 100000 postgres` runs as many as it is given. */
const SCHEDULES = 60;

scenario(
  ["G106", "G734"],
  "random schedules over PostgreSQL, with connections that are cut around appends: no gap, no repeat, no second outcome",
  async () => {
    await using over = await schedulesOverPostgres(postgres.get());
    const { schedules, takeovers } = await runSchedules(SCHEDULES, over.makePlace);
    expect(schedules).toBe(SCHEDULES);
    expect(takeovers).toBeGreaterThan(SCHEDULES / 4);
  },
  { ...needs, timeoutMs: 120_000 },
);

async function allDurable(journals: readonly Journal[]): Promise<void> {
  await Promise.all(journals.map(async (journal) => await journal.durable()));
}

scenario(
  ["G734"],
  "appends whose connection breaks before the database has them, or before its answer is here, are there once and in order",
  async () => {
    const url = await postgres.get().database();
    await using wire = await FaultyWire.open(postgres.get());
    await using node = await openNode("a", { url: wire.url(url), leaseMs: 30_000 });
    const sessions = ["s1", "s2", "s3"].map((id) => node.sessions.create(about(id)));
    const journals = sessions.map(journalOf);
    wire.cut("before", "after", "before", "after", "after", "before");
    for (let round = 0; round < 8; round += 1) {
      for (const journal of journals) journal.append(said(`${round}a`), said(`${round}b`));
      await allDurable(journals);
      for (const journal of journals) journal.assertWritten();
    }
    expect(wire.cutCount).toBe(6);
    const expected = Array.from({ length: 8 }, (_, round) => [`${round}a`, `${round}b`]).flat();
    for (const { id } of sessions) expect(await textsOf(node.sessions, id)).toEqual(expected);
    expect(node.nodes.figures()).toMatchObject({ refusedAppends: 0 });
    for (const one of sessions) await one.release();
  },
  needs,
);

scenario(
  ["G735"],
  "an answer that is late does not count before it is certain that the session is still ours: after a takeover it is refused",
  async () => {
    const url = await postgres.get().database();
    await using wire = await FaultyWire.open(postgres.get());
    await using node = await openNode("a", { url: wire.url(url), leaseMs: 3_000 });
    const [kept, taken] = [node.sessions.create(about("kept")), node.sessions.create(about("taken"))];
    await Promise.all([kept.settled, taken.settled]);
    const journals = [kept, taken].map(journalOf);
    const answer = wire.hold("answers");
    for (const journal of journals) journal.append(said("committed"));
    const written = journals.map((journal) => journal.durable());
    const isThere = () => postgres.get().query("select from tenon_record", url);
    while ((await isThere()).length < 2);
    await postgres.get().query("update tenon_session set owner = null, epoch = epoch + 1 where id = 'taken'", url);
    await sleep(world, 1_100, new AbortController().signal); // more than a third of the lease, less than two
    answer();
    await written[0];
    await expect(written[1]).rejects.toMatchObject({ code: "session.superseded" });
    expect([kept.lost.aborted, taken.lost.aborted]).toEqual([false, true]);
    expect(node.nodes.figures()).toMatchObject({ refusedAppends: 1 });
    await kept.release();
  },
  needs,
);

scenario(
  ["G738"],
  "an append that comes to the database after its owner lost its lease, and another node has the session, is refused and counted",
  async () => {
    const url = await postgres.get().database();
    await using wire = await FaultyWire.open(postgres.get());
    await using old = await openNode("old", { url: wire.url(url) });
    await using next = await openNode("next", { url });
    const owned = old.sessions.create(about("s"));
    await owned.settled;
    const arrive = wire.hold("appends");
    const journal = journalOf(owned);
    journal.append(said("of the old one"));
    const written = journal.durable();
    await postgres.get().query("update tenon_node set expires_at = now() where name = 'old'", url);
    await expect(written).rejects.toMatchObject({ code: "session.superseded" });
    const { owned: taken } = await next.sessions.acquire(about("s"), () => {});
    const after = journalOf(taken);
    after.append(said("of the next"));
    await after.durable();
    arrive();
    await expect.poll(() => old.nodes.figures().refusedAppends).toBe(1);
    expect(await textsOf(next.sessions, "s")).toEqual(["of the next"]);
    const again = old.sessions.create(about("t")); // on another connection
    await journalOf(again).durable();
    await again.release();
    await taken.release();
  },
  needs,
);

scenario(
  ["G736"],
  "the database is restarted as after a crash while sessions append: nothing is lost, nothing is twice",
  async () => {
    const url = await postgres.get().database();
    await using node = await openNode("a", { url, leaseMs: 30_000 });
    const sessions = Array.from({ length: 20 }, (_, index) => node.sessions.create(about(`s${index}`)));
    const journals = sessions.map(journalOf);
    const over = new AbortController();
    const writing = journals.map(async (journal) => {
      for (let index = 0; !over.signal.aborted || index < 5; index += 1) {
        journal.append(said(`${index}`));
        await journal.durable();
      }
    });
    await Promise.all(sessions.map((one) => one.settled));
    await postgres.get().restart("immediate");
    over.abort();
    await Promise.all(writing);
    for (const { id, lastSeq } of sessions) {
      const texts = await textsOf(node.sessions, id);
      expect(texts).toEqual(Array.from({ length: lastSeq }, (_, index) => `${index}`));
    }
    for (const one of sessions) await one.release();
  },
  needs,
);

/** Time passes ten times as fast as at the database: what a node waits for comes sooner there, which is the safe side. */
const hurried: World = {
  ...world,
  monotonicMs: () => world.monotonicMs() * 10,
  after: (ms, run) => world.after(ms / 10, run),
};

scenario(
  ["G737"],
  "the database is away: appends wait and people are told; beyond two thirds of the lease the node owns nothing and starts anew",
  async () => {
    const url = await postgres.get().database();
    await using node = await openNode("a", { url, world: hurried, leaseMs: 9_000 });
    const first = node.nodes.self.value;
    const owned = node.sessions.create(about("s"));
    const journal = journalOf(owned);
    journal.append(said("before"));
    await journal.durable();
    await postgres.get().halt("immediate");
    const never = new AbortController().signal;
    try {
      journal.append(said("waits"));
      journal.durable()?.catch(() => undefined);
      expect(await node.nodes.problem.until((problem) => problem !== undefined, never)).toMatch(/PostgreSQL at .*\//u);
      journal.assertWritten();
      await node.nodes.self.until((id) => id === undefined, never);
      expect(owned.lost.aborted).toBe(true);
      expect(owned.lost.reason).toMatchObject({ code: "session.superseded" });
      expect(() => journal.assertWritten()).toThrow(expect.objectContaining({ code: "session.superseded" }));
      await expect(node.sessions.acquire(about("s"), () => {})).rejects.toMatchObject({ code: "store.unavailable" });
      await expect(node.sessions.create(about("t")).settled).rejects.toMatchObject({ code: "store.unavailable" });
      expect(await node.nodes.takeOver([])).toEqual([]);
      await owned.release();
    } finally {
      await postgres.get().start();
    }
    const second = await node.nodes.self.until((id) => id !== undefined, never);
    expect(second).not.toBe(first);
    await node.nodes.problem.until((problem) => problem === undefined, never);
    const again = await node.sessions.acquire(about("s"), () => {});
    expect(again.owned.epoch).toBeGreaterThan(owned.epoch);
    journalOf(again.owned).append(said("after"));
    await again.owned.release();
    expect(await textsOf(node.sessions, "s")).toEqual(["before", "after"]);
  },
  needs,
);

scenario(
  ["G738"],
  "a turn of a node that is gone is taken over by one node, whose predecessor writes nothing more; one left in a drain is free at once",
  async () => {
    const url = await postgres.get().database();
    await using old = await openNode("old", { url });
    await using next = await openNode("next", { url });
    await using third = await openNode("third", { url, node: { name: "third", roots: ["/elsewhere"] } });
    const by = { client: "c", name: "editor" };
    const prompt: JournalEntry = { kind: "prompt", turn: 1, content: [], promptId: "p", by };
    const opened = ["running", "drained", "idle"].map((id) => old.sessions.create(about(id)));
    const journals = opened.map(journalOf);
    for (const journal of journals) journal.append({ kind: "title", title: "t" }, prompt);
    journals[2]?.append({ kind: "end", turn: 1, stopReason: "end_turn" });
    await allDurable(journals);
    expect(await next.nodes.left(10)).toEqual([]);
    expect(await next.nodes.ownerOf("me", "running")).toMatchObject({ name: "old" });
    expect(await next.nodes.list()).toContainEqual(expect.objectContaining({ name: "old", sessions: 3 }));
    expect(await next.nodes.lastSeqs(["running", "idle", "nobody"])).toEqual(
      new Map([
        ["running", 2],
        ["idle", 3],
      ]),
    );

    await old.nodes.drain();
    await opened[1]?.release();
    const left = await next.nodes.left(10);
    expect(left.map(({ id }) => id)).toEqual(["drained"]);
    expect(await old.nodes.left(10)).toEqual([]);
    expect(await old.nodes.takeOver(left)).toEqual([]);
    expect(await third.nodes.left(10)).toEqual([]); // its folder is not there
    expect(await next.nodes.takeOver(left)).toEqual(left);
    const drained = await next.sessions.acquire(about("drained"), () => {});
    expect(drained.tries).toBe(0);

    await postgres.get().query("update tenon_node set expires_at = now() where name = 'old'", url);
    const gone = await next.nodes.left(10);
    expect(gone.map(({ id }) => id)).toEqual(["running"]);
    const taken = await Promise.all([next.nodes.takeOver(gone), next.nodes.takeOver(gone)]);
    expect(taken.flat()).toEqual(gone);
    const { owned, tries } = await next.sessions.acquire(about("running"), () => {});
    expect(tries).toBe(1);
    journals[0]?.append(said("of a node that is gone"));
    await expect(journals[0]?.durable()).rejects.toMatchObject({ code: "session.superseded" });
    const journal = journalOf(owned);
    journal.append({ kind: "answer", turn: 1, text: "", toolCalls: [] }, said("of the next"));
    await journal.durable();
    expect(await textsOf(next.sessions, "running")).toEqual(["of the next"]);
    expect(await postgres.get().query("select tries from tenon_session where id = 'running'", url)).toEqual([
      { tries: 0 },
    ]);
    expect((await next.nodes.list()).map(({ name }) => name)).toContain("old");
    await owned.release();
    await drained.owned.release();
  },
  needs,
);

scenario(
  ["G738"],
  "a session that this node took or opened is found again when the database's answer is lost, and another may have it back",
  async () => {
    const url = await postgres.get().database();
    await using wire = await FaultyWire.open(postgres.get());
    await using old = await openNode("old", { url });
    await using next = await openNode("next", { url: wire.url(url), leaseMs: 30_000 });
    await using third = await openNode("third", { url });
    const prompt: JournalEntry = {
      ...{ kind: "prompt", turn: 1, content: [], promptId: "p" },
      by: { client: "c", name: "editor" },
    };
    const journals = ["taken", "opened"].map((id) => journalOf(old.sessions.create(about(id))));
    for (const journal of journals) journal.append({ kind: "title", title: "t" }, prompt);
    await allDurable(journals);
    await postgres.get().query("update tenon_node set expires_at = now() where name = 'old'", url);
    // By name: both were changed in the same moment.
    const ids = async ({ nodes }: typeof next) =>
      (await nodes.left(10))
        .map(({ id, isOwn }) => [id, isOwn])
        .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
    const taken = (await next.nodes.left(10)).filter(({ id }) => id === "taken");
    wire.cutAfter("skip locked");
    await expect(next.nodes.takeOver(taken)).rejects.toMatchObject({ code: "store.unavailable" });
    wire.cutAfter("epoch = s.epoch + 1");
    await expect(next.sessions.acquire(about("opened"), () => {})).rejects.toMatchObject({ code: "store.unavailable" });
    // Nobody else would take them: the node that owns them lives.
    expect(await ids(third)).toEqual([]);
    expect(await ids(next)).toEqual([
      ["opened", true],
      ["taken", true],
    ]);
    const { owned } = await next.sessions.acquire(about("opened"), () => {});
    expect(await ids(next)).toEqual([["taken", true]]);
    for (const one of taken) await next.nodes.giveBack(one);
    await next.nodes.giveBack({ ...about("opened"), account: "me", additionalDirectories: [] }); // it has it open
    expect(await ids(third)).toEqual([["taken", false]]);
    await owned.release();
  },
  needs,
);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
