// Requests that have their answer, whose stream the server has not ended: it may do so, but not keep it for ever.

import type { Timer, World } from "../../../base/ports/world.js";
import { MCP_LIMITS } from "../../limits.js";

export interface Stoppable {
  stop(): void;
}

/** One timer for all of them, and none while there are none: most streams end with their answer. */
export class AnsweredStreams {
  readonly #world: World;
  #young = new Set<Stoppable>();
  #old = new Set<Stoppable>();
  #timer: Timer | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  add(item: Stoppable): void {
    this.#young.add(item);
    this.#timer ??= this.#world.after(MCP_LIMITS.httpLingerMs, () => this.#age());
  }

  /** It has ended by itself. */
  delete(item: Stoppable): void {
    if (!this.#young.delete(item)) this.#old.delete(item);
  }

  stop(): void {
    this.#timer?.clear();
    for (const item of [...this.#young, ...this.#old]) item.stop();
    this.#young.clear();
    this.#old.clear();
  }

  #age(): void {
    for (const item of this.#old) item.stop();
    this.#old = this.#young;
    this.#young = new Set();
    this.#timer = this.#old.size === 0 ? undefined : this.#world.after(MCP_LIMITS.httpLingerMs, () => this.#age());
  }
}
