// The servers of one session: connected in parallel, each on its own, replaced when what is wanted changes, gone with it.
import { hashJson } from "../base/hash.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import { Scope } from "../base/scope.js";
import type { World } from "../base/world.js";
import {
  type ConnectionOptions,
  type McpChannel,
  McpConnection,
  type Peer,
  poolKey,
  type ServerCache,
  type ServerSpec,
} from "../mcp/index.js";
import { mcpSource, type SourceSettings, type ToolOrigin, type ToolSource } from "../tools/index.js";
import type { NoticeLevel, ServerStatus } from "./event.js";
import { ServerPeer } from "./peer.js";
import { RunningCalls } from "./peer-calls.js";
import type { SessionPorts } from "./ports.js";
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
  /** How the catalog is to treat its tools: filters, other names, include modes. A change of it needs no new connection. */
  readonly catalog?: SourceSettings;
  /** The user's word that what the server says about its tools is true. */
  readonly trustsAnnotations?: boolean;
  /** The project's real path, for a project's server. */
  readonly project?: string;
  /** The first turn waits longer for it. */
  readonly isRequired?: boolean;
  /** Started when one of its tools is first used, if they are remembered; like any other if not. */
  readonly isLazy?: boolean;
}

export interface SessionServersOptions {
  readonly world: World;
  readonly cwd: string;
  /** Roots of the servers beside it. */
  readonly additionalDirectories?: readonly string[];
  readonly client: { readonly name: string; readonly version: string };
  readonly cache?: ServerCache;
  /** The session's id, for the trace. */
  readonly session?: string;
  /** Who is attached now, and answers what servers ask. */
  ports?(): SessionPorts | undefined;
  /** By server, how it may use the model. */
  readonly sampling?: (server: string) => { readonly sample: NonNullable<Peer["sample"]> };
  onStatus(status: ServerStatus): void;
  onNotice?(level: NoticeLevel, text: string): void;
}

/** A server of the session, whatever state it is in. */
export interface OpenServer extends Pick<WantedServer, "catalog" | "trustsAnnotations" | "project"> {
  readonly connection: McpConnection;
  readonly source: ToolSource;
}

interface Running extends OpenServer {
  readonly isRequired: boolean;
  readonly isLazy: boolean;
  readonly status: () => ServerStatus;
  /** Covers everything that decides what is run and how: a change of it means another connection. */
  readonly key: string;
}

/** The last start asked for, per World: sessions opened in a row share one event loop, and so one queue. */
const lastStarts = new WeakMap<World, Promise<void>>();

export class SessionServers {
  readonly #options: SessionServersOptions;
  readonly #world: World;
  readonly #scope: Scope;
  /** Whoever is attached when a message goes out. */
  readonly #channel: McpChannel = {
    request: async (request) => {
      const channel = this.#options.ports?.()?.mcpChannel;
      if (channel) return await channel.request(request);
      return { kind: "failed", message: "no client is attached that has such servers" };
    },
  };
  #running: readonly Running[] = [];
  #rejected: readonly ServerStatus[] = [];

  constructor(options: SessionServersOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#scope = new Scope(options.world.log);
  }

  /** Makes the set what is wanted: what is unchanged stays connected, what is gone is ended, what is new is started. */
  replace(wanted: readonly WantedServer[], rejected: readonly RejectedServer[]): void {
    const kept = new Map(this.#running.map((one) => [one.key, one]));
    const fresh: Running[] = [];
    this.#running = wanted.map((server) => {
      const key = keyOf(server, this.#options.cwd);
      const same = kept.get(key);
      kept.delete(key);
      if (same) return { ...same, ...treatment(server) };
      const opened = this.#open(server, key);
      fresh.push(opened);
      return opened;
    });
    for (const { connection } of kept.values()) {
      this.#scope.run(`end ${connection.spec.name}`, () => connection.close());
    }
    this.#reject(rejected);
    for (const opened of fresh) startInTurn(opened, this.#world);
  }

  get open(): readonly OpenServer[] {
    return this.#running;
  }

  get statuses(): readonly ServerStatus[] {
    return [...this.#running.map(({ status }) => status()), ...this.#rejected];
  }

  /** Waits until no server is connecting any more (lazy ones that rest are not), but never longer than the bound: a hung one costs that much, once. */
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

  #open(wanted: WantedServer, key: string): Running {
    const { spec, origin, settings = {}, isRequired = false, isLazy = false } = wanted;
    const calls = new RunningCalls(this.#world);
    const peer = this.#peerOf(spec.name, calls);
    const connection = new McpConnection(spec, { ...this.#options, ...settings, peer, channel: this.#channel });
    let hasRested = false;
    const status = (): ServerStatus => {
      const current = statusOf(connection, origin);
      return isLazy && !hasRested && current.state === "ready" ? { ...current, note: NOT_LAZY_YET } : current;
    };
    let last: ServerStatus["state"] = "connecting";
    connection.state.subscribe(({ kind }) => {
      hasRested ||= kind === "resting";
      const current = status();
      if (current.state !== last) this.#options.onStatus(current); // not started and closing are no news to people
      last = current.state;
    });
    const source = calls.follow(mcpSource(connection, origin));
    return { connection, source, isRequired, isLazy, status, key, ...treatment(wanted) };
  }

  #peerOf(server: string, calls: RunningCalls): Peer {
    const { world, cwd, additionalDirectories = [], sampling } = this.#options;
    return new ServerPeer({
      world,
      server,
      directories: [cwd, ...additionalDirectories],
      calls,
      ports: () => this.#options.ports?.(),
      ...sampling?.(server),
      onNotice: (level, text) => this.#options.onNotice?.(level, text),
    });
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

const NOT_LAZY_YET = "It is lazy, but was started: its tools were not known. From now on the first use starts it.";

/** One spawn per turn of the event loop, whichever session it is for: each blocks it, and answers are waiting to go out. */
function startInTurn({ connection, isLazy }: Running, world: World): void {
  const before = lastStarts.get(world) ?? Promise.resolve();
  const started = before.then(async () => {
    await new Promise<void>((resolve) => {
      world.after(0, resolve);
    });
    if (isLazy) connection.startWhenUsed();
    else connection.start();
  });
  lastStarts.set(world, started);
}

function treatment({
  catalog = {},
  trustsAnnotations = false,
  project,
}: WantedServer): Omit<OpenServer, "connection" | "source"> {
  return { catalog, trustsAnnotations, ...(project === undefined ? {} : { project }) };
}

function keyOf({ spec, origin, settings = {}, isLazy = false }: WantedServer, cwd: string): string {
  const { limits = {}, tools = {}, allowHosts = [] } = settings;
  const plainTools = Object.fromEntries(Object.entries(tools).map(([name, one]) => [name, { ...one }]));
  return hashJson({
    name: spec.name,
    origin,
    pool: poolKey(spec, cwd),
    limits: { ...limits },
    tools: plainTools,
    allowHosts,
    isLazy,
  });
}
