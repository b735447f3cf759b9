// The servers of one session: connected in parallel, each on its own, replaced when what is wanted changes, gone with it.
import { pathToFileURL } from "node:url";
import { hashJson } from "../base/hash.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import { Scope } from "../base/scope.js";
import type { World } from "../base/world.js";
import {
  type ConnectionOptions,
  McpConnection,
  type Peer,
  poolKey,
  type ServerCache,
  type ServerSpec,
} from "../mcp/index.js";
import { mcpSource, type ToolOrigin, type ToolSource } from "../tools/index.js";
import type { ServerStatus } from "./event.js";
import { statusOf } from "./server-status.js";

/** A server entry that cannot be used, with what is wrong with it. */
export interface RejectedServer {
  readonly name: string;
  readonly reason: string;
  readonly origin?: ToolOrigin;
  readonly hint?: string;
}

/** A server the session shall have, and how its connection is to behave. */
export interface WantedServer {
  readonly spec: ServerSpec;
  readonly origin: ToolOrigin;
  readonly settings?: Pick<ConnectionOptions, "limits" | "tools" | "allowHosts" | "urlSource">;
  /** By the server's own name of the tool; all are allowed unless given. */
  readonly isToolAllowed?: (tool: string) => boolean;
  /** Equal for equal filters. */
  readonly filterKey?: string;
  /** The first turn waits longer for it. */
  readonly isRequired?: boolean;
}

export interface SessionServersOptions {
  readonly world: World;
  readonly cwd: string;
  readonly client: { readonly name: string; readonly version: string };
  readonly cache?: ServerCache;
  onStatus(status: ServerStatus): void;
}

interface Running {
  readonly connection: McpConnection;
  readonly source: ToolSource;
  readonly origin: ToolOrigin;
  readonly isRequired: boolean;
  /** Covers everything that decides what is run and how: a change of it means another connection. */
  readonly key: string;
}

/** The last start asked for, per World: sessions opened in a row share one event loop, and so one queue. */
const lastStarts = new WeakMap<World, Promise<void>>();

export class SessionServers {
  readonly #options: SessionServersOptions;
  readonly #world: World;
  readonly #peer: Peer;
  readonly #scope: Scope;
  #running: readonly Running[] = [];
  #rejected: readonly ServerStatus[] = [];

  constructor(options: SessionServersOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#scope = new Scope(options.world.log);
    this.#peer = {
      roots: () => [{ uri: pathToFileURL(options.cwd).href, name: "session" }],
      log: ({ level, logger, text }) => options.world.log.debug("server.log", { level, logger, text }),
    };
  }

  /** Makes the set what is wanted: what is unchanged stays connected, what is gone is ended, what is new is started. */
  replace(wanted: readonly WantedServer[], rejected: readonly RejectedServer[]): void {
    const kept = new Map(this.#running.map((one) => [one.key, one]));
    const fresh: Running[] = [];
    this.#running = wanted.map((server) => {
      const key = keyOf(server, this.#options.cwd);
      const same = kept.get(key);
      kept.delete(key);
      if (same) return same;
      const opened = this.#open(server, key);
      fresh.push(opened);
      return opened;
    });
    for (const { connection } of kept.values()) {
      this.#scope.run(`end ${connection.spec.name}`, () => connection.close());
    }
    this.#reject(rejected);
    for (const { connection } of fresh) startInTurn(connection, this.#world);
  }

  get sources(): readonly ToolSource[] {
    return this.#running.map(({ source }) => source);
  }

  get statuses(): readonly ServerStatus[] {
    return [...this.#running.map(({ connection, origin }) => statusOf(connection, origin)), ...this.#rejected];
  }

  /** Waits until no server is connecting any more, but never longer than the bound: a hung one costs that much, once. */
  async settled(signal: AbortSignal): Promise<void> {
    using deadline = this.#world.deadline(LIMITS.firstPromptWaitMs, signal);
    using patience = this.#world.deadline(LIMITS.requiredWaitMs, signal);
    const settling = this.#running.map(({ connection, isRequired }) =>
      connection.state
        .until(
          (state) => state.kind !== "connecting" && state.kind !== "idle",
          isRequired ? patience.signal : deadline.signal,
        )
        .catch(() => undefined),
    );
    await Promise.all(settling);
  }

  async close(grace: EndGrace): Promise<void> {
    await Promise.all(this.#running.map(({ connection }) => connection.close(grace)));
    await this.#scope.close();
  }

  #open({ spec, origin, settings = {}, isToolAllowed, isRequired = false }: WantedServer, key: string): Running {
    const connection = new McpConnection(spec, { ...this.#options, ...settings, peer: this.#peer });
    let last: ServerStatus["state"] = "connecting";
    connection.state.subscribe(() => {
      const status = statusOf(connection, origin);
      if (status.state !== last) this.#options.onStatus(status); // idle and closing are no news to people
      last = status.state;
    });
    return { connection, source: mcpSource(connection, origin, isToolAllowed), origin, isRequired, key };
  }

  /** Told once: an entry that stays wrong is no news. */
  #reject(rejected: readonly RejectedServer[]): void {
    const known = new Set(this.#rejected.map(({ name, error }) => `${name}\0${error}`));
    this.#rejected = rejected.map(({ name, reason, origin = "client", hint }) => ({
      name,
      origin,
      state: "failed",
      toolCount: 0,
      error: reason,
      ...(hint === undefined ? {} : { hint }),
    }));
    for (const status of this.#rejected) {
      if (!known.has(`${status.name}\0${status.error}`)) this.#options.onStatus(status);
    }
  }
}

/** One spawn per turn of the event loop, whichever session it is for: each blocks it, and answers are waiting to go out. */
function startInTurn(connection: McpConnection, world: World): void {
  const before = lastStarts.get(world) ?? Promise.resolve();
  const started = before.then(async () => {
    await new Promise<void>((resolve) => {
      world.after(0, resolve);
    });
    connection.start();
  });
  lastStarts.set(world, started);
}

function keyOf({ spec, origin, settings = {}, filterKey = "" }: WantedServer, cwd: string): string {
  const { limits = {}, tools = {}, allowHosts = [] } = settings;
  const plainTools = Object.fromEntries(Object.entries(tools).map(([name, one]) => [name, { ...one }]));
  return hashJson({
    name: spec.name,
    origin,
    pool: poolKey(spec, cwd),
    limits: { ...limits },
    tools: plainTools,
    filterKey,
    allowHosts,
  });
}
