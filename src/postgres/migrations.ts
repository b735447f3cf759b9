// The tables, as numbered steps: each is applied once and whole, by one node at a time, and never changes afterwards.
import { createHash } from "node:crypto";
import pg from "pg";
import { sleep } from "../base/async/deadline.js";
import { TenonError } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import type { Connection, Database } from "./database.js";
import { POSTGRES_LIMITS } from "./limits.js";

export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** In this order; the first has number 1. After a release a step is not edited, but followed by another. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: "nodes and sessions",
    sql: `
      create table tenon_node (
        id uuid primary key default gen_random_uuid(),
        name text not null,
        version text not null,
        roots text[] not null,
        expires_at timestamptz not null,
        draining boolean not null default false);
      create table tenon_session (
        key bigint generated always as identity primary key,
        account text not null,
        id text collate "C" not null,
        cwd text not null,
        folder text not null,
        additional_directories text[] not null,
        forked_from text,
        label text,
        title text,
        given_title text,
        owner uuid references tenon_node on delete set null,
        epoch bigint not null,
        last_seq bigint not null default 0,
        state text not null check (state in ('resting', 'idle', 'running', 'waiting')),
        unfinished text,
        tries int not null default 0,
        created_at timestamptz not null default date_trunc('milliseconds', now()),
        updated_at timestamptz not null default date_trunc('milliseconds', now()),
        unique (id, account)) with (fillfactor = 60);
      create index on tenon_session (account, updated_at desc, id desc);
      create index on tenon_session (account, label) where label is not null;
      create index on tenon_session (owner) where owner is not null;
      create index on tenon_session (updated_at) where unfinished is not null;
      create table tenon_record (
        session bigint not null references tenon_session on delete cascade,
        seq bigint not null,
        epoch bigint not null,
        kind text not null,
        line text not null,
        primary key (session, seq));
      create table tenon_kept (
        session bigint not null references tenon_session on delete cascade,
        name text not null,
        part int not null,
        data bytea not null,
        primary key (session, name, part));`,
  },
  {
    name: "what accounts and nodes share",
    sql: `
      alter table tenon_kept alter column data set storage external;
      create table tenon_setting (name text primary key, value text not null);
      insert into tenon_setting (name, value) values ('token-changes', '0');
      create table tenon_token (
        id text primary key,
        hash text not null unique,
        name text not null,
        account text not null,
        scopes text[] not null,
        is_device boolean not null,
        parent text,
        created_at timestamptz not null,
        expires_at timestamptz,
        last_used_at timestamptz,
        revoked_at timestamptz);
      create table tenon_approval (
        account text not null,
        id text not null,
        kind text not null,
        project text,
        server text,
        tool text,
        program text,
        definition_hash text,
        command text,
        decision text not null,
        decided_at timestamptz not null default now(),
        primary key (account, id));`,
  },
  {
    name: "messages between nodes",
    sql: `
      create table tenon_inbox (
        to_node uuid not null references tenon_node on delete cascade,
        from_node uuid not null,
        link text not null,
        n bigint not null,
        body text not null,
        primary key (to_node, from_node, link, n));`,
  },
];

/** Which steps were applied. */
const APPLIED_TABLE = `create table if not exists tenon_migration (number int primary key, name text not null,
  checksum text not null, by_version text not null, at timestamptz not null default now())`;

/** Of all Tenons that share a database. */
const LOCK = 8_243_570_166;
const LOOK_AGAIN_MS = 100;

interface Applied {
  readonly [column: string]: unknown;
  readonly number: number;
  readonly checksum: string;
  readonly by_version: string;
}

/**
 * Brings the tables up to date. Rejects with `config.invalid` for a server that is too old, and for tables that a newer Tenon
 * made or somebody else changed; these are left alone.
 */
export async function migrate(
  world: Pick<World, "after" | "monotonicMs" | "log">,
  database: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  using connection = database.connection();
  await refuseOldServer(connection, database.shown);
  if ((await missing(connection, { shown: database.shown, migrations })).length === 0) return;
  await lock(world, connection, database.shown);
  try {
    const steps = await missing(connection, { shown: database.shown, migrations }); // another node may have been first
    for (const number of steps) {
      const step = migrations[number - 1];
      if (step) await apply(connection, number, step);
      world.log.info("database.migrated", { number, name: step?.name });
    }
  } finally {
    // The end of the connection frees it as well.
    await connection.query({ text: "select pg_advisory_unlock($1)", values: [LOCK] }).catch(() => undefined);
  }
}

async function refuseOldServer(connection: Connection, shown: string): Promise<void> {
  const [server] = await connection.query<{ number: number; version: string }>({
    text: "select current_setting('server_version_num')::int as number, current_setting('server_version') as version",
  });
  const { minServerVersion } = POSTGRES_LIMITS;
  if (server && server.number >= minServerVersion * 10_000) return;
  throw new TenonError("config.invalid", `PostgreSQL at ${shown} is version ${server?.version}, which is too old`, {
    hint: `Use PostgreSQL ${minServerVersion} or newer.`,
  });
}

async function lock(world: Pick<World, "after" | "monotonicMs">, connection: Connection, shown: string): Promise<void> {
  const endMs = world.monotonicMs() + POSTGRES_LIMITS.migrateMs;
  for (;;) {
    const [row] = await connection.query<{ held: boolean }>({
      text: "select pg_try_advisory_lock($1) as held",
      values: [LOCK],
    });
    if (row?.held) return;
    if (world.monotonicMs() >= endMs) {
      throw new TenonError("store.unavailable", `another node has been changing the tables at ${shown} for too long`, {
        hint: "Wait for it, or end it; what it has not finished is undone.",
      });
    }
    await sleep(world, LOOK_AGAIN_MS, new AbortController().signal);
  }
}

/**
 * One message to the database, which is one transaction: a connection that breaks between two of them is made again, and what
 * followed `begin` on the first one would be undone while the rest is kept.
 */
async function apply(connection: Connection, number: number, { name, sql }: Migration): Promise<void> {
  const values = [name, checksumOf(sql), VERSION].map((value) => pg.escapeLiteral(value)).join(", ");
  const applied = `insert into tenon_migration (number, name, checksum, by_version) values (${number}, ${values})`;
  await connection.query({ text: [APPLIED_TABLE, sql, applied].join(";\n") }, POSTGRES_LIMITS.statementMs);
}

/** The numbers of the steps that are still to be applied. */
async function missing(
  connection: Connection,
  { shown, migrations }: { readonly shown: string; readonly migrations: readonly Migration[] },
): Promise<readonly number[]> {
  const [there] = await connection.query<{ there: boolean }>({
    text: "select to_regclass('tenon_migration') is not null as there",
  });
  const text = "select number, checksum, by_version from tenon_migration order by number";
  const applied = there?.there ? await connection.query<Applied>({ text }) : [];
  for (const { number, checksum, by_version } of applied) {
    const known = migrations[number - 1];
    if (!known) {
      throw new TenonError("config.invalid", `the tables at ${shown} are of a newer Tenon, ${by_version}`, {
        hint: `Update this Tenon, ${VERSION}, to that version.`,
      });
    }
    if (checksumOf(known.sql) !== checksum) {
      throw new TenonError("config.invalid", `the tables at ${shown} were made by other steps than this Tenon's`, {
        hint: `Step ${number} was applied by Tenon ${by_version}: use that version, or another database.`,
      });
    }
  }
  const done = new Set(applied.map(({ number }) => number));
  return migrations.map((_, index) => index + 1).filter((number) => !done.has(number));
}

/** Spaces do not count. */
function checksumOf(sql: string): string {
  return createHash("sha256").update(sql.replaceAll(/\s+/gu, " ").trim()).digest("hex");
}
