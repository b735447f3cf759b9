// What gateways that share a PostgreSQL keep there.
import type { World } from "../base/ports/world.js";
import { Tokens } from "../gateway/index.js";
import { Database } from "./database.js";
import { migrate } from "./migrations.js";
import { PostgresTokens } from "./tokens.js";

interface StoreAddress {
  readonly world: World;
  readonly url: string;
}

/** Of the database, without being one of the nodes. Rejects with `config.invalid` or `store.unavailable`. */
export async function openPostgresTokens(
  address: StoreAddress,
): Promise<{ readonly tokens: Tokens } & AsyncDisposable> {
  const database = await openDatabase(address, "tenon gateway token");
  const tokens = new Tokens(address.world, new PostgresTokens(database, address.world));
  return { tokens, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
}

/** With its tables as this Tenon needs them. */
async function openDatabase({ world, url }: StoreAddress, applicationName: string): Promise<Database> {
  const database = new Database({ world, url, applicationName });
  try {
    await migrate(world, database);
    return database;
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}
