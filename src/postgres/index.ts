// The public face of `postgres`: only `cli` loads it, when a gateway's store is a database.

export { Database } from "./database.js";
export { openPostgresStore, openPostgresTokens, type PostgresStoreOptions } from "./gateway-store.js";
export { migrate } from "./migrations.js";
