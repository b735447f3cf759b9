// Sessions whose node is gone: this node takes its share of those whose folders it has, and goes on with their turns.
import { sep } from "node:path";
import type { TellAll } from "../../acp/index.js";
import { Cell } from "../../base/async/cell.js";
import { sleep } from "../../base/async/deadline.js";
import { abortListeners, Scope } from "../../base/async/scope.js";
import { messageOf } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import { allowedDirectory } from "../access/principal.js";
import { GATEWAY_LIMITS } from "../limits.js";
import type { LeftSession, NodeInfo, Nodes } from "./nodes.js";

interface TakeoverOptions {
  readonly world: World;
  readonly nodes: Nodes;
  /** The directories that sessions may be in; all unless given. */
  readonly roots: readonly string[];
  /** Whether one more session of the account may be opened. */
  readonly hasRoom: (account: string) => boolean;
  /** Opens it and goes on with its turn. */
  readonly open: (session: LeftSession) => Promise<void>;
}

/** Whether a node may have sessions in a folder, as far as its roots say. */
function mayHave({ roots }: Pick<NodeInfo, "roots">, cwd: string): boolean {
  return (
    roots.length === 0 || roots.some((root) => cwd === root || cwd.startsWith(root.endsWith(sep) ? root : root + sep))
  );
}

/** Between two looks, of a third of the lease; the most is half a third longer. */
const LEAST_PAUSE = 0.75;
/** Of the time between two looks: hints and the ends of leases bring all nodes to look in one moment. */
const OTHERS_SHARE = 5;
/** After the end of a lease, to be sure. */
const OVER_MS = 10;

export class Takeover implements AsyncDisposable {
  readonly #options: TakeoverOptions;
  readonly #scope: Scope;
  /** By account and id, those that are being opened. */
  readonly #opening = new Set<string>();
  /** When they were first seen to be left, by account and id. */
  #seenMs: ReadonlyMap<string, number> = new Map();
  /** Until when they are left to others, by account and id: this node could not open them. */
  #givenUp: ReadonlyMap<string, number> = new Map();
  /** Sessions are being opened, or are left and this node may take them. */
  readonly #isBusy = new Cell(false);
  /** Something happened since the last look. */
  #isHinted = false;
  #resume: (() => void) | undefined;
  #count = 0;

  constructor(options: TakeoverOptions) {
    const { world, nodes } = options;
    this.#options = options;
    this.#scope = new Scope(world.log);
    this.#scope.own(
      nodes.onHint(({ seq }) => {
        if (seq === undefined) this.#wake();
      }),
    );
    this.#scope.defer(
      nodes.self.subscribe((id) => {
        if (id !== undefined) this.#wake();
      }),
    );
    abortListeners(this.#scope.signal).add(this.#wake);
    this.#scope.run("take sessions over", (signal) => this.#run(signal));
  }

  /**
   * Resolves once no session of another node waits to be opened here, at the latest after a bound; undefined: none does. Clients that come
   * meanwhile wait for it: they come in hundreds when a node ends, and what they want first is that their turns go on.
   */
  calm(): Promise<void> | undefined {
    return this.#isBusy.value ? this.#untilCalm() : undefined;
  }

  async #untilCalm(): Promise<void> {
    using patience = this.#options.world.deadline(GATEWAY_LIMITS.nodes.clientsWaitMs);
    await this.#isBusy.until((isBusy) => !isBusy, patience.signal).catch(() => undefined); // it has been long enough
  }

  /** Sessions taken since the start. */
  get count(): number {
    return this.#count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.close();
  }

  /**
   * A third of the lease, so that all nodes have looked before the next one ends; at once after a hint, and when the lease of a node
   * that does not renew it is over.
   */
  async #run(signal: AbortSignal): Promise<void> {
    const { world, nodes } = this.#options;
    let soonMs = Number.POSITIVE_INFINITY;
    while (!signal.aborted) {
      await this.#pause(Math.min(soonMs, this.#thirdMs * (LEAST_PAUSE + this.#random() / 2)));
      soonMs = Number.POSITIVE_INFINITY;
      if (signal.aborted || nodes.self.value === undefined) continue;
      try {
        const isLeft = await this.#round(signal);
        this.#isBusy.set(isLeft || this.#opening.size > 0);
        soonMs = Math.min(await this.#nextEndMs(), isLeft ? this.#othersMs : soonMs);
      } catch (error) {
        world.log.warn("takeover.failed", { error: messageOf(error) });
      }
    }
  }

  /** Until the first lease is over that should have been renewed by now. */
  async #nextEndMs(): Promise<number> {
    const { nodes } = this.#options;
    const left = (await nodes.list()).filter(({ id }) => id !== nodes.self.value).map(({ leaseLeftMs }) => leaseLeftMs);
    return Math.min(...left.filter((ms) => ms > 0 && ms < nodes.leaseMs / 2)) + OVER_MS;
  }

  readonly #wake = (): void => {
    this.#isHinted = true;
    this.#resume?.();
  };

  async #pause(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#options.world.after(delayMs, resolve);
      this.#resume = () => {
        timer.clear();
        resolve();
      };
      if (this.#isHinted) this.#resume();
    });
    this.#isHinted = false;
  }

  /**
   * Takes only what can be opened at once: what waits here would be opened sooner elsewhere. Resolves with whether some are left to the
   * others, which may not take them.
   */
  async #round(signal: AbortSignal): Promise<boolean> {
    const { nodes } = this.#options;
    let quota: number | undefined;
    while (!signal.aborted) {
      const room = GATEWAY_LIMITS.nodes.openedAtOnce - this.#opening.size;
      if (room <= 0) return false; // the end of an opening is a hint
      const left = await this.#mine(await nodes.left(GATEWAY_LIMITS.nodes.leftAtOnce));
      if (left.length === 0) return false;
      quota ??= this.#share(left, await nodes.list());
      const start = Math.floor(this.#random() * left.length); // so that nodes that look at once seldom want the same
      const wanted = [...left.slice(start), ...left.slice(0, start)].slice(0, Math.min(room, quota));
      const free = wanted.filter(({ isOwn }) => !isOwn);
      const own = wanted.filter(({ isOwn }) => isOwn);
      const taken = free.length === 0 ? own : [...own, ...(await nodes.takeOver(free))];
      for (const session of taken) this.#open(session);
      quota -= taken.length;
      if (taken.length === 0) return true;
    }
    return false;
  }

  /** Of those that are left, the ones this node can open: with the real paths of their folders. */
  async #mine(left: readonly LeftSession[]): Promise<readonly LeftSession[]> {
    const { world, roots, hasRoom, nodes } = this.#options;
    const nowMs = world.monotonicMs();
    this.#seenMs = new Map(left.map((one) => [keyOf(one), this.#seenMs.get(keyOf(one)) ?? nowMs]));
    this.#givenUp = new Map([...this.#givenUp].filter(([, untilMs]) => untilMs > nowMs));
    const here: LeftSession[] = [];
    const reals = new Map<string, Promise<string>>(); // many sessions are in one directory
    const real = (path: string) => {
      const found = reals.get(path) ?? allowedDirectory(world, path, roots);
      reals.set(path, found);
      return found;
    };
    for (const one of left) {
      if (this.#opening.has(keyOf(one)) || this.#givenUp.has(keyOf(one))) continue;
      const paths = await Promise.all([one.cwd, ...one.additionalDirectories].map(real)).catch(() => undefined);
      const [cwd, ...additionalDirectories] = paths ?? [];
      if (cwd !== undefined && hasRoom(one.account)) {
        here.push(roots.length === 0 ? one : { ...one, cwd, additionalDirectories });
      } else if (one.isOwn) await nodes.giveBack(one);
    }
    return here;
  }

  /** A fair part of new ones; all of those that the others have not taken since the last look. */
  #share(left: readonly LeftSession[], nodes: readonly NodeInfo[]): number {
    const living = nodes.filter(({ leaseLeftMs, isDraining }) => leaseLeftMs > 0 && !isDraining);
    const oldSinceMs = this.#options.world.monotonicMs() - this.#othersMs;
    const parts = left.map((one) => {
      const isOld = (this.#seenMs.get(keyOf(one)) ?? 0) <= oldSinceMs;
      return isOld || one.isOwn ? 1 : 1 / Math.max(1, living.filter((node) => mayHave(node, one.cwd)).length);
    });
    return Math.ceil(parts.reduce((sum, part) => sum + part, 0));
  }

  #open(session: LeftSession): void {
    const key = keyOf(session);
    const { id, account } = session;
    this.#options.world.log.info("session.taken_over", { session: id, account });
    this.#count += 1;
    this.#opening.add(key);
    this.#isBusy.set(true);
    this.#scope.run("open a session of another node", async (signal) => {
      try {
        await this.#attempt(session, signal);
      } finally {
        this.#opening.delete(key);
        if (this.#opening.size <= GATEWAY_LIMITS.nodes.openedAtOnce / 2) this.#wake(); // and finds whether it is calm
        if (signal.aborted) await this.#options.nodes.giveBack(session); // in a drain: not only when this node has ended
      }
    });
  }

  /** Until it is given back nobody else would open it. */
  async #attempt(session: LeftSession, signal: AbortSignal): Promise<void> {
    const { world, nodes, open } = this.#options;
    const self = nodes.self.value;
    for (let attempt = 1; !signal.aborted && nodes.self.value === self; attempt += 1) {
      try {
        return await open(session);
      } catch (error) {
        const { id, account } = session;
        const isLast = attempt === GATEWAY_LIMITS.nodes.openAttempts;
        world.log[isLast ? "error" : "warn"]("session.not_continued", {
          session: id,
          account,
          error: messageOf(error),
        });
        if (isLast) return await this.#giveUp(session);
      }
      await sleep(world, this.#thirdMs, signal);
    }
  }

  /** Another node may be able to open it; this one tries again later. */
  async #giveUp(session: LeftSession): Promise<void> {
    const { world, nodes } = this.#options;
    const untilMs = world.monotonicMs() + GATEWAY_LIMITS.nodes.givenUpMs;
    this.#givenUp = new Map(this.#givenUp).set(keyOf(session), untilMs);
    await nodes.giveBack(session);
  }

  /** The others have looked by then, and taken their share. */
  get #othersMs(): number {
    return this.#thirdMs / OTHERS_SHARE;
  }

  get #thirdMs(): number {
    return this.#options.nodes.leaseMs / 3;
  }

  /** From 0 to 1. */
  #random(): number {
    return Buffer.from(this.#options.world.randomBytes(4)).readUInt32BE() / 2 ** 32;
  }
}

function keyOf({ account, id }: LeftSession): string {
  return `${account} ${id}`;
}

const WAITING = "Turns stop before their next step, nothing is lost, and they go on when it is back.";

/** Clients are told when the database is away for longer than a moment, and when it is back. */
export function tellWhileAway({ problem }: Pick<Nodes, "problem">, tell: TellAll): () => void {
  let isTold = false;
  return problem.subscribe((reason) => {
    if (reason === undefined) tell("warning", "The database of the gateway can be reached again.");
    else if (!isTold) tell("warning", `The database of the gateway cannot be reached: ${reason}. ${WAITING}`);
    isTold = reason !== undefined;
  });
}
