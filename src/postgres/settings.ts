// Small things that all nodes share, each one text: changed by comparing, so that no change is lost.
import { TenonError } from "../base/errors.js";
import type { World } from "../base/ports/world.js";
import { type CodeStorage, readCodeState } from "../gateway/index.js";
import type { Database } from "./database.js";
import { POSTGRES_LIMITS } from "./limits.js";

type Queried = Pick<Database, "query">;

/** The same at every node: the first to ask makes it. */
export async function clientSecret(database: Queried, world: Pick<World, "randomBytes">): Promise<string> {
  const fresh = Buffer.from(world.randomBytes(32)).toString("base64url");
  await database.query("insert into tenon_setting (name, value) values ('client-secret', $1) on conflict do nothing", [
    fresh,
  ]);
  const [row] = await database.query("select value from tenon_setting where name = 'client-secret'");
  return String(row?.["value"]);
}

const READ = `select coalesce((select value from tenon_setting where name = $1), '') as value,
  (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms`;
const WRITE = `insert into tenon_setting as kept (name, value) values ($1, $2)
  on conflict (name) do update set value = excluded.value where kept.value = $3 returning 1 as written`;

export function codesInDatabase(database: Queried): CodeStorage {
  return {
    change: async (edit) =>
      await untilUnchanged("the pairing codes", async () => {
        const [row] = await database.query<{ value: string; now_ms: number }>(READ, ["pairing-codes"]);
        const { value: before = "", now_ms: nowMs = 0 } = row ?? {};
        const { state, result } = edit(readCodeState(before), nowMs);
        const written = await database.query(WRITE, ["pairing-codes", JSON.stringify(state), before]);
        return written.length > 0 ? { result } : undefined;
      }),
  };
}

/** Another node may change it between the reading and the writing: then it is read again. */
export async function untilUnchanged<T>(
  what: string,
  attempt: () => Promise<{ readonly result: T } | undefined>,
): Promise<T> {
  for (let count = 0; count < POSTGRES_LIMITS.changeTries; count++) {
    const done = await attempt();
    if (done) return done.result;
  }
  throw new TenonError("store.unavailable", `${what} are being changed by too many at once`, {
    hint: "Try again in a moment.",
  });
}
