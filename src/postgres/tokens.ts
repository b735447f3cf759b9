// Tokens in PostgreSQL: hashes only, changed under one lock, looked at twice a second by every node.
import { handled } from "../base/async/scope.js";
import { defined } from "../base/json/defined.js";
import type { Timer, Watch, World } from "../base/ports/world.js";
import { type KeptToken, SCOPES, type TokenStorage } from "../gateway/index.js";
import type { Database, Row } from "./database.js";
import { POSTGRES_LIMITS } from "./limits.js";
import { untilUnchanged } from "./settings.js";

/** The setting with the number of changes so far. */
const CHANGES = "token-changes";

export class PostgresTokens implements TokenStorage {
  readonly place: string;
  readonly isShared = true;
  readonly #database: Database;
  readonly #world: Pick<World, "after" | "log">;
  /** The number of changes that the one who watches has read. */
  #seen = "";

  constructor(database: Database, world: Pick<World, "after" | "log">) {
    this.#database = database;
    this.#world = world;
    this.place = `the tokens in ${database.shown}`;
  }

  async read(): Promise<readonly KeptToken[]> {
    return (await this.#read()).tokens;
  }

  async readWatched(): Promise<readonly KeptToken[]> {
    const { changes, tokens } = await this.#read();
    this.#seen = changes;
    return tokens;
  }

  async change(edit: (tokens: readonly KeptToken[]) => readonly KeptToken[]): Promise<void> {
    await untilUnchanged("the tokens", async () => {
      const { changes, tokens } = await this.#read();
      const after = edit(tokens);
      if (after === tokens) return { result: undefined };
      const left = new Set(after.map(({ id }) => id));
      const gone = tokens.filter(({ id }) => !left.has(id)).map(({ id }) => id);
      const known = new Set(tokens.map((token) => JSON.stringify(token)));
      const written = after.filter((token) => !known.has(JSON.stringify(token))).map(rowOf);
      const done = await this.#database.query(CHANGE, [CHANGES, changes, gone, JSON.stringify(written)]);
      return done.length > 0 ? { result: undefined } : undefined;
    });
  }

  watch(onChange: () => void): Watch {
    let timer: Timer | undefined;
    let isClosed = false;
    const look = async () => {
      // A database that is away is reported by the lease; the tokens stay as they are known.
      const changes = await this.#changes().catch(() => this.#seen);
      if (isClosed) return;
      if (changes !== this.#seen) onChange();
      next();
    };
    const next = () => {
      timer = this.#world.after(POSTGRES_LIMITS.tokenPollMs, () => handled(look(), this.#world.log, "look at tokens"));
    };
    next();
    return {
      close: () => {
        isClosed = true;
        timer?.clear();
      },
    };
  }

  async #changes(): Promise<string> {
    const [row] = await this.#database.query("select value from tenon_setting where name = $1", [CHANGES]);
    return String(row?.["value"]);
  }

  async #read(): Promise<{ readonly changes: string; readonly tokens: readonly KeptToken[] }> {
    const rows = await this.#database.query(READ, [CHANGES]);
    const tokens = rows.filter(({ id }) => typeof id === "string").map(tokenOf);
    return { changes: String(rows[0]?.["changes"]), tokens };
  }
}

/** As numbers: how a time is written is a setting of the database. */
const TIMES = ["created_at", "expires_at", "last_used_at", "revoked_at"]
  .map((name) => `(extract(epoch from t.${name}) * 1000)::bigint as ${name}`)
  .join(", ");
/** Together: tokens are never newer than the number that was read with them. */
const READ = `select kept.value as changes, t.id, t.hash, t.name, t.account, t.scopes, t.is_device, t.parent, ${TIMES}
  from tenon_setting kept left join tenon_token t on true where kept.name = $1 order by t.created_at, t.id`;

const COLUMNS = "id, hash, name, account, scopes, is_device, parent, created_at, expires_at, last_used_at, revoked_at";

/** All or nothing, and nothing where they changed since they were read. */
const CHANGE = `with held as (
    update tenon_setting set value = (value::bigint + 1)::text where name = $1 and value = $2 returning 1 as done),
  gone as (delete from tenon_token where id = any($3::text[]) and exists (select from held)),
  written as (
    insert into tenon_token (${COLUMNS})
    select ${COLUMNS} from jsonb_populate_recordset(null::tenon_token, $4::jsonb) where exists (select from held)
    on conflict (id) do update set
      expires_at = excluded.expires_at, last_used_at = excluded.last_used_at, revoked_at = excluded.revoked_at)
  select done from held`;

function tokenOf(row: Row): KeptToken {
  const scopes: unknown = row["scopes"];
  return {
    ...{ id: String(row["id"]), hash: String(row["hash"]) },
    ...{ name: String(row["name"]), account: String(row["account"]) },
    scopes: SCOPES.filter((scope) => Array.isArray(scopes) && scopes.includes(scope)),
    createdAt: timeOf(row["created_at"]) ?? 0,
    ...defined({
      isDevice: row["is_device"] === true ? true : undefined,
      parent: typeof row["parent"] === "string" ? row["parent"] : undefined,
      expiresAt: timeOf(row["expires_at"]),
      lastUsedAt: timeOf(row["last_used_at"]),
      revokedAt: timeOf(row["revoked_at"]),
    }),
  };
}

function rowOf({ isDevice, createdAt, expiresAt, lastUsedAt, revokedAt, ...rest }: KeptToken): object {
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  const times = { created_at: time(createdAt), expires_at: time(expiresAt), last_used_at: time(lastUsedAt) };
  return { ...rest, is_device: isDevice === true, ...times, revoked_at: time(revokedAt) };
}

function timeOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
