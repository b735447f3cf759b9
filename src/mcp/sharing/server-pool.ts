// The servers of all sessions of one process: a session's own, shared ones where that is safe, and never more than fit.
import { Scope } from "../../base/async/scope.js";
import type { EndGrace } from "../../base/io/process.js";
import { defined } from "../../base/json/defined.js";
import { hashJson, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { ServerCache } from "../connection/cache.js";
import { McpConnection, type ServerConnection } from "../connection/connection.js";
import { type ConnectionOptions, serverLimits } from "../connection/options.js";
import { POOL_LIMITS } from "../limits.js";
import { clientCapabilities } from "../protocol/envelope.js";
import { launchFingerprint, type ServerSpec } from "../spec.js";
import { type Admission, type BudgetLimits, budgetLimits, ProcessBudget } from "./process-budget.js";
import { ShareableServer } from "./shareable-server.js";
import { type Lease, SharedServer } from "./shared-server.js";

export interface ServerPoolOptions {
  readonly world: World;
  /** Remembers across processes which servers ask something of their client. */
  readonly cache?: ServerCache;
}

/** What the user's configuration says about all servers together; the defaults are in `POOL_LIMITS`. */
export interface PoolSettings extends Partial<BudgetLimits> {
  /** How long a shared server stays that nobody uses. */
  readonly idleMs?: number;
}

export interface PoolRequest {
  readonly spec: ServerSpec;
  readonly options: ConnectionOptions;
  /** Whether other sessions may use the same server, should they want exactly the same. Unless given, none may. */
  readonly mayShare?: boolean;
  readonly settings?: PoolSettings;
}

export class ServerPool implements AsyncDisposable {
  readonly #world: World;
  readonly #cache: ServerCache | undefined;
  readonly #scope: Scope;
  readonly #budget: ProcessBudget;
  readonly #shared = new Map<string, SharedServer>();
  /** By launch fingerprint, whether the server is known to ask something of its client. */
  readonly #asks = new Map<string, Promise<boolean>>();

  constructor({ world, cache }: ServerPoolOptions) {
    this.#world = world;
    this.#cache = cache;
    this.#scope = new Scope(world.log);
    this.#budget = new ProcessBudget(world);
  }

  /** Nothing is started before `start` or `startWhenUsed`. The session that opens a server closes it. */
  open(request: PoolRequest): ServerConnection {
    const { spec, options, mayShare = false } = request;
    // A way to a log-in leads to the person of one session.
    if (!mayShare || spec.kind === "acp" || options.oauth?.way !== undefined) return this.#own(request);
    // Looked up while the session is still being opened: then the start need not wait for the disk.
    this.#scope.run(`recall ${spec.name}`, async () => {
      await this.#isQuiet(spec);
    });
    return new ShareableServer({
      world: this.#world,
      spec,
      callsAtOnce: serverLimits(options.limits).callsAtOnce,
      mayShare: () => this.#isQuiet(spec),
      own: () => this.#own(request),
      lease: (onEvicted) => this.#lease(request, onEvicted),
    });
  }

  /** Ends every shared server, also those in use. A server of one session is closed by its session. */
  async close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    const ended = Array.from(this.#shared.values(), (server) => server.end(grace));
    await Promise.all(ended);
    await this.#scope.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #own({ spec, options, settings }: PoolRequest): McpConnection {
    const { session } = options;
    const isOf = (other: string) => other === session;
    return new McpConnection(spec, { ...options, admit: this.#admitting({ session, isOf }, settings) });
  }

  #lease(request: PoolRequest, onEvicted: (lease: Lease) => void): Lease {
    const { spec, options } = request;
    const key = sharingKey(spec, options);
    const shared = this.#shared.get(key) ?? this.#share(key, request);
    const { peer = {}, session } = options;
    return shared.lease({
      world: this.#world,
      peer,
      ...defined({ session }),
      onEvicted,
    });
  }

  #share(key: string, { spec, options, settings }: PoolRequest): SharedServer {
    const { session } = options;
    const made: { server?: SharedServer } = {};
    const isOf = (one: string) => made.server?.isOf(one) ?? false;
    const about = {
      world: this.#world,
      spec,
      idleMs: settings?.idleMs ?? POOL_LIMITS.idleMs,
      scope: this.#scope,
      onAsks: () => this.#remember(spec),
      onRetired: (retired: SharedServer) => {
        if (this.#shared.get(key) === retired) this.#shared.delete(key);
      },
    };
    const server = new SharedServer(about, { ...options, admit: this.#admitting({ session, isOf }, settings) });
    made.server = server;
    this.#shared.set(key, server);
    return server;
  }

  #admitting(
    whose: Pick<Admission, "session" | "isOf">,
    settings: PoolSettings | undefined,
  ): NonNullable<ConnectionOptions["admit"]> {
    const limits = budgetLimits(this.#world, settings);
    return (server, queue) => this.#budget.admit({ server, limits, ...whose }, queue);
  }

  /** Not known to ask anything. What is on the disk is read once. */
  async #isQuiet(spec: ServerSpec): Promise<boolean> {
    const fingerprint = launchFingerprint(spec);
    const known = this.#asks.get(fingerprint) ?? this.#recall(fingerprint);
    this.#asks.set(fingerprint, known);
    await known;
    return !(await this.#asks.get(fingerprint)); // it may have asked while the disk was read
  }

  /** A cache that fails is no cache. */
  async #recall(fingerprint: string): Promise<boolean> {
    return (await this.#cache?.readAsks?.(fingerprint).catch(() => false)) ?? false;
  }

  #remember(spec: ServerSpec): void {
    const fingerprint = launchFingerprint(spec);
    this.#asks.set(fingerprint, Promise.resolve(true));
    this.#scope.run(`remember that ${spec.name} asks`, async () => {
      await this.#cache?.writeAsks?.(fingerprint);
    });
  }
}

/** Options that belong to the process or to one session. All others are part of the key, whatever they are. */
const APART = {
  world: "one for all sessions of a pool",
  cache: "one for all sessions of a pool",
  session: "only for the trace: a shared connection has none",
  cwd: "counts for servers that run here",
  peer: "counts by what it declares, and by its roots",
  channel: "only for servers of the client's own, which are never shared",
  admit: "the pool's own",
  onStderr: "the same record for all sessions: the first one's serves them",
} as const satisfies Partial<Record<keyof ConnectionOptions, string>>;

/**
 * Servers here are shared only within the same directories: they run in one of them, and all are named to them. A server elsewhere
 * has nothing of them unless it asks, and one that asks is not shared.
 */
export function sharingKey(spec: ServerSpec, options: ConnectionOptions): string {
  const { cwd, peer } = options;
  const settings = Object.entries(options).filter(([name]) => !Object.hasOwn(APART, name));
  return hashJson({
    spec: plain(spec),
    declared: clientCapabilities(peer),
    places: spec.kind === "stdio" ? plain({ cwd, roots: peer?.roots?.() ?? [] }) : null,
    settings: Object.fromEntries(settings.map(([name, value]) => [name, plain(value)])),
  });
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

/** Data by what it says; anything that is more than data by which one it is, so that two can never be taken for one. */
function plain(value: unknown): JsonValue {
  if (value === undefined) return null;
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (Array.isArray(value)) return value.map((item) => plain(item));
  if (typeof value === "object" && isData(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [`.${name}`, plain(item)]));
  }
  if (typeof value === "object" || typeof value === "function") return { identity: identityOf(value) };
  return { identity: ++lastIdentity }; // a symbol or the like: never the same again
}

function isData(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function identityOf(value: object): number {
  const known = identities.get(value);
  if (known !== undefined) return known;
  lastIdentity += 1;
  identities.set(value, lastIdentity);
  return lastIdentity;
}
