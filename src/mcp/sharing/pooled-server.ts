// A server as a session holds it: the same whether it is the session's own or shared, also while it changes from one to the other.

import { Cell, type ReadonlyCell } from "../../base/async/cell.js";
import { contained, handled, Scope } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { McpConnection } from "../connection/connection.js";
import type { ConnectionState } from "../connection/state.js";
import type { CallOptions, CallOutcome } from "../protocol/call.js";
import type { Link } from "../protocol/link.js";
import type { LeftOut } from "../protocol/lists.js";
import type { TaskHandle } from "../protocol/task.js";
import type { McpTool } from "../protocol/tools.js";
import type { ServerSpec } from "../spec.js";
import type { Lease } from "./lease.js";

/** Where a session's calls go. */
type Place =
  | { readonly kind: "own"; readonly server: McpConnection }
  | { readonly kind: "shared"; readonly server: Lease };

export interface PooledServerOptions {
  readonly world: World;
  readonly spec: ServerSpec;
  readonly callsAtOnce: number;
  /** Whether it may be shared, as far as is known by now. Absent when it must be the session's own. */
  readonly mayShare?: () => Promise<boolean>;
  own(): McpConnection;
  lease(onEvicted: (lease: Lease) => void): Lease;
}

export class PooledServer implements AsyncDisposable {
  readonly spec: ServerSpec;
  readonly callsAtOnce: number;
  readonly #options: PooledServerOptions;
  readonly #scope: Scope;
  readonly #state = new Cell<ConnectionState>({ kind: "idle" });
  readonly #tools = new Cell<readonly McpTool[]>([]);
  /** Undefined until it is decided. */
  readonly #place = new Cell<Place | undefined>(undefined);
  /** Shared ones the session is leaving: calls of it still run there. */
  readonly #left = new Set<Lease>();
  /** What others see of it; while it changes, still the one it had. */
  #shown: Place["server"] | undefined;
  #unfollow: () => void = () => {};
  #begun: "now" | "when used" | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: PooledServerOptions) {
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
    const place = this.#place.value;
    return place?.kind === "shared" && place.server.hasOthers;
  }

  /** Resolves once the session has nothing of it any more. */
  get closed(): Promise<void> {
    return this.#state.until(({ kind }) => kind === "closed", new AbortController().signal).then(() => undefined);
  }

  start(): void {
    if (this.#begun) this.#place.value?.server.start();
    else this.#begin("now");
  }

  startWhenUsed(): void {
    if (!this.#begun) this.#begin("when used");
  }

  /** Tries anew after a failure. A shared server that failed has failed for all, and is tried for all. */
  restart(): void {
    this.#place.value?.server.restart();
  }

  call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    return this.#withPlace(options, ({ server }) => server.call(tool, args, options));
  }

  resume(tool: string, task: TaskHandle, options: CallOptions): Promise<CallOutcome> {
    return this.#withPlace(options, ({ server }) => server.resume(tool, task, options));
  }

  /** A server that nobody else uses ends with it. */
  close(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    this.#closing ??= this.#end(({ server }) => server.close(grace), grace);
    return this.#closing;
  }

  /** The same, but a shared server may stay for a while, for the next session; not one that is to run only when used. */
  leave(grace: EndGrace = LIMITS.closeGrace): Promise<void> {
    const mayRest = this.#begun === "now";
    const leave = ({ kind, server }: Place) =>
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
    const { mayShare } = this.#options;
    if (!mayShare) return this.#settle(this.#own());
    this.#scope.run(`place ${this.spec.name}`, async (signal) => {
      const isShared = await mayShare();
      if (!signal.aborted) this.#settle(isShared ? this.#leased() : this.#own());
    });
  }

  #own(): Place {
    return { kind: "own", server: this.#options.own() };
  }

  #leased(): Place {
    return { kind: "shared", server: this.#options.lease((lease) => this.#move(lease)) };
  }

  #settle(place: Place): void {
    this.#place.set(place);
    this.#show(place.server);
    this.#run(place);
  }

  #run({ server }: Place): void {
    if (this.#begun === "when used") server.startWhenUsed();
    else server.start();
  }

  /** New calls wait for the session's own server; those that run end where they are. */
  #move(from: Lease): void {
    if (this.#closing || this.#place.value?.server !== from) return;
    const { world, spec } = this.#options;
    const place = this.#own();
    this.#left.add(from);
    this.#place.set(place);
    startInTurn(world, () => {
      if (!this.#closing) this.#run(place);
    });
    this.#scope.run(`move ${spec.name}`, async (signal) => {
      const isSettled = ({ kind }: ConnectionState) => kind !== "idle" && kind !== "connecting";
      await place.server.state.until(isSettled, signal);
      this.#show(place.server);
      await from.drained(signal);
      this.#left.delete(from);
      await from.close();
    });
  }

  #show(server: Place["server"]): void {
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

  /** At once where it is decided: one layer of async less is worth a microsecond to each call. */
  #withPlace(options: CallOptions, run: (place: Place) => Promise<CallOutcome>): Promise<CallOutcome> {
    const place = this.#place.value;
    return place && !this.#closing ? run(place) : this.#onceDecided(options, run);
  }

  async #onceDecided({ signal }: CallOptions, run: (place: Place) => Promise<CallOutcome>): Promise<CallOutcome> {
    const place = await this.#decided(signal);
    if (signal.aborted) return { kind: "cancelled" };
    if (place && !this.#closing) return await run(place);
    const text = `server "${this.spec.name}" is not connected: it is closed`;
    return { kind: "failed", error: new TenonError("mcp.not_ready", text) };
  }

  async #decided(signal: AbortSignal): Promise<Place | undefined> {
    const over = AbortSignal.any([signal, this.#scope.signal]);
    return await this.#place.until((place) => place !== undefined, over).catch(() => undefined);
  }

  async #end(end: (place: Place) => Promise<void>, grace: EndGrace): Promise<void> {
    this.#unfollow();
    this.#state.set({ kind: "closing" });
    const place = this.#place.value;
    await Promise.all([
      this.#scope.close(),
      ...(place ? [end(place)] : []),
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
