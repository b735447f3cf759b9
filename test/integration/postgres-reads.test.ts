// What a node asks a PostgreSQL for when sessions are opened and followed: records of many in one statement, and who may have one.
import { expect } from "vitest";
import { AppendQueue } from "../../src/postgres/append-queue.js";
import type { Row } from "../../src/postgres/database.js";
import { Database, openPostgresStore } from "../../src/postgres/index.js";
import { Lease } from "../../src/postgres/lease.js";
import { RecordReads } from "../../src/postgres/record-reads.js";
import { PostgresSessionStore, TakenSessions } from "../../src/postgres/session-store.js";
import { Journal } from "../../src/session/journal/journal.js";
import { sessionId } from "../../src/session/store/file-store.js";
import type { OwnedSession } from "../../src/session/store/session-store.js";
import { about, FaultyWire, said, world } from "../postgres-nodes.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";

const postgres = postgresOfFile();
const needs = { ...postgres };
const { log } = world;

scenario(
  ["G781"],
  "records of many sessions that are asked for at once are read in few statements: each reader gets its own, long ones wait for the next",
  async () => {
    const url = await postgres.get().database();
    await using node = await openPostgresStore({ world, url, node: { name: "one", roots: [] } });
    const { sessions } = node.account("me");
    const long = "x".repeat(1_500_000);
    const texts = Array.from({ length: 100 }, (_, index) => (index < 4 ? [`${index}`, long, long] : [`${index}`, "b"]));
    const journals = texts.map((_, index) => {
      return new Journal({ world: { now: () => 1_000, log }, sink: sessions.create(about(`s${index}`)) });
    });
    for (const [index, journal] of journals.entries()) journal.append(...(texts[index] ?? []).map(said));
    await Promise.all(journals.map(async (journal) => await journal.durable()));
    await using database = new Database({ world, url, applicationName: "tenon test" });
    let statements = 0;
    const query: Database["query"] = async (...given) => {
      statements += 1;
      return await database.query(...given);
    };
    const reads = new RecordReads({ world, database: { query } });
    const read = async (id: string, after = 0, account = "me") => {
      const found = await reads.read({ account, id: sessionId(id), after, limit: 10 });
      return found.map(({ record }) => ("text" in record ? record.text : record.kind));
    };
    const all = texts.map((_, index) => read(`s${index}`));
    const others = Promise.allSettled([read("s7", 1), read("s7", 2), read("nobody"), read("s7", 0, "you")]);
    const code = { status: "rejected", reason: expect.objectContaining({ code: "session.not_found" }) };
    // A page has 4 MB at most, also of one session.
    expect(await Promise.all(all)).toEqual(texts);
    expect((await others).map((one) => (one.status === "fulfilled" ? one.value : one))).toEqual([
      ...[["b"], []],
      ...[code, code],
    ]);
    expect(statements).toBeGreaterThanOrEqual(5); // for the four long ones, and 64 ranges at most
    expect(statements).toBeLessThanOrEqual(8);
    expect(await Promise.all([read("s1"), read("s50")])).toEqual([texts[1], texts[50]]);
    await database[Symbol.asyncDispose]();
    await expect(Promise.all([read("s1"), read("s2")])).rejects.toMatchObject({ code: "store.unavailable" });
  },
  needs,
);

scenario(
  ["G782"],
  "a session whose owner's lease ends while another node asks for it is opened there: nobody is told that its id is in use",
  async () => {
    const url = await postgres.get().database();
    await using old = await openPostgresStore({ world, url, node: { name: "old", roots: [] } });
    const owned = old.account("me").sessions.create(about("s"));
    await owned.settled;
    await using database = new Database({ world, url, applicationName: "tenon test" });
    await using lease = new Lease({ world, database, node: { name: "next", roots: [] }, leaseMs: 30_000 });
    await using queue = new AppendQueue({ world, database, lease, onReleased: () => {} });
    await lease.start();
    let refused = 0;
    const query = async <T extends Row>(...given: Parameters<Database["query"]>): Promise<readonly T[]> => {
      const rows = await database.query<T>(...given);
      if (/^update .* epoch = s.epoch \+ 1/u.test(given[0]) && rows.length === 0) {
        refused += 1;
        await database.query("update tenon_node set expires_at = now() where name = 'old'");
      }
      return rows;
    };
    const reads = new RecordReads({ world, database });
    const store = new PostgresSessionStore("me", {
      world,
      database: { query },
      lease,
      queue,
      reads,
      taken: new TakenSessions(),
    });
    const acquired = await store.acquire(about("s"), () => {});
    expect(refused).toBe(1);
    expect(acquired.owned.epoch).toBeGreaterThan(owned.epoch);
    await acquired.owned.release();
    await expect(store.acquire(about("nobody"), () => {})).rejects.toMatchObject({ code: "session.not_found" });
  },
  needs,
);

scenario(
  ["G738"],
  "a client that opens a session while its takeover is not answered yet: whoever opens it here again later has all records",
  async () => {
    const url = await postgres.get().database();
    await using wire = await FaultyWire.open(postgres.get());
    const open = async (name: string, at: string) =>
      await openPostgresStore({ world, url: at, node: { name, roots: [] }, leaseMs: 30_000 });
    await using old = await open("old", url);
    await using next = await open("next", wire.url(url));
    const { sessions } = next.account("me");
    const journalOf = (sink: OwnedSession) => new Journal({ world, sink });
    const journal = journalOf(old.account("me").sessions.create(about("s")));
    const by = { client: "c", name: "editor" };
    journal.append({ kind: "title", title: "t" }, { kind: "prompt", turn: 1, content: [], promptId: "p", by });
    await journal.durable();
    await postgres.get().query("update tenon_node set expires_at = now() where name = 'old'", url);
    const answered = wire.lastAnswer("skip locked");
    const taking = next.nodes.takeOver(await next.nodes.left(10));
    await answered;
    const { owned } = await sessions.acquire(about("s"), () => {});
    const backends =
      "select pg_terminate_backend(pid) from pg_stat_activity where query like '%skip%' and pid <> pg_backend_pid()";
    await postgres.get().query(backends, url);
    expect(await taking).toHaveLength(1);
    const after = journalOf(owned);
    after.append(said("later"), { kind: "end", turn: 1, stopReason: "end_turn" });
    await after.durable();
    await owned.release();
    const kinds: string[] = [];
    const again = await sessions.acquire(about("s"), ({ kind }) => kinds.push(kind));
    expect(kinds).toEqual(["title", "prompt", "text", "end"]);
    await again.owned.release();
  },
  needs,
);
