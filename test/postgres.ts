// A PostgreSQL of its own for tests, benchmarks and chaos: in a folder of its own, by its programs from the system's package.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { postgresFolder } from "../scripts/lib/system-packages.js";

export interface PostgresOptions {
  /** Besides its socket. Everybody who reaches it may do everything. */
  readonly listen?: { readonly address: string; readonly port: number };
  /** What is committed survives the machine; costs speed. */
  readonly fsync?: boolean;
  /** For connections over TCP. */
  readonly tls?: { readonly key: string; readonly certificate: string };
  /** Of its configuration file, such as `{ log_statement: "all" }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface Postgres extends AsyncDisposable {
  /** Of its first database, `postgres`, by the socket; its user may do everything. */
  readonly url: string;
  /** The same by TCP, where it listens. */
  readonly tcpUrl: string | undefined;
  /** The folder with its socket. */
  readonly socketDir: string;
  /** An empty database; the address of it. */
  database(): Promise<string>;
  query(text: string, url?: string): Promise<readonly Record<string, unknown>[]>;
  /** `immediate`: as after a crash. Resolves once it answers again. */
  restart(mode: "fast" | "immediate"): Promise<void>;
  /** Until `start` it is away. */
  halt(mode: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
  /** Nothing is left of it. */
  stop(): Promise<void>;
}

/** A user of this name needs its password, also at the socket; everybody else needs none. */
export const GUARDED_USER = "guarded";

/** What this machine has not got for it; undefined: `startPostgres` works. */
export function lacksPostgres(): string | undefined {
  return postgresFolder() === undefined ? "PostgreSQL (Debian's package postgresql)" : undefined;
}

/** PostgreSQL does not run as root. */
function userOfPostgres(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    try {
      const idOf = (flag: string) => Number(execFileSync("id", [flag, name], { stdio: ["ignore", "pipe", "ignore"] }));
      return { uid: idOf("-u"), gid: idOf("-g") };
    } catch {
      // There is no such user.
    }
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user postgres nor nobody");
}

/** Ends it, and removes what is left of it, when the process that started it is gone, however that came. */
const GUARD = `read _; pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null &&
  while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done; rm -rf "$1"`;

const PORT = 5432;

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const programs = postgresFolder();
  if (programs === undefined) throw new Error(`there is no ${lacksPostgres()}`);
  const user = userOfPostgres();
  const folder = mkdtempSync(join(tmpdir(), "tenon-pg-"));
  const guard = spawn("sh", ["-c", GUARD, "sh", folder], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const env = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };
  const given = { ...user, cwd: folder, env };
  const initArgs = ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"];
  execFileSync(join(programs, "initdb"), initArgs, { ...given, stdio: "pipe" });
  writeFileSync(
    join(data, "pg_hba.conf"),
    `local all ${GUARDED_USER} scram-sha-256\nlocal all all trust\nhost all all all trust\n`,
  );
  if (options.tls) {
    writeFileSync(join(data, "server.crt"), options.tls.certificate);
    writeFileSync(join(data, "server.key"), options.tls.key, { mode: 0o600 });
    if (user.uid !== undefined && user.gid !== undefined) chownSync(join(data, "server.key"), user.uid, user.gid);
  }
  const port = options.listen?.port ?? PORT;
  const settings: Readonly<Record<string, string>> = {
    listen_addresses: options.listen?.address ?? "",
    port: String(port),
    unix_socket_directories: folder,
    max_connections: "200",
    shared_buffers: "64MB",
    fsync: options.fsync ? "on" : "off",
    autovacuum: "off",
    ssl: options.tls ? "on" : "off",
    ...options.settings,
  };
  const args = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
  const log = join(folder, "log");
  // Not a child of ours: what it starts for itself is no leak of the test that runs.
  const control = async (...words: readonly string[]) => {
    const child = spawn(join(programs, "pg_ctl"), ["-D", data, "-w", "-s", ...words], { ...given, stdio: "ignore" });
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`pg_ctl ${words[0]} failed: ${readFileSync(log, "utf8").slice(-2_000)}`);
  };
  const start = () => control("start", "-l", log, "-o", args.join(" "));
  const halt = async (mode: "fast" | "immediate") => {
    if (existsSync(join(data, "postmaster.pid"))) await control("stop", "-m", mode);
  };
  const stop = async () => {
    await halt("immediate");
    if (guard.exitCode !== null) return;
    const ended = once(guard, "exit");
    guard.stdin.end();
    await ended;
  };
  const urlOf = (database: string) =>
    `postgres://postgres@/${database}?host=${encodeURIComponent(folder)}&port=${port}`;
  const url = urlOf("postgres");
  const query = async (text: string, at = url) => {
    const client = new Client({ connectionString: at });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  let databases = 0;
  await start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    url,
    tcpUrl: options.listen && `postgres://postgres@${options.listen.address}:${port}/postgres`,
    socketDir: folder,
    database: async () => {
      databases += 1;
      await query(`create database t${databases}`);
      return urlOf(`t${databases}`);
    },
    query,
    restart: async (mode) => {
      await halt(mode);
      await start();
    },
    halt,
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
