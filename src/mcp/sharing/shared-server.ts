// One connection that several sessions use: counted, kept a while when the last one leaves, given up when the server asks.
import type { Scope } from "../../base/async/scope.js";
import type { EndGrace } from "../../base/io/process.js";
import { LIMITS } from "../../base/limits.js";
import type { Timer, World } from "../../base/ports/world.js";
import { McpConnection } from "../connection/connection.js";
import type { ConnectionOptions } from "../connection/options.js";
import { POOL_LIMITS } from "../limits.js";
import type { Link } from "../protocol/link.js";
import type { ServerSpec } from "../spec.js";
import { Lease, type LeaseOptions } from "./lease.js";
import { type Asker, type LinkUsage, type LinkUser, SharedLink } from "./shared-link.js";
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
