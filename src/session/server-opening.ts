// Opens one server for a session: what its connection is given, whom it may ask, what the session hears of it.

import type { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import {
  type ConnectionOptions,
  type GrantStore,
  type McpChannel,
  type Peer,
  type PooledServer,
  type ServerCache,
  type ServerLog,
  type ServerPool,
  sharingKey,
} from "../mcp/index.js";
import { mcpSource } from "../tools/index.js";
import type { NoticeLevel, ServerStatus } from "./event.js";
import { type ServerLogin, serverLogin } from "./login/server-login.js";
import { ServerPeer } from "./peer.js";
import { RunningCalls } from "./peer-calls.js";
import type { SessionPorts } from "./ports.js";
import { type OpenServer, treatment, type WantedServer } from "./server-entry.js";
import type { OutputSink, ServerOutput } from "./server-output.js";
import { statusOf } from "./server-status.js";

export interface OpeningOptions {
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
  /** A server that may write the session's directories, in a sandbox, is about to be started. */
  onSandboxed?(): void;
}

/** An open server with what the set it is in has to know of it. */
export interface RunningServer extends OpenServer {
  readonly connection: PooledServer;
  readonly isRequired: boolean;
  readonly isLazy: boolean;
  readonly status: () => ServerStatus;
  /** Covers everything that decides what is run and how: a change of it means another connection. */
  readonly key: string;
}

export class ServerOpening {
  readonly #options: OpeningOptions;
  readonly #world: World;
  readonly #pool: ServerPool;
  /** Whoever is attached when a message goes out. */
  readonly #channel: McpChannel = {
    request: async (request) => {
      const channel = this.#options.ports?.()?.mcpChannel;
      if (channel) return await channel.request(request);
      return { kind: "failed", message: "no client is attached that has such servers" };
    },
  };

  constructor(options: OpeningOptions, pool: ServerPool) {
    this.#options = options;
    this.#world = options.world;
    this.#pool = pool;
  }

  open(wanted: WantedServer, key: string): RunningServer {
    const { spec, origin, isRequired = false, isLazy = false } = wanted;
    if (spec.kind === "stdio" && spec.sandbox?.mode === "workspace") this.#options.onSandboxed?.();
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
        ...defined({ onStderr: output ? into(output) : undefined }),
      },
      mayShare: mayShare(wanted),
      ...defined({ settings: wanted.pool }),
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
      ...defined({ session, cache }),
      ...settings,
      ...defined({ oauth: login?.oauth }),
    };
  }

  /** Covers everything that decides what is run and how: a change of it means another connection. */
  keyOf(wanted: WantedServer): string {
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
      ...defined({ onLog: output ? (entry: ServerLog) => output.log(entry) : undefined }),
      ...sampling?.(server),
      onNotice: (level, text) => this.#options.onNotice?.(level, text),
    });
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
