// One configured server connected outside any session: for the commands that inspect a server or call it once.
import { LIMITS } from "../../base/limits.js";
import type { EffectiveServer } from "../../config/index.js";
import type { ServerConnection } from "../../mcp/index.js";
import type { ServerStatus } from "../events.js";
import { configuredServer } from "./entry.js";
import { SessionServers, type SessionServersOptions } from "./servers.js";

export type SingleServerOptions = Omit<
  SessionServersOptions,
  "session" | "ports" | "sampling" | "onStatus" | "additionalDirectories" | "isConfigured"
>;

/** It is treated exactly as a session would treat it, except that a lazy one is started. */
export class SingleServer implements AsyncDisposable {
  readonly #servers: SessionServers;

  /** Begins to connect at once. `project` is the project's real path. */
  constructor(server: EffectiveServer, project: string, options: SingleServerOptions) {
    this.#servers = new SessionServers({ ...options, isConfigured: true, onStatus: () => undefined });
    const { wanted, rejected } = configuredServer(server, project);
    this.#servers.configure({
      wanted: wanted ? [{ ...wanted, isLazy: false }] : [],
      rejected: rejected ? [rejected] : [],
      absent: [],
    });
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
