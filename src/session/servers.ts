// The servers of one session: connected in parallel, each on its own, replaced when what is wanted changes, gone with it.
import type { TenonError } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import { Scope } from "../base/scope.js";
import type { World } from "../base/world.js";
import type { ServerSandbox } from "../config/index.js";
import {
  type ConnectionOptions,
  type GrantStore,
  type McpChannel,
  type Peer,
  type PooledServer,
  type PoolSettings,
  type ServerCache,
  type ServerConnection,
  type ServerLog,
  ServerPool,
  type ServerSpec,
  sharingKey,
  startInTurn,
} from "../mcp/index.js";
import { mcpSource, type SourceSettings, type ToolOrigin, type ToolSource } from "../tools/index.js";
import type { NoticeLevel, ServerStatus } from "./event.js";
import { type LoginSettings, type ServerLogin, serverLogin } from "./login/server-login.js";
import { ServerPeer } from "./peer.js";
import { RunningCalls } from "./peer-calls.js";
import type { SessionPorts } from "./ports.js";
import type { OutputSink, ServerOutput } from "./server-output.js";
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
  /** What the configuration says of its sandbox, also where that asks for none. */
  readonly sandbox?: ServerSandbox;
  /** Whose log-ins a remote server may use, and what its entry says about logging in. */
  readonly login?: LoginSettings;
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
  /** Other sessions of this process may use the same server. One of the client is never shared. */
  readonly mayShare?: boolean;
  /** What the user says about all servers together. */
  readonly pool?: PoolSettings;
}

export interface SessionServersOptions {
  readonly world: World;
  readonly cwd: string;
  /** Roots of the servers beside it. */
  readonly additionalDirectories?: readonly string[];
  readonly client: { readonly name: string; readonly version: string };
  readonly cache?: ServerCache;
  /** Where log-ins are kept. */
  readonly grants?: GrantStore;
  /** Keeps what servers say beside the protocol. */
  readonly serverOutput?: ServerOutput;
  /** The servers of all sessions of the process; its own unless given. */
  readonly pool?: ServerPool;
  /** The session's id, for the trace and for the budget of processes. */
  readonly session?: string;
  /** Who is attached now, and answers what servers ask. */
  ports?(): SessionPorts | undefined;
  /** By server, how it may use the model. */
  readonly sampling?: (server: string) => { readonly sample: NonNullable<Peer["sample"]> };
  onStatus(status: ServerStatus): void;
  /** A call was refused for want of a log-in, or of more than the log-in has. */
  onRefused?(server: string): void;
  onNotice?(level: NoticeLevel, text: string): void;
}

/** A server of the session, whatever state it is in. */
export interface OpenServer extends Pick<WantedServer, "catalog" | "trustsAnnotations" | "project"> {
  readonly connection: ServerConnection;
  readonly source: ToolSource;
  /** Whether other sessions use the same server now. */
  isShared?(): boolean;
  /** Undefined when one cannot log in to it. */
  readonly login?: ServerLogin | undefined;
}

interface Running extends OpenServer {
  readonly connection: PooledServer;
  readonly isRequired: boolean;
  readonly isLazy: boolean;
  readonly status: () => ServerStatus;
  /** Covers everything that decides what is run and how: a change of it means another connection. */
  readonly key: string;
}

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
  readonly #pool: ServerPool;
  readonly #ownsPool: boolean;
  #running: readonly Running[] = [];
  #rejected: readonly ServerStatus[] = [];

  constructor(options: SessionServersOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#scope = new Scope(options.world.log);
    this.#pool = options.pool ?? new ServerPool(options);
    this.#ownsPool = options.pool === undefined;
  }

  /** Makes the set what is wanted: what is unchanged stays connected, what is gone is ended, what is new is started. */
  replace(wanted: readonly WantedServer[], rejected: readonly RejectedServer[]): void {
    const kept = new Map(this.#running.map((one) => [one.key, one]));
    const fresh: Running[] = [];
    this.#running = wanted.map((server) => {
      const key = this.#keyOf(server);
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
    for (const { connection, isLazy } of fresh) {
      startInTurn(this.#world, () => (isLazy ? connection.startWhenUsed() : connection.start()));
    }
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
    if (!signal.aborted) this.#tellLate();
  }

  /** Whoever waited is told what for, and that they need not any longer. */
  #tellLate(): void {
    const late = this.#running.filter(({ connection }) => connection.state.value.kind === "connecting");
    if (late.length === 0) return;
    const names = late.map(({ connection }) => JSON.stringify(connection.spec.name)).join(", ");
    const text = `not ready yet: ${names}. This turn begins without their tools; they join as soon as they are there.`;
    this.#options.onNotice?.("warning", text);
  }

  /** What only this session uses ends with it; a shared server may stay for a while. */
  async close(grace: EndGrace): Promise<void> {
    await Promise.all(this.#running.map(({ connection }) => connection.leave(grace)));
    await this.#scope.close();
    if (this.#ownsPool) await this.#pool.close(grace);
  }

  #open(wanted: WantedServer, key: string): Running {
    const { spec, origin, isRequired = false, isLazy = false } = wanted;
    const calls = new RunningCalls(this.#world);
    // Of the client's servers nothing is written to disk.
    const output = origin === "client" ? undefined : this.#options.serverOutput?.open(wanted);
    const peer = this.#peerOf(spec.name, calls, output);
    const login = this.#loginOf(wanted);
    const connection = this.#pool.open({
      spec,
      options: {
        ...this.#plainOptions(wanted, login),
        peer,
        channel: this.#channel,
        ...(output ? { onStderr: into(output) } : {}),
      },
      mayShare: mayShare(wanted),
      ...(wanted.pool ? { settings: wanted.pool } : {}),
    });
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
    const onFailed = ({ code }: TenonError) => {
      if (code === "mcp.unauthorized") this.#options.onRefused?.(spec.name);
    };
    const source = calls.follow(mcpSource(connection, origin, onFailed));
    const isShared = () => connection.isShared;
    return { connection, source, isShared, login, isRequired, isLazy, status, key, ...treatment(wanted) };
  }

  #loginOf({ settings = {}, spec, origin, login }: WantedServer): ServerLogin | undefined {
    return serverLogin({ ...settings, spec, origin, login }, this.#options.grants);
  }

  /** All that is data: the key is made of exactly this. */
  #plainOptions({ settings = {} }: WantedServer, login: ServerLogin | undefined): ConnectionOptions {
    const { world, cwd, client, session, cache } = this.#options;
    return {
      world,
      cwd,
      client,
      ...(session === undefined ? {} : { session }),
      ...(cache ? { cache } : {}),
      ...settings,
      ...(login ? { oauth: login.oauth } : {}),
    };
  }

  /** Covers everything that decides what is run and how: a change of it means another connection. */
  #keyOf(wanted: WantedServer): string {
    const { spec, origin, isLazy = false } = wanted;
    const key = sharingKey(spec, this.#plainOptions(wanted, this.#loginOf(wanted)));
    return [key, origin, isLazy, mayShare(wanted)].join(" ");
  }

  #peerOf(server: string, calls: RunningCalls, output: OutputSink | undefined): Peer {
    const { world, cwd, additionalDirectories = [], sampling } = this.#options;
    return new ServerPeer({
      world,
      server,
      directories: [cwd, ...additionalDirectories],
      calls,
      ports: () => this.#options.ports?.(),
      ...(output ? { onLog: (entry: ServerLog) => output.log(entry) } : {}),
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

/** Apart from everything else of a session: a shared server holds on to it for longer. */
function into(output: OutputSink): (chunk: Uint8Array) => void {
  return (chunk) => output.stderr(chunk);
}

function mayShare({ origin, mayShare: isAllowed = true }: WantedServer): boolean {
  return isAllowed && (origin === "user" || origin === "project");
}

function treatment({
  catalog = {},
  trustsAnnotations = false,
  project,
}: WantedServer): Omit<OpenServer, "connection" | "source" | "login" | "isShared"> {
  return { catalog, trustsAnnotations, ...(project === undefined ? {} : { project }) };
}
