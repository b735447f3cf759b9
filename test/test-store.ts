// Where gateways of tests keep what outlives them: in files, or with TENON_TEST_STORE=postgres in a database for each home.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { postgresFolder } from "../scripts/lib/system-packages.js";
import type { World } from "../src/base/ports/world.js";
import { type GatewayStore, type Tokens, tokensInFile } from "../src/gateway/index.js";

const VARIABLE = "TENON_TEST_STORE";

/** Vitest's global setup: one PostgreSQL for all files, whose address takes the place of the word. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[VARIABLE] !== "postgres") return undefined;
  const { startPostgres } = await import("./postgres.js");
  const postgres = await startPostgres();
  process.env[VARIABLE] = postgres.url;
  return () => postgres.stop();
}

/** Gateways keep everything in PostgreSQL. */
export const isOnPostgres: boolean = process.env[VARIABLE] !== undefined;

/** For scenarios about files: of a gateway that a translator starts itself, or of a plain `tenon acp`. */
export const ON_FILES_ONLY: { readonly lacks?: string } = isOnPostgres ? { lacks: "a gateway on files" } : {};

const databases = new Map<string, string>();

/** The address of the database of this home, which is made now; undefined: files. */
function databaseOf(home: string): string | undefined {
  const url = process.env[VARIABLE];
  if (url === undefined) return undefined;
  const known = databases.get(home);
  if (known !== undefined) return known;
  const name = `test_${process.pid}_${databases.size}`;
  execFileSync(join(postgresFolder() ?? "", "psql"), [url, "-qc", `create database ${name}`], { stdio: "pipe" });
  const made = url.replace("/postgres?", `/${name}?`);
  databases.set(home, made);
  return made;
}

/** Of programs of this home: `tenon gateway run` then keeps everything there. */
export function storeVariables(home: string): Readonly<Record<string, string>> {
  const url = databaseOf(home);
  return url === undefined ? {} : { TENON_GATEWAY_STORE: url };
}

/** Everything that is in the database of this home, as text; nothing where it has files. */
export function textInDatabase(home: string): string {
  const url = databaseOf(home);
  return url === undefined ? "" : execFileSync(join(postgresFolder() ?? "", "pg_dump"), [url], { encoding: "utf8" });
}

/** For a gateway in this process; undefined: files. */
export async function openTestStore(world: World, home: string): Promise<GatewayStore | undefined> {
  const url = databaseOf(home);
  if (url === undefined) return undefined;
  const { openPostgresStore } = await import("../src/postgres/index.js");
  return await openPostgresStore({ world, url, node: { name: "here", roots: [] } });
}

/** As another process changes the tokens of the gateway of that home. */
export async function withTokens<T>(world: World, home: string, change: (tokens: Tokens) => Promise<T>): Promise<T> {
  const url = databaseOf(home);
  if (url === undefined) return await change(tokensInFile(world, join(home, "state")));
  const { openPostgresTokens } = await import("../src/postgres/index.js");
  await using kept = await openPostgresTokens({ world, url });
  return await change(kept.tokens);
}
