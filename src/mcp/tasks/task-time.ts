// How long a task may still take, and how long its server keeps it, by the clock of the wall: it may be older than the process.
import type { World } from "../../base/ports/world.js";
import type { TaskHandle } from "./task.js";

export class TaskTime {
  readonly #world: Pick<World, "now">;
  readonly #handle: TaskHandle;
  readonly #maxTotalMs: number;
  #ttlMs: number | undefined;

  constructor(world: Pick<World, "now">, handle: TaskHandle, maxTotalMs: number) {
    this.#world = world;
    this.#handle = handle;
    this.#maxTotalMs = maxTotalMs;
    this.#ttlMs = handle.ttlMs;
  }

  /** What the server says now of how long it keeps it; where it says nothing, what it said at first counts. */
  setTtl(ttlMs: number | undefined): void {
    this.#ttlMs = ttlMs ?? this.#handle.ttlMs;
  }

  /** Since it was created. */
  get elapsedMs(): number {
    return this.#world.now() - this.#handle.startedMs;
  }

  get leftMs(): number {
    return this.#handle.startedMs + this.#maxTotalMs - this.#world.now();
  }

  get isOverdue(): boolean {
    return this.leftMs <= 0;
  }

  /** Undefined when the server keeps it. */
  get ttlLeftMs(): number | undefined {
    return this.#ttlMs === undefined ? undefined : this.#handle.startedMs + this.#ttlMs - this.#world.now();
  }

  get isExpired(): boolean {
    return (this.ttlLeftMs ?? 1) <= 0;
  }
}
