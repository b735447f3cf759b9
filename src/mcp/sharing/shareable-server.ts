// A server that sessions may share: used through a lease, or the session's own once it turns out to ask its client.

import { Cell } from "../../base/async/cell.js";
import { contained, handled, Scope } from "../../base/async/scope.js";
import type { TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { McpConnection, ServerConnection } from "../connection/connection.js";
import type { ConnectionState } from "../connection/state.js";
import { MCP_LIMITS } from "../limits.js";
import type { CallOptions, CallOutcome } from "../protocol/call.js";
import type { Link } from "../protocol/link.js";
import type { LeftOut } from "../protocol/lists.js";
import type { TaskHandle } from "../protocol/task.js";
import type { McpTool } from "../protocol/tools.js";
import type { ServerSpec } from "../spec.js";
import { type Lease, notConnected } from "./shared-server.js";

/** Where a session's calls go. */
interface Route {
  readonly connection: McpConnection;
  /** Of a server that is shared. */
  readonly lease?: Lease;
}

export interface ShareableServerOptions {
  readonly world: World;
  readonly spec: ServerSpec;
  readonly callsAtOnce: number;
  /** Whether it may be shared, as far as is known by now. */
  mayShare(): Promise<boolean>;
  own(): McpConnection;
  lease(onEvicted: (lease: Lease) => void): Lease;
}

export class ShareableServer implements ServerConnection, AsyncDisposable {
  readonly spec: ServerSpec;
  readonly callsAtOnce: number;
  readonly #options: ShareableServerOptions;
  readonly #scope: Scope;
  readonly state: Cell<ConnectionState> = new Cell<ConnectionState>({ kind: "idle" });
  readonly tools: Cell<readonly McpTool[]> = new Cell<readonly McpTool[]>([]);
  /** Undefined until it is decided. */
  readonly #route = new Cell<Route | undefined>(undefined);
  /** Shared ones the session is leaving: calls of it still run there. */
  readonly #left = new Set<Lease>();
  /** What others see of it; while it changes, still the one it had. */
  #shown: Route | undefined;
  #unfollow: () => void = () => {};
  #begun: "now" | "when used" | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ShareableServerOptions) {
    this.spec = options.spec;
    this.callsAtOnce = options.callsAtOnce;
    this.#options = options;
    this.#scope = new Scope(options.world.log);
  }

  get problems(): readonly string[] {
    return this.#shown?.connection.problems ?? [];
  }

  get leftOut(): readonly LeftOut[] {
    return this.#shown?.connection.leftOut ?? [];
  }

  get lastError(): TenonError | undefined {
    return this.#shown?.connection.lastError;
  }

  get wasReady(): boolean {
    return this.#shown?.connection.wasReady ?? false;
  }

  /** Why it is not ready; undefined when it is. */
  async ready(signal: AbortSignal): Promise<TenonError | undefined> {
    const route = await this.#decided(signal);
    return route ? await route.connection.ready(signal) : notConnected(this.spec.name);
  }

  get link(): Link | undefined {
    return this.#closing || !this.#shown ? undefined : serverOf(this.#shown).link;
  }

  /** Whether other sessions use the same server now. */
  get isShared(): boolean {
    return this.#route.value?.lease?.hasOthers ?? false;
  }

  /** Resolves once the session has nothing of it any more. */
  get closed(): Promise<void> {
    return this.state.until(({ kind }) => kind === "closed", new AbortController().signal).then(() => undefined);
  }

  start(): void {
    const route = this.#route.value;
    if (!this.#begun) this.#begin("now");
    else if (route) serverOf(route).start();
  }

  startWhenUsed(): void {
    if (!this.#begun) this.#begin("when used");
  }

  /** Tries anew after a failure. A shared server that failed has failed for all, and is tried for all. */
  restart(): void {
    this.#route.value?.connection.restart();
  }

  call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    return this.#withServer(options, (server) => server.call(tool, args, options));
  }

  resume(tool: string, task: TaskHandle, options: CallOptions): Promise<CallOutcome> {
    return this.#withServer(options, (server) => server.resume(tool, task, options));
  }

  /** A server that nobody else uses ends with it. */
  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#closing ??= this.#end(grace, false);
    return this.#closing;
  }

  /** The same, but a shared server may stay for a while, for the next session; not one that is to run only when used. */
  leave(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#closing ??= this.#end(grace, this.#begun === "now");
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #begin(when: "now" | "when used"): void {
    if (this.#closing) return;
    this.#begun = when;
    this.#scope.run(`route ${this.spec.name}`, async (signal) => {
      const isShared = await this.#options.mayShare();
      if (signal.aborted) return;
      const lease = isShared ? this.#options.lease((evicted) => this.#move(evicted)) : undefined;
      const route: Route = lease ? { connection: lease.connection, lease } : { connection: this.#options.own() };
      this.#route.set(route);
      this.#show(route);
      this.#run(route);
    });
  }

  #run(route: Route): void {
    if (this.#begun === "when used") serverOf(route).startWhenUsed();
    else serverOf(route).start();
  }

  /** New calls wait for the session's own server; those that run end where they are. */
  #move(from: Lease): void {
    if (this.#closing || this.#route.value?.lease !== from) return;
    const { world, spec } = this.#options;
    const route: Route = { connection: this.#options.own() };
    this.#left.add(from);
    this.#route.set(route);
    startInTurn(world, () => {
      if (!this.#closing) this.#run(route);
    });
    this.#scope.run(`move ${spec.name}`, async (signal) => {
      // One that is in line for a process is settled too: the place it waits for may be the one that is left here.
      const isSettled = (state: ConnectionState) =>
        state.kind === "connecting" ? state.queued !== undefined : state.kind !== "idle";
      await route.connection.state.until(isSettled, signal);
      this.#show(route);
      await from.drained(signal);
      this.#left.delete(from);
      await from.release(LIMITS.closeGrace);
    });
  }

  #show(route: Route): void {
    const { state, tools } = route.connection;
    this.#unfollow();
    this.#shown = route;
    const stopState = state.subscribe((current) => this.state.set(current));
    const stopTools = tools.subscribe((current) => this.tools.set(current));
    this.#unfollow = () => {
      stopState();
      stopTools();
    };
    this.tools.set(tools.value);
    this.state.set(state.value);
  }

  /** At once where the route is decided: one layer of async less is worth a microsecond to each call. */
  #withServer(options: CallOptions, run: Run): Promise<CallOutcome> {
    const route = this.#route.value;
    return route && !this.#closing ? run(serverOf(route)) : this.#onceDecided(options, run);
  }

  async #onceDecided({ signal }: CallOptions, run: Run): Promise<CallOutcome> {
    const route = await this.#decided(signal);
    if (signal.aborted) return { kind: "cancelled" };
    return route ? await run(serverOf(route)) : { kind: "failed", error: notConnected(this.spec.name) };
  }

  /** Undefined when the session leaves it, or the signal aborts, before that. */
  async #decided(signal: AbortSignal): Promise<Route | undefined> {
    const over = AbortSignal.any([signal, this.#scope.signal]);
    const route = await this.#route.until((decided) => decided !== undefined, over).catch(() => undefined);
    return this.#closing ? undefined : route;
  }

  async #end(grace: EndGrace, mayRest: boolean): Promise<void> {
    this.#unfollow();
    this.state.set({ kind: "closing" });
    const { lease, connection } = this.#route.value ?? {};
    await Promise.all([
      this.#scope.close(),
      lease ? lease.release(grace, mayRest) : connection?.close(grace),
      ...Array.from(this.#left, (left) => left.release(grace)),
    ]);
    this.state.set({ kind: "closed" });
  }
}

type Run = (server: McpConnection | Lease) => Promise<CallOutcome>;

function serverOf({ lease, connection }: Route): McpConnection | Lease {
  return lease ?? connection;
}

/** The last start asked for, per World, and when the turn began that it runs in: sessions opened in a row share one event loop. */
const starts = new WeakMap<World, { last: Promise<void>; turnBeganMs: number }>();

/**
 * A few per turn of the event loop, whichever sessions they are for, in the order asked for: the next one waits until this one
 * has begun, since whether it is shared may have to be read from the disk. What one throws is reported, and the next goes on.
 */
export function startInTurn(world: World, start: () => void, connection?: ServerConnection): void {
  const queue = starts.get(world) ?? { last: Promise.resolve(), turnBeganMs: Number.NEGATIVE_INFINITY };
  starts.set(world, queue);
  const started = queue.last.then(async () => {
    if (world.monotonicMs() - queue.turnBeganMs > MCP_LIMITS.startTurnMs) {
      await new Promise<void>((resolve) => {
        world.soon(resolve);
      });
      queue.turnBeganMs = world.monotonicMs();
    }
    contained(world.log, "start a server", start);
    if (connection?.state.value.kind !== "idle") return;
    using deadline = world.deadline(MCP_LIMITS.launchOrderMs);
    await connection.state.until(({ kind }) => kind !== "idle", deadline.signal).catch(() => undefined);
  });
  queue.last = started;
  handled(started, world.log, "start a server");
}
