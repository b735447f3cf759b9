// What gateways that share a PostgreSQL keep there.
import { Scope } from "../base/async/scope.js";
import type { World } from "../base/ports/world.js";
import { type AccountStore, type GatewayStore, type Nodes, PairingCodes, Tokens } from "../gateway/index.js";
import type { OwnedSession } from "../session/index.js";
import { AppendQueue } from "./append-queue.js";
import { Database } from "./database.js";
import { PostgresDecisions } from "./decisions.js";
import { PostgresInbox } from "./inbox.js";
import { PostgresResults } from "./kept-results.js";
import { Lease } from "./lease.js";
import { POSTGRES_LIMITS } from "./limits.js";
import { migrate } from "./migrations.js";
import { PostgresNodes } from "./nodes.js";
import { RecordReads } from "./record-reads.js";
import { PostgresSessionStore, TakenSessions } from "./session-store.js";
import { clientSecret, codesInDatabase } from "./settings.js";
import { PostgresTokens } from "./tokens.js";

interface StoreAddress {
  readonly world: World;
  readonly url: string;
}

export interface PostgresStoreOptions extends StoreAddress {
  /** `roots`: below which its sessions may be; all unless given. */
  readonly node: { readonly name: string; readonly roots: readonly string[] };
  readonly leaseMs?: number;
}

/** Registers this node. Rejects with `config.invalid` or `store.unavailable`, and leaves nothing open then. */
export async function openPostgresStore(
  options: PostgresStoreOptions,
): Promise<GatewayStore & { readonly nodes: Nodes }> {
  const { world, node, leaseMs = POSTGRES_LIMITS.leaseMs } = options;
  const scope = new Scope(world.log);
  try {
    const database = scope.own(await openDatabase(options, `tenon gateway ${node.name}`));
    const lease = scope.own(new Lease({ world, database, node, leaseMs }));
    const inbox = scope.own(new PostgresInbox({ world, database, self: lease.self }));
    const onReleased = (session: string) => inbox.hint({ session });
    const queue = scope.own(new AppendQueue({ world, database, lease, onReleased }));
    await lease.start();
    const results = (owned: OwnedSession, account: string) => new PostgresResults({ world, database, owned, account });
    const reads = new RecordReads({ world, database });
    const taken = new TakenSessions();
    const accounts = new Map<string, AccountStore>();
    return {
      account: (name) => {
        const known = accounts.get(name) ?? {
          sessions: new PostgresSessionStore(name, { world, database, lease, queue, reads, taken, results }),
          decisions: new PostgresDecisions(database, world, name),
        };
        accounts.set(name, known);
        return known;
      },
      clientSecret: () => clientSecret(database, world),
      tokens: new Tokens(world, new PostgresTokens(database, world)),
      codes: new PairingCodes(world, codesInDatabase(database)),
      problem: () => database.problem.value,
      nodes: new PostgresNodes({ database, lease, queue, inbox, taken, roots: node.roots }),
      [Symbol.asyncDispose]: () => scope.close(),
    };
  } catch (error) {
    await scope.close();
    throw error;
  }
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
