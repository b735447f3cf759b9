// One configured server connected outside any session, for whoever wants to look at it or call it once.
import { LIMITS } from "../base/limits.js";
import type { EffectiveServer } from "../config/index.js";
import type { ServerConnection } from "../mcp/index.js";
import { standingOf } from "./configuration.js";
import type { ServerStatus } from "./event.js";
import { SessionServers, type SessionServersOptions } from "./servers.js";

export type LoneServerOptions = Omit<
  SessionServersOptions,
  "session" | "ports" | "sampling" | "onStatus" | "additionalDirectories"
>;

/** It is treated exactly as a session would treat it, except that a lazy one is started. */
export class LoneServer implements AsyncDisposable {
  readonly #servers: SessionServers;

  /** Begins to connect at once. `project` is the project's real path. */
  constructor(server: EffectiveServer, project: string, options: LoneServerOptions) {
    this.#servers = new SessionServers({ ...options, onStatus: () => undefined });
    const { wanted, rejected } = standingOf(server, project);
    this.#servers.replace(wanted ? [{ ...wanted, isLazy: false }] : [], rejected ? [rejected] : []);
  }

  /** Undefined for one that is not to be started at all. */
  get connection(): ServerConnection | undefined {
    return this.#servers.open[0]?.connection;
  }

  /** Undefined for one that is switched off, replaced or not trusted: nothing is done with it. */
  get status(): ServerStatus | undefined {
    return this.#servers.statuses[0];
  }

  /** Resolves when it is ready, when its first attempt has failed, or when the signal aborts. */
  async settled(signal: AbortSignal): Promise<void> {
    const { connection } = this;
    await connection?.state
      .until(({ kind }) => kind !== "connecting" && kind !== "idle", signal)
      .catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers.close(LIMITS.exitGrace);
  }
}
