// Sessions in PostgreSQL: the database itself, the contract of stores, leases, and what becomes of appends when things break.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { expect } from "vitest";
import { TenonError } from "../../src/base/errors.js";
import { Database, migrate, openPostgresStore } from "../../src/postgres/index.js";
import { MIGRATIONS, type Migration } from "../../src/postgres/migrations.js";
import { fakeWorld } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { GUARDED_USER, startPostgres } from "../postgres.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";
import { checkStore, type StorePlace } from "../store-contract.js";

const postgres = postgresOfFile();
const needs = { ...postgres };

scenario(
  ["G730"],
  "a PostgreSQL of the tests: empty databases, a restart as after a crash, and nothing left of it",
  async () => {
    const shared = postgres.get();
    const [one, two] = [await shared.database(), await shared.database()];
    await shared.query("create table thing as select 1 as n", one);
    expect(await shared.query("select to_regclass('thing') as thing", two)).toEqual([{ thing: null }]);
    await shared.restart("immediate");
    expect(await shared.query("select n from thing", one)).toEqual([{ n: 1 }]);
    const other = await startPostgres({ listen: { address: "127.0.0.1", port: await freePort() } });
    expect(existsSync(other.socketDir)).toBe(true);
    expect(await other.query("select 1 as n", other.tcpUrl)).toEqual([{ n: 1 }]);
    await other.stop();
    await other.stop();
    expect(existsSync(other.socketDir)).toBe(false);
  },
  needs,
);

const log = fakeWorld().log;
const world = nodeWorld({ log });

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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
