// How a session of a gateway ends: closed, left to the next gateway of the machine, or handed over to another node.
import { orAborted, sleep } from "../../base/async/deadline.js";
import { abortListeners } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import type { Session } from "../../session/index.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { Nodes } from "../nodes/nodes.js";

interface EndingSession {
  readonly id: string;
  readonly account: string;
  readonly session: Session;
  readonly members: ReadonlySet<{ reconnect(reason?: string): void }>;
}

interface EndingOptions {
  readonly world: Pick<World, "log">;
  /** The others, which may have the session as soon as it stands still. */
  readonly nodes: Nodes | undefined;
  /** Its open turn is for the next owner. */
  readonly mayGoOn: boolean;
  /** Aborts when calls that were sent are waited for no longer. */
  readonly patience: AbortSignal;
  /** Other nodes may have the session. */
  readonly onReleased?: () => void;
}

export async function endSession(
  open: EndingSession,
  { world, nodes, mayGoOn, patience, onReleased }: EndingOptions,
): Promise<void> {
  const { id, account, session, members } = open;
  const { epoch, lost } = session.owned;
  const reconnect = (reason?: string) => {
    for (const member of members) member.reconnect(reason);
  };
  if (lost.aborted) {
    reconnect(`The session moves to another node: ${messageOf(lost.reason)}.`);
    return await session.close();
  }
  if (!mayGoOn) return await session.close();
  if (!nodes) return await session.drain(AbortSignal.abort());
  await session.drain(patience, () => {
    world.log.info("session.handed_over", { session: id, account, epoch });
    onReleased?.();
    reconnect();
  });
}

type HandedOver = Pick<EndingSession, "id"> & {
  readonly session: Pick<Session, "state"> & { log: Pick<Session["log"], "lastSeq"> };
};

interface Released {
  readonly sinceMs: number;
  /** Of the last record here; undefined: it is not released yet. */
  readonly seq?: number;
}

/**
 * Hands running turns to other nodes as fast as these go on with them. Few get the time that calls have in any drain; of many, each waits
 * for its calls until the others have gone on with those before it: a turn that is released too early stands still in a line.
 */
export class HandOver<T extends HandedOver> {
  readonly #world: World;
  readonly #nodes: Pick<Nodes, "self" | "list" | "lastSeqs">;
  readonly #calls = new Map<T, AbortController>();
  /** Those that nobody goes on with yet, as far as this node knows. */
  readonly #released = new Map<T, Released>();

  constructor(world: World, nodes: Pick<Nodes, "self" | "list" | "lastSeqs">, open: readonly T[]) {
    this.#world = world;
    this.#nodes = nodes;
    for (const one of open) if (one.session.state === "running") this.#calls.set(one, new AbortController());
  }

  /** Aborts when the session's calls are waited for no longer; undefined: it has no turn. */
  patienceOf(one: T): AbortSignal | undefined {
    return this.#calls.get(one)?.signal;
  }

  /** Also one whose calls ended by themselves. */
  noteReleased(one: T): void {
    if (this.#calls.has(one))
      this.#released.set(one, { sinceMs: this.#world.monotonicMs(), seq: one.session.log.lastSeq });
  }

  /** Until all are released, or the signal aborts: then none is waited for any more. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#run(signal);
    } catch (error) {
      if (!signal.aborted) this.#world.log.warn("gateway.hand_over_failed", { error: messageOf(error) });
    } finally {
      for (const calls of this.#calls.values()) calls.abort();
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const most = GATEWAY_LIMITS.nodes.openedAtOnce * (await this.#others(signal));
    const groups = Math.max(1, Math.ceil(this.#calls.size / most));
    await sleep(this.#world, GATEWAY_LIMITS.sessions.drainCallsMs / groups, signal);
    const waiting = [...this.#calls.keys()];
    for (;;) {
      while (this.#released.size < most && waiting.length > 0) this.#end(waiting.shift());
      if (waiting.length === 0) return;
      await sleep(this.#world, GATEWAY_LIMITS.nodes.handOverLookMs, signal);
      await this.#look(signal);
    }
  }

  #end(one: T | undefined): void {
    const calls = one && this.#calls.get(one);
    if (!one || !calls || this.#released.has(one)) return;
    this.#released.set(one, { sinceMs: this.#world.monotonicMs() });
    calls.abort();
  }

  /** Forgets those that another node has written a record of, and those that nobody takes. */
  async #look(signal: AbortSignal): Promise<void> {
    const ids = [...this.#released.keys()].map(({ id }) => id);
    const seqs = await this.#asked(() => this.#nodes.lastSeqs(ids), signal);
    const oldMs = this.#world.monotonicMs() - GATEWAY_LIMITS.nodes.handOverMs;
    for (const [one, { seq = Number.POSITIVE_INFINITY, sinceMs }] of this.#released) {
      if ((seqs?.get(one.id) ?? 0) > seq || sinceMs <= oldMs) this.#released.delete(one);
    }
  }

  /** The nodes that may take them; where there are none, nobody has to be waited for. */
  async #others(signal: AbortSignal): Promise<number> {
    const nodes = await this.#asked(() => this.#nodes.list(), signal);
    const others = nodes?.filter(({ id, leaseLeftMs, isDraining }) => {
      return id !== this.#nodes.self.value && leaseLeftMs > 0 && !isDraining;
    });
    return others?.length === 0 ? Number.POSITIVE_INFINITY : (others?.length ?? 1);
  }

  /** Undefined: the database is away, which others wait for. */
  async #asked<R>(ask: () => Promise<R>, signal: AbortSignal): Promise<R | undefined> {
    using patience = this.#world.deadline(GATEWAY_LIMITS.nodes.handOverMs, signal);
    return await orAborted(ask(), patience.signal).catch(() => undefined);
  }
}

/** Waits for its turn, but not for people: that may take hours, and the question is asked again by the next gateway. */
export async function drainWithin(world: World, session: Session, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const check = () => {
      if (session.state !== "running" || signal.aborted) resolve();
    };
    session.onInfo(check);
    abortListeners(signal).add(check);
    check();
  });
  using patience = world.deadline(GATEWAY_LIMITS.sessions.drainCallsMs);
  await session.drain(patience.signal);
}

/** Nobody waits long for a database that is away: then the lease ends by itself. */
export async function announceDrain(world: World, nodes: Nodes): Promise<void> {
  using patience = world.deadline(GATEWAY_LIMITS.nodes.announceMs);
  await orAborted(nodes.drain(), patience.signal).catch((error: unknown) => {
    world.log.warn("gateway.drain_not_announced", { error: messageOf(error) });
  });
}

/** For what the next gateway answers. */
export function unanswered(): Promise<never> {
  return new Promise(() => {});
}
