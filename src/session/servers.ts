// The servers of one session: connected at once and in parallel, each on its own, gone with the session.
import { unreachable } from "../base/brand.js";
import { LIMITS } from "../base/limits.js";
import type { EndGrace } from "../base/process.js";
import type { World } from "../base/world.js";
import { type ConnectionState, McpConnection, type ServerSpec } from "../mcp/index.js";
import { mcpSource, type ToolSource } from "../tools/index.js";
import type { ServerStatus } from "./event.js";

/** A server entry that could not be read, with what is wrong with it. */
export interface RejectedServer {
  readonly name: string;
  readonly reason: string;
}

export interface SessionServersOptions {
  readonly specs: readonly ServerSpec[];
  readonly rejected: readonly RejectedServer[];
  readonly world: World;
  readonly cwd: string;
  readonly client: { readonly name: string; readonly version: string };
  onStatus(status: ServerStatus): void;
}

/** The last start asked for, per World: sessions opened in a row share one event loop, and so one queue. */
const lastStarts = new WeakMap<World, Promise<void>>();

export class SessionServers {
  readonly #world: World;
  readonly #rejected: readonly ServerStatus[];
  readonly #connections: readonly McpConnection[];
  readonly #sources: readonly ToolSource[];

  constructor(options: SessionServersOptions) {
    this.#world = options.world;
    this.#rejected = options.rejected.map(({ name, reason }) => ({
      name,
      state: "failed",
      toolCount: 0,
      error: reason,
    }));
    this.#connections = options.specs.map((spec) => {
      const connection = new McpConnection(spec, options);
      connection.state.subscribe(() => options.onStatus(statusOf(connection)));
      return connection;
    });
    this.#sources = this.#connections.map((connection) => mcpSource(connection, "client"));
    for (const connection of this.#connections) startInTurn(connection, options.world);
  }

  get sources(): readonly ToolSource[] {
    return this.#sources;
  }

  get statuses(): readonly ServerStatus[] {
    return [...this.#connections.map((connection) => statusOf(connection)), ...this.#rejected];
  }

  /** Waits until no server is connecting any more, but never longer than the bound: a hung one costs that much, once. */
  async settled(signal: AbortSignal): Promise<void> {
    using deadline = this.#world.deadline(LIMITS.firstPromptWaitMs, signal);
    const settling = this.#connections.map((connection) =>
      connection.state.until((state) => state.kind !== "connecting", deadline.signal).catch(() => undefined),
    );
    await Promise.all(settling);
  }

  async close(grace: EndGrace): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close(grace)));
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

function statusOf(connection: McpConnection): ServerStatus {
  const state: ConnectionState = connection.state.value;
  const base = { name: connection.spec.name, toolCount: connection.tools.value.length };
  switch (state.kind) {
    case "connecting":
    case "closed":
      return { ...base, state: state.kind };
    case "ready":
      return { ...base, state: "ready", connectMs: state.connectMs };
    case "failed":
      return {
        ...base,
        state: "failed",
        error: state.error.message,
        hint: state.error.hint,
        connectMs: state.connectMs,
      };
    default:
      return unreachable(state);
  }
}
