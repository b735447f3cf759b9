// The faults of the chaos run, one every 2.5 seconds: always on a node that is well, and never on the last such one.
import { setTimeout as sleep } from "node:timers/promises";
import type { Postgres } from "../../test/postgres.js";
import type { ClusterNode } from "./cluster.js";
import type { Network } from "./network.js";
import type { Held } from "./verdict.js";

const EVERY_MS = 2_500;
const FROZEN_MS = 6_000;
const CUT_MS = 10_000;

/** "database": it is restarted once, in the middle. */
export const KINDS = ["kill", "freeze", "partition", "drain", "database"] as const;
export type Kind = (typeof KINDS)[number];
type NodeKind = Exclude<Kind, "database">;

export interface FaultsOptions {
  readonly nodes: readonly ClusterNode[];
  readonly network: Network;
  readonly postgres: Postgres;
  readonly databasePort: number;
  readonly random: () => number;
  readonly kinds: readonly Kind[];
  /** The sessions with an open turn that this node has now. */
  readonly held: (node: ClusterNode) => Promise<readonly Held[]>;
  /** Appends in the name of an owner that is gone; undefined where nobody has the session since. */
  readonly appendLate: (held: Held) => Promise<"refused" | "taken" | undefined>;
  readonly log: (words: string) => void;
}

export class Faults {
  readonly #options: FaultsOptions;
  readonly #running = new Set<Promise<void>>();
  readonly counts: Record<Kind, number> = { kill: 0, freeze: 0, partition: 0, drain: 0, database: 0 };
  readonly killed: Held[] = [];
  readonly drained: Held[] = [];
  readonly late: { refused: number; taken: number } = { refused: 0, taken: 0 };
  readonly problems: string[] = [];
  #restartedMs = Number.NEGATIVE_INFINITY;
  #killedMs = Number.NEGATIVE_INFINITY;

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  /** For so long; afterwards every node is well again. */
  async run(forMs: number): Promise<void> {
    const { random, postgres, log } = this.#options;
    const isRestarted = this.#options.kinds.includes("database");
    const until = performance.now() + forMs;
    const restartAt = performance.now() + forMs / 2;
    let kinds: NodeKind[] = [];
    while (performance.now() + EVERY_MS < until) {
      await sleep(EVERY_MS);
      if (isRestarted && this.counts.database === 0 && performance.now() > restartAt) {
        this.counts.database += 1;
        log("the database is restarted at once");
        this.#spoil();
        await postgres.restart("immediate");
        this.#restartedMs = performance.now();
        continue;
      }
      if (kinds.length === 0) kinds = this.#possible().sort(() => random() - 0.5);
      const well = this.#options.nodes.filter(({ ailment }) => ailment === undefined);
      if (well.length < 2) continue;
      const kind = nextKind(kinds, well.length === this.#options.nodes.length);
      kinds = kinds.filter((one) => one !== kind);
      const node = kind === "kill" ? await this.#busiest(well) : well[Math.floor(random() * well.length)];
      if (!node) continue;
      if (kind !== undefined) this.#begin(kind, node);
    }
    await Promise.all(this.#running);
  }

  /** The kill of a node that was drained a moment before has nothing to show. */
  async #busiest(nodes: readonly ClusterNode[]): Promise<ClusterNode | undefined> {
    const counts = await Promise.all(
      nodes.map(async (node) => ({ node, count: (await this.#options.held(node)).length })),
    );
    return counts.sort((a, b) => b.count - a.count)[0]?.node;
  }

  /** What is handed over now waits for the database. */
  #spoil(): void {
    const sinceMs = Date.now() - AFTER_RESTART_MS;
    for (const list of [this.killed, this.drained]) {
      for (const [index, one] of list.entries()) if (one.atMs > sinceMs) list[index] = { ...one, isClear: false };
    }
  }

  /** As an owner that was frozen on its way to the database would: one that wakes up by itself gives its lease up first. */
  async #haunt(held: readonly Held[]): Promise<void> {
    await sleep(LATE_MS);
    for (const one of held) {
      const answer = await this.#options.appendLate(one);
      if (answer !== undefined) this.late[answer] += 1;
    }
  }

  #possible(): NodeKind[] {
    const wanted = this.#options.kinds.filter((kind) => kind !== "database");
    return wanted.filter((kind) => kind !== "partition" || this.#options.network.cut !== undefined);
  }

  #begin(kind: NodeKind, node: ClusterNode): void {
    this.counts[kind] += 1;
    node.ailment = kind;
    this.#options.log(`${kind} ${node.name}`);
    const work = this.#inflict(kind, node)
      .catch((error: unknown) => {
        this.problems.push(`${kind} ${node.name}: ${error instanceof Error ? error.message : String(error)}`);
      })
      .then(() => {
        if (node.ailment === kind) node.ailment = undefined;
        this.#running.delete(work);
      });
    this.#running.add(work);
  }

  async #inflict(kind: NodeKind, node: ClusterNode): Promise<void> {
    const { held, network, databasePort, nodes } = this.#options;
    // What a kill left is being opened by the others for seconds, when the node itself is long back.
    const sinceMs = performance.now() - Math.max(this.#restartedMs, this.#killedMs);
    const isClear = sinceMs > AFTER_RESTART_MS && nodes.every((one) => one === node || one.ailment === undefined);
    switch (kind) {
      case "kill": {
        node.signal("SIGKILL");
        this.#killedMs = performance.now();
        const atMs = Date.now();
        const isNew = (one: Held) =>
          !this.killed.some(({ session, epoch }) => session === one.session && epoch === one.epoch);
        const own = (await held(node)).filter(isNew).map((one) => ({ ...one, atMs, isClear }));
        this.killed.push(...own);
        await node.ended();
        await node.start();
        node.ailment = undefined;
        return await this.#haunt(own);
      }
      case "freeze":
        node.signal("SIGSTOP");
        await sleep(FROZEN_MS);
        node.signal("SIGCONT");
        return await untilReady(node);
      case "partition": {
        const heal = network.cut?.(node.index, databasePort);
        await sleep(CUT_MS);
        heal?.();
        return await untilReady(node);
      }
      case "drain": {
        const before = await held(node);
        node.signal("SIGTERM");
        const atMs = Date.now();
        this.drained.push(...before.map((one) => ({ ...one, atMs, isClear })));
        await node.ended();
        return await node.start();
      }
    }
  }
}

/** Drains and kills are timed, so they come while the others are well, where that can be; what a kill left is taken for seconds. */
function nextKind(kinds: readonly NodeKind[], isAllWell: boolean): NodeKind | undefined {
  const timed = kinds.filter((kind) => kind === "drain" || kind === "kill");
  const others = kinds.filter((kind) => kind === "freeze" || kind === "partition");
  return (isAllWell ? [...timed, ...others] : [...others, ...timed])[0];
}

/** Nodes are back at their sessions by then. */
const AFTER_RESTART_MS = 6_000;
/** The killed owner is played here: it would go on where it was, and has the right numbers. */
const LATE_MS = 6_000;
const READY_WITHIN_MS = 20_000;
const POLL_MS = 50;

async function untilReady(node: ClusterNode): Promise<void> {
  const until = performance.now() + READY_WITHIN_MS;
  while (!(await node.isReady())) {
    if (performance.now() > until) throw new Error(`it is not ready again after ${READY_WITHIN_MS} ms`);
    await sleep(POLL_MS);
  }
}
