// The servers of one session: connected in parallel, each on its own, replaced when what is wanted changes, gone with it.

import { Scope } from "../base/async/scope.js";
import type { EndGrace } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import { ServerPool, startInTurn } from "../mcp/index.js";
import type { ServerStatus } from "./event.js";
import { SESSION_LIMITS } from "./limits.js";
import { type OpenServer, type RejectedServer, treatment, type WantedServer } from "./server-entry.js";
import { type OpeningOptions, type RunningServer, ServerOpening } from "./server-opening.js";

export interface SessionServersOptions extends OpeningOptions {
  /** The servers of all sessions of the process; its own unless given. */
  readonly pool?: ServerPool;
}

export class SessionServers {
  readonly #options: SessionServersOptions;
  readonly #world: World;
  readonly #scope: Scope;
  readonly #pool: ServerPool;
  readonly #ownsPool: boolean;
  readonly #opening: ServerOpening;
  #running: readonly RunningServer[] = [];
  #rejected: readonly ServerStatus[] = [];

  constructor(options: SessionServersOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#scope = new Scope(options.world.log);
    this.#pool = options.pool ?? new ServerPool(options);
    this.#ownsPool = options.pool === undefined;
    this.#opening = new ServerOpening(options, this.#pool);
  }

  /** Makes the set what is wanted: what is unchanged stays connected, what is gone is ended, what is new is started. */
  replace(wanted: readonly WantedServer[], rejected: readonly RejectedServer[]): void {
    const kept = new Map(this.#running.map((one) => [one.key, one]));
    const fresh: RunningServer[] = [];
    this.#running = wanted.map((server) => {
      const key = this.#opening.keyOf(server);
      const same = kept.get(key);
      kept.delete(key);
      if (same) return { ...same, ...treatment(server) };
      const opened = this.#opening.open(server, key);
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
    using deadline = this.#world.deadline(SESSION_LIMITS.firstPromptWaitMs, signal);
    using patience = this.#world.deadline(SESSION_LIMITS.requiredWaitMs, signal);
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

  /** Told once: an entry that stays wrong is no news. */
  #reject(rejected: readonly RejectedServer[]): void {
    const known = new Set(this.#rejected.map(({ name, error }) => `${name}\0${error}`));
    this.#rejected = rejected.map(({ name, reason, origin = "client", hint }) => ({
      name,
      origin,
      state: "failed",
      toolCount: 0,
      error: reason,
      ...defined({ hint }),
    }));
    for (const status of this.#rejected) {
      if (!known.has(`${status.name}\0${status.error}`)) this.#options.onStatus(status);
    }
  }
}
