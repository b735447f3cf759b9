// Keeps work on a server's data from holding the event loop: after a little of it, everyone waits for the next turn.
import type { World } from "../ports/world.js";
import type { Eventual } from "./eventual.js";

/** A tenth of the 50 ms that nothing may exceed: work is measured in lumps, and several connections share one loop. */
const SHARE_MS = 5;

/**
 * One per world, shared by all its connections: ten servers that answer in the same moment must not take ten shares in a
 * row. On a clock that stands still nothing is ever spent, so tests never wait for it.
 */
export class Pace {
  static readonly #paces = new WeakMap<World, Pace>();
  readonly #world: World;
  #spentMs = 0;
  #turn: Promise<void> | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  static of(world: World): Pace {
    const known = Pace.#paces.get(world);
    if (known) return known;
    const pace = new Pace(world);
    Pace.#paces.set(world, pace);
    return pace;
  }

  /** Runs a lump of work, in this turn of the loop or, when it has had its share, in a later one. */
  async run<T>(work: () => T): Promise<T> {
    while (this.#turn) await this.#turn;
    return this.#work(work);
  }

  /** As `run`, without a promise where nobody has to wait; then what the work throws is thrown. */
  runAtOnce<T>(work: () => T): Eventual<T> {
    return this.#turn ? this.run(work) : this.#work(work);
  }

  #work<T>(work: () => T): T {
    const startMs = this.#world.monotonicMs();
    try {
      return work();
    } finally {
      this.#spend(this.#world.monotonicMs() - startMs);
    }
  }

  #spend(ms: number): void {
    this.#spentMs += ms;
    if (this.#spentMs < SHARE_MS || this.#turn) return;
    this.#turn = new Promise((resolve) => {
      this.#world.soon(() => {
        this.#spentMs = 0;
        this.#turn = undefined;
        resolve();
      });
    });
  }
}
