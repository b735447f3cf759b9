// A server that sessions may share: used through a lease, or the session's own once it turns out to ask its client.

import { Cell, type ReadonlyCell } from "../../base/async/cell.js";
import { contained, handled, Scope } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { McpConnection, ServerConnection } from "../connection/connection.js";
import type { ConnectionState } from "../connection/state.js";
import type { CallOptions, CallOutcome } from "../protocol/call.js";
import type { Link } from "../protocol/link.js";
import type { LeftOut } from "../protocol/lists.js";
import type { TaskHandle } from "../protocol/task.js";
import type { McpTool } from "../protocol/tools.js";
import type { ServerSpec } from "../spec.js";
import type { Lease } from "./lease.js";

/** Where a session's calls go. */
type Route =
  | { readonly kind: "own"; readonly server: McpConnection }
  | { readonly kind: "shared"; readonly server: Lease };

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
  readonly #state = new Cell<ConnectionState>({ kind: "idle" });
  readonly #tools = new Cell<readonly McpTool[]>([]);
  /** Undefined until it is decided. */
  readonly #route = new Cell<Route | undefined>(undefined);
  /** Shared ones the session is leaving: calls of it still run there. */
  readonly #left = new Set<Lease>();
  /** What others see of it; while it changes, still the one it had. */
  #shown: Route["server"] | undefined;
  #unfollow: () => void = () => {};
  #begun: "now" | "when used" | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ShareableServerOptions) {
    this.spec = options.spec;
    this.callsAtOnce = options.callsAtOnce;
    this.#options = options;
    this.#scope = new Scope(options.world.log);
  }

  get state(): ReadonlyCell<ConnectionState> {
    return this.#state;
  }

  get tools(): ReadonlyCell<readonly McpTool[]> {
    return this.#tools;
  }

  get problems(): readonly string[] {
    return this.#shown?.problems ?? [];
  }

  get leftOut(): readonly LeftOut[] {
    return this.#shown?.leftOut ?? [];
  }

  get lastError(): TenonError | undefined {
    return this.#shown?.lastError;
  }

  get link(): Link | undefined {
    return this.#closing ? undefined : this.#shown?.link;
  }

  /** Whether other sessions use the same server now. */
  get isShared(): boolean {
    const route = this.#route.value;
    return route?.kind === "shared" && route.server.hasOthers;
  }

  /** Resolves once the session has nothing of it any more. */
  get closed(): Promise<void> {
    return this.#state.until(({ kind }) => kind === "closed", new AbortController().signal).then(() => undefined);
  }

  start(): void {
    if (this.#begun) this.#route.value?.server.start();
    else this.#begin("now");
  }

  startWhenUsed(): void {
    if (!this.#begun) this.#begin("when used");
  }

  /** Tries anew after a failure. A shared server that failed has failed for all, and is tried for all. */
  restart(): void {
    this.#route.value?.server.restart();
  }

  call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    return this.#withServer(options, (server) => server.call(tool, args, options));
  }

  resume(tool: string, task: TaskHandle, options: CallOptions): Promise<CallOutcome> {
    return this.#withServer(options, (server) => server.resume(tool, task, options));
  }

  /** A server that nobody else uses ends with it. */
  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#closing ??= this.#end(({ server }) => server.close(grace), grace);
    return this.#closing;
  }

  /** The same, but a shared server may stay for a while, for the next session; not one that is to run only when used. */
  leave(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    const mayRest = this.#begun === "now";
    const leave = ({ kind, server }: Route) =>
      kind === "shared" && mayRest ? server.leave(grace) : server.close(grace);
    this.#closing ??= this.#end(leave, grace);
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
      const route: Route = isShared
        ? { kind: "shared", server: this.#options.lease((lease) => this.#move(lease)) }
        : { kind: "own", server: this.#options.own() };
      this.#route.set(route);
      this.#show(route.server);
      this.#run(route);
    });
  }

  #run({ server }: Route): void {
    if (this.#begun === "when used") server.startWhenUsed();
    else server.start();
  }

  /** New calls wait for the session's own server; those that run end where they are. */
  #move(from: Lease): void {
    if (this.#closing || this.#route.value?.server !== from) return;
    const { world, spec } = this.#options;
    const route: Route = { kind: "own", server: this.#options.own() };
    this.#left.add(from);
    this.#route.set(route);
    startInTurn(world, () => {
      if (!this.#closing) this.#run(route);
    });
    this.#scope.run(`move ${spec.name}`, async (signal) => {
      const isSettled = ({ kind }: ConnectionState) => kind !== "idle" && kind !== "connecting";
      await route.server.state.until(isSettled, signal);
      this.#show(route.server);
      await from.drained(signal);
      this.#left.delete(from);
      await from.close();
    });
  }

  #show(server: Route["server"]): void {
    this.#unfollow();
    this.#shown = server;
    const stops = [
      server.state.subscribe((state) => this.#state.set(state)),
      server.tools.subscribe((tools) => this.#tools.set(tools)),
    ];
    this.#unfollow = () => {
      for (const stop of stops) stop();
    };
    this.#tools.set(server.tools.value);
    this.#state.set(server.state.value);
  }

  /** At once where the route is decided: one layer of async less is worth a microsecond to each call. */
  #withServer(options: CallOptions, run: (server: Route["server"]) => Promise<CallOutcome>): Promise<CallOutcome> {
    const route = this.#route.value;
    return route && !this.#closing ? run(route.server) : this.#onceDecided(options, run);
  }

  async #onceDecided(
    { signal }: CallOptions,
    run: (server: Route["server"]) => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    const over = AbortSignal.any([signal, this.#scope.signal]);
    const route = await this.#route.until((decided) => decided !== undefined, over).catch(() => undefined);
    if (signal.aborted) return { kind: "cancelled" };
    if (route && !this.#closing) return await run(route.server);
    const text = `server "${this.spec.name}" is not connected: it is closed`;
    return { kind: "failed", error: new TenonError("mcp.not_ready", text) };
  }

  async #end(end: (route: Route) => Promise<void>, grace: EndGrace): Promise<void> {
    this.#unfollow();
    this.#state.set({ kind: "closing" });
    const route = this.#route.value;
    await Promise.all([
      this.#scope.close(),
      ...(route ? [end(route)] : []),
      ...Array.from(this.#left, (lease) => lease.close(grace)),
    ]);
    this.#state.set({ kind: "closed" });
  }
}

/** The last start asked for, per World: sessions opened in a row share one event loop, and so one queue. */
const lastStarts = new WeakMap<World, Promise<void>>();

/** One per turn of the event loop, whichever session it is for. What one `start` throws is reported, and the next goes on. */
export function startInTurn(world: World, start: () => void): void {
  const before = lastStarts.get(world) ?? Promise.resolve();
  const started = before.then(async () => {
    await new Promise<void>((resolve) => {
      world.after(0, resolve);
    });
    contained(world.log, "start a server", start);
  });
  lastStarts.set(world, started);
  handled(started, world.log, "start a server");
}
