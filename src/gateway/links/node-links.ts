// The links of a node to the others, at both ends, and the logs of others' sessions that its clients follow.
import { handled } from "../../base/async/scope.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { Timer, World } from "../../base/ports/world.js";
import { type SessionStore, StoredLog } from "../../session/index.js";
import type { Principal } from "../access/principal.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { NodeInfo, NodeMessage, Nodes } from "../nodes/nodes.js";
import type { ClientStream } from "../server/client-stream.js";
import { LinkEnd, type LinkEndOptions, LinkStream, readOpening, SERVICE_RESTART } from "./link.js";

export interface NodeLinksOptions {
  readonly world: Pick<World, "after" | "log" | "randomBytes">;
  readonly nodes: Nodes;
  /** A client of another node uses sessions of this one. */
  readonly accept: (
    principal: Principal,
    stream: ClientStream,
    about: { readonly id: string; readonly node: string },
  ) => void;
}

interface FollowedLog {
  readonly log: Promise<StoredLog>;
  users: number;
}

/** A log that is followed: `release` it when nobody of the client needs it. */
export interface UsedLog {
  readonly stored: StoredLog;
  release(): void;
}

export class NodeLinks implements AsyncDisposable {
  readonly #options: NodeLinksOptions;
  /** By the other node and the link. */
  readonly #ends = new Map<string, LinkEnd>();
  /** By session: accounts may have sessions of the same id. */
  readonly #logs = new Map<string, Map<SessionStore, FollowedLog>>();
  /** Those who want to know which nodes live. */
  readonly #watchers = new Set<(nodes: readonly NodeInfo[]) => void>();
  readonly #stops: (() => void)[];
  #check: Timer | undefined;
  #isChecking = false;
  #isWanted = false;
  #isClosed = false;

  constructor(options: NodeLinksOptions) {
    this.#options = options;
    const { nodes } = options;
    const listening = nodes.listen({
      onMessage: (message) => this.#receive(message),
      onBroken: (node, link) =>
        this.#break((end) => (node === undefined || end.node === node) && (link === undefined || end.id === link)),
    });
    const hinted = nodes.onHint(({ session, seq }) => this.advance(session, seq ?? Number.POSITIVE_INFINITY));
    const stop = nodes.self.subscribe(() => this.#break(() => true)); // the links were those of the lease that is over
    this.#stops = [() => listening[Symbol.dispose](), () => hinted[Symbol.dispose](), stop];
  }

  get nodes(): Nodes {
    return this.#options.nodes;
  }

  /** To a node, for a connection of this one. */
  open(
    node: string,
    { account, name, scopes, tokenId }: Principal,
    handlers: Pick<LinkEndOptions, "onMessage" | "onEnd">,
  ): LinkEnd {
    const link = Buffer.from(this.#options.world.randomBytes(12)).toString("hex");
    const end = this.#add({ node, id: link, ...handlers });
    end.open({ account, name, scopes: [...scopes], ...defined({ tokenId }) });
    return end;
  }

  /** The nodes that live, now and each second; returns the way to stop. */
  watch(listener: (nodes: readonly NodeInfo[]) => void): () => void {
    this.#watchers.add(listener);
    this.#checkSoon(0);
    return () => {
      this.#watchers.delete(listener);
    };
  }

  /**
   * One log for all clients of this node. `seq`: of a record that is in the store; `after`: of the last one that the client has, so that
   * those it lacks are read once, with the beginning of the turn, where they are few.
   */
  async follow(
    store: SessionStore,
    id: string,
    { seq, after }: { readonly seq: number; readonly after: number },
  ): Promise<UsedLog> {
    const ofId = this.#logs.get(id) ?? new Map<SessionStore, FollowedLog>();
    const from = seq - after <= GATEWAY_LIMITS.links.missedRecords ? after : seq;
    const known = ofId.get(store) ?? { log: StoredLog.open(store, id, from), users: 0 };
    this.#logs.set(id, ofId.set(store, known));
    known.users += 1;
    this.#checkSoon();
    const release = () => {
      known.users -= 1;
      if (known.users > 0) return;
      this.#forget(id, store, known);
      handled(
        known.log.then((log) => log.close()),
        this.#options.world.log,
        "end of a followed log",
      );
    };
    try {
      const stored = await known.log;
      if (stored.log.lastSeq < seq) await stored.advance();
      return { stored, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The session has a record of that number: those who follow it here get it. */
  advance(session: string, seq: number): void {
    for (const [store, followed] of this.#logs.get(session) ?? []) {
      const advanced = followed.log.then(async (stored) => {
        if (stored.log.lastSeq < seq) await stored.advance();
      });
      // The next hint or look tries again; a database that stays away ends the links.
      advanced.catch((error: unknown) => {
        if (isGone(error)) this.#forget(session, store, followed);
        this.#options.world.log.warn("links.read_failed", { session, error: messageOf(error) });
      });
    }
  }

  #forget(session: string, store: SessionStore, followed: FollowedLog): void {
    const ofId = this.#logs.get(session);
    if (ofId?.get(store) === followed) ofId.delete(store);
    if (ofId?.size === 0) this.#logs.delete(session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#check?.clear();
    this.#break(() => true);
  }

  #receive(message: NodeMessage): void {
    const { node, link } = message;
    const known = this.#ends.get(`${node} ${link}`);
    if (known) return known.receive(message);
    const principal = readOpening(message);
    if (!principal || this.#isClosed) return;
    const { world, nodes, accept } = this.#options;
    const end = this.#add({
      ...{ node, id: link },
      onMessage: (linked) => stream.receive(linked),
      onEnd: () => stream.ended(),
    });
    const stream = new LinkStream({
      link: end,
      log: world.log,
      onRecord: (session, seq) => nodes.hint({ session, seq }),
    });
    end.receive(message); // it counts
    accept(principal, stream, { id: link, node });
  }

  #add(options: Omit<LinkEndOptions, "send">): LinkEnd {
    const key = `${options.node} ${options.id}`;
    const end = new LinkEnd({
      ...options,
      send: (message) => this.#options.nodes.send(message),
      onEnd: (reason, code) => {
        this.#ends.delete(key);
        options.onEnd(reason, code);
      },
    });
    this.#ends.set(key, end);
    this.#checkSoon();
    return end;
  }

  #break(isBroken: (end: LinkEnd) => boolean): void {
    for (const end of [...this.#ends.values()]) {
      if (isBroken(end)) end.end("the link to another node broke", SERVICE_RESTART);
    }
  }

  #checkSoon(afterMs: number = GATEWAY_LIMITS.links.checkMs): void {
    if (this.#isClosed || this.#ends.size + this.#logs.size + this.#watchers.size === 0) return;
    if (this.#isChecking) {
      this.#isWanted ||= afterMs === 0;
      return;
    }
    if (this.#check && afterMs > 0) return;
    this.#check?.clear();
    const { world } = this.#options;
    this.#check = world.after(afterMs, () => handled(this.#checkInTurn(), world.log, "look at other nodes"));
  }

  async #checkInTurn(): Promise<void> {
    this.#check = undefined;
    this.#isChecking = true;
    await this.#checkNow();
    this.#isChecking = false;
    const isWanted = this.#isWanted;
    this.#isWanted = false;
    this.#checkSoon(isWanted ? 0 : undefined);
  }

  /** Where the database is away nothing is known of the others: the lease of this node ends with it, if that takes long. */
  async #checkNow(): Promise<void> {
    const { nodes, world } = this.#options;
    try {
      const living = (await nodes.list()).filter(({ leaseLeftMs }) => leaseLeftMs > 0);
      const ids = new Set(living.map(({ id }) => id));
      this.#break(({ node }) => !ids.has(node));
      for (const watcher of [...this.#watchers]) watcher(living);
      if (this.#logs.size === 0) return;
      for (const [session, seq] of await nodes.lastSeqs([...this.#logs.keys()])) this.advance(session, seq);
    } catch (error) {
      world.log.warn("links.check_failed", { error: messageOf(error) });
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof TenonError && error.code === "session.not_found";
}
