// One connection that several sessions use, each by a lease: counted, kept a while when the last one leaves, given up when the server asks.

import { Cell } from "../../base/async/cell.js";
import type { Scope } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import type { EndGrace } from "../../base/io/process.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { Timer, World } from "../../base/ports/world.js";
import { McpConnection } from "../connection/connection.js";
import type { ConnectionOptions } from "../connection/options.js";
import { POOL_LIMITS } from "../limits.js";
import type { CallOptions, CallOutcome } from "../protocol/call.js";
import type { Link } from "../protocol/link.js";
import { type Peer, PeerAnswers } from "../protocol/peer.js";
import type { TaskHandle } from "../protocol/task.js";
import type { ServerSpec } from "../spec.js";
import { type Asker, joinSignals, type LinkUsage, type LinkUser, SharedLink } from "./shared-link.js";
import { SharedPeer } from "./shared-peer.js";

export interface SharedServerOptions {
  readonly world: World;
  readonly spec: ServerSpec;
  readonly idleMs: number;
  /** Awaits what ends by itself. */
  readonly scope: Scope;
  /** It asked for something that only one session can answer. */
  onAsks(): void;
  /** Nobody else is to come: it asks, or it ends. */
  onRetired(server: SharedServer): void;
}

export class SharedServer {
  readonly connection: McpConnection;
  readonly #options: SharedServerOptions;
  readonly #world: World;
  readonly #leases = new Map<LinkUser, Lease>();
  readonly #links = new WeakMap<Link, SharedLink>();
  /** Those who share it have the same directories. */
  readonly #hasSameRoots: boolean;
  #idle: Timer | undefined;
  #isRetired = false;

  /**
   * `first`: what the first session brings; in all that counts the others bring the same. Nothing that is only its own is
   * kept: the server may outlive it for days.
   */
  constructor(options: SharedServerOptions, first: ConnectionOptions) {
    const { spec, world } = options;
    const { session: _session, channel: _channel, peer, ...rest } = first;
    this.#options = options;
    this.#world = world;
    this.#hasSameRoots = spec.kind === "stdio";
    this.connection = new McpConnection(spec, {
      ...rest,
      peer: new SharedPeer(this, peer, this.#hasSameRoots),
    });
  }

  lease(options: LeaseOptions): Lease {
    this.#idle?.clear();
    this.#idle = undefined;
    const lease = new Lease(this, options);
    this.#leases.set(lease.linkUser, lease);
    this.connection.setSharingSessions(this.#leases.size);
    return lease;
  }

  async release(lease: Lease, grace: EndGrace, mayRest: boolean): Promise<void> {
    if (!this.#leases.delete(lease.linkUser)) return;
    this.connection.setSharingSessions(Math.max(1, this.#leases.size));
    if (this.#leases.size > 0) return;
    const { kind } = this.connection.state.value;
    if (!mayRest || this.#isRetired || (kind !== "ready" && kind !== "connecting")) return await this.end(grace);
    this.#idle = this.#world.after(this.#options.idleMs, () => {
      const { scope, spec } = this.#options;
      this.#world.log.debug("mcp.idle_closed", { server: spec.name });
      scope.run(`end ${spec.name}`, () => this.end(LIMITS.closeGrace));
    });
  }

  /** For good, also while sessions use it. */
  async end(grace: EndGrace): Promise<void> {
    this.#idle?.clear();
    this.#retire();
    await this.connection.close(grace);
  }

  hasOthersThan(lease: Lease): boolean {
    return [...this.#leases.values()].some((one) => one !== lease);
  }

  isOf(session: string): boolean {
    return [...this.#leases.values()].some((lease) => lease.session === session);
  }

  linkOf(link: Link): SharedLink {
    const known = this.#links.get(link);
    if (known) return known;
    const shared = new SharedLink(link);
    this.#links.set(link, shared);
    return shared;
  }

  /** A session is about to be asked for something: it counts only where sessions differ in the answer. */
  onAnswering(method: string): void {
    if (method === "ping" || (method === "roots/list" && this.#hasSameRoots)) return;
    this.onAsked();
  }

  /**
   * Told apart from now on: no session joins any more, and those that are here get servers of their own; calls that run end
   * here. Only a session that is alone with it keeps it, unless one that left may still have something under way.
   */
  onAsked(): void {
    if (this.#isRetired) return;
    this.#world.log.info("mcp.not_shared", { server: this.#options.spec.name, sessions: this.#leases.size });
    this.#retire();
    this.#options.onAsks();
    const leases = [...this.#leases.values()];
    const [only] = leases;
    if (!only) this.#options.scope.run(`end ${this.#options.spec.name}`, () => this.end(LIMITS.closeGrace));
    else if (leases.length === 1 && !this.#usage?.hasOthersThan(only.linkUser)) return;
    for (const lease of leases) lease.evict();
  }

  /** The session a question is for: waits, within a bound, until it can be decided. */
  async asker(signal: AbortSignal): Promise<Lease | undefined> {
    const usage = this.#usage;
    if (usage?.asker.kind !== "several") return this.askerNow();
    using deadline = this.#world.deadline(POOL_LIMITS.askerWaitMs, signal);
    const asker = await usage.decided(deadline.signal).catch((): Asker => ({ kind: "several" }));
    return this.#leaseOf(asker);
  }

  /** The same, as far as it can be decided at once. */
  askerNow(): Lease | undefined {
    return this.#leaseOf(this.#usage?.asker ?? { kind: "nobody" });
  }

  /** The only session that ever used the connection: whatever the server says can only be about it. */
  only(): Lease | undefined {
    const usage = this.#usage;
    const [first, second] = this.#leases.values();
    if (!usage || usage.isUnused) return second ? undefined : first;
    return usage.only && this.#leases.get(usage.only);
  }

  /** All sessions a question may be for. */
  suspects(): readonly Lease[] {
    return (this.#usage?.linkUsers ?? []).flatMap((linkUser) => this.#leases.get(linkUser) ?? []);
  }

  everybody(): readonly Lease[] {
    return [...this.#leases.values()];
  }

  /** Of the link there is now; before the first no session can have sent anything. */
  get #usage(): LinkUsage | undefined {
    const { link } = this.connection;
    return link && this.linkOf(link).usage;
  }

  #leaseOf(asker: Asker): Lease | undefined {
    if (asker.kind === "one") return this.#leases.get(asker.linkUser);
    return asker.kind === "nobody" ? this.only() : undefined;
  }

  #retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#options.onRetired(this);
  }
}

export interface LeaseOptions {
  readonly world: World;
  readonly peer: Peer;
  /** Whose it is, for those who ask what a session uses. */
  readonly session?: string;
  /** The server turned out to ask: the session must have one of its own. */
  onEvicted(lease: Lease): void;
}

export class Lease {
  readonly linkUser: LinkUser = {};
  readonly peer: Peer;
  /** The session that has it. */
  readonly session: string | undefined;
  readonly connection: McpConnection;
  readonly #options: LeaseOptions;
  readonly #server: SharedServer;
  readonly #answers: PeerAnswers;
  readonly #over = new AbortController();
  /** Calls and other requests under way. */
  readonly #running = new Cell(0);
  readonly #views = new WeakMap<Link, Link>();
  #releasing: Promise<void> | undefined;

  constructor(server: SharedServer, options: LeaseOptions) {
    this.#server = server;
    this.connection = server.connection;
    this.#options = options;
    this.peer = options.peer;
    this.session = options.session;
    this.#answers = new PeerAnswers(options.peer, options.world.log);
  }

  /** Aborts when the session has left. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  get link(): Link | undefined {
    const { link } = this.connection;
    return link && !this.signal.aborted ? this.view(link) : undefined;
  }

  /** Whether others use the same server now. */
  get hasOthers(): boolean {
    return this.#server.hasOthersThan(this);
  }

  /** One that failed, or waits, is tried again at once: for the session that comes it is the first time. */
  start(): void {
    const { kind } = this.connection.state.value;
    if (kind === "failed" || kind === "waiting") this.connection.restart();
    else this.connection.start();
  }

  startWhenUsed(): void {
    if (this.connection.state.value.kind === "idle") this.connection.startWhenUsed();
  }

  async call(tool: string, args: JsonObject, options: CallOptions): Promise<CallOutcome> {
    return await this.#follow(tool, options, (own) => this.connection.call(tool, args, own));
  }

  async resume(tool: string, task: TaskHandle, options: CallOptions): Promise<CallOutcome> {
    return await this.#follow(tool, options, (own) => this.connection.resume(tool, task, own));
  }

  /** From the moment a call has a link until its outcome, what the server asks there may be for it. */
  async #follow(
    tool: string,
    options: CallOptions,
    run: (own: CallOptions) => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    const { name } = this.connection.spec;
    if (this.signal.aborted) return { kind: "failed", error: notConnected(name) };
    const ends = new Map<Link, (isAnswered: boolean) => void>();
    const view = (link: Link) => {
      if (!ends.has(link)) ends.set(link, this.#server.linkOf(link).usage.begin(this.linkUser));
      return this.view(link);
    };
    using over = joinSignals(options.signal, this.signal);
    const { signal } = over;
    const outcome = await this.track(run({ ...options, signal, sharingSession: { id: this.linkUser, view } }));
    for (const end of ends.values()) end(outcome.kind === "answered" || outcome.kind === "failed");
    const isCutOff = outcome.kind === "cancelled" && !options.signal.aborted;
    return isCutOff ? cutOff(name, tool, ends.size > 0) : outcome;
  }

  /** Known to be under way until it has settled. */
  async track<T>(work: Promise<T>): Promise<T> {
    this.#running.set(this.#running.value + 1);
    try {
      return await work;
    } finally {
      this.#running.set(this.#running.value - 1);
    }
  }

  /** The link as this session may use it. */
  view(link: Link): Link {
    const known = this.#views.get(link);
    if (known) return known;
    const view = this.#server.linkOf(link).viewFor(this);
    this.#views.set(link, view);
    return view;
  }

  /** Answers what a request of this session asks for. */
  readonly answer = async (method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    this.#server.onAnswering(method);
    return await this.#answers.answer(method, params, signal);
  };

  evict(): void {
    this.#options.onEvicted(this);
  }

  /** Resolves once nothing of this session is under way. */
  async drained(signal: AbortSignal): Promise<void> {
    await this.#running.until((count) => count === 0, signal);
  }

  /** Its server ends with it, unless others use it, or it may rest: then it stays for a while, for the next session. */
  release(grace: EndGrace, mayRest = false): Promise<void> {
    // Not a cancel: a task goes on at the server, and may be asked for again.
    this.#over.abort(new TenonError("session.closed", "the session has left the server"));
    this.#releasing ??= this.#server.release(this, grace, mayRest);
    return this.#releasing;
  }
}

export function notConnected(server: string): TenonError {
  return new TenonError("mcp.not_ready", `server "${server}" is not connected: it is closed`);
}

/** The session left while the call ran: for it that is the end of the connection. */
function cutOff(server: string, tool: string, wasBegun: boolean): CallOutcome {
  if (!wasBegun) return { kind: "failed", error: notConnected(server) };
  const text = `${server} / ${tool}: the connection was closed; whether it took effect is unknown`;
  return { kind: "unknown", error: new TenonError("mcp.connection_lost", text) };
}
