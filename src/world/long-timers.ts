// Long waits that mostly end early (deadlines): one real timer for all of them, instead of one set and cleared for each.

import { contained } from "../base/async/scope.js";
import { sharedLog } from "../base/ports/log.js";
import type { Timer } from "../base/ports/world.js";

/** What a timer throws has no caller: it would end the process with every session in it. */
export function runTimer(run: () => void): void {
  contained(sharedLog(), "timer", run);
}

/** The longest delay a Node timer takes. */
const MAX_DELAY_MS = 2_147_483_647;

interface Wait {
  readonly atMs: number;
  readonly run: () => void;
}

/**
 * Setting and clearing a lone timer of Node costs every small request some 5 %. Here the real one stays set when nobody
 * waits any more, without keeping the process alive, and finds that out when it fires.
 */
export class LongTimers {
  readonly #waits = new Set<Wait>();
  #real: NodeJS.Timeout | undefined;
  #firesAtMs = Number.POSITIVE_INFINITY;

  after(delayMs: number, run: () => void): Timer {
    const nowMs = performance.now();
    const wait: Wait = { atMs: nowMs + delayMs, run };
    this.#waits.add(wait);
    if (wait.atMs < this.#firesAtMs) this.#arm(wait.atMs, nowMs);
    else if (this.#waits.size === 1) this.#real?.ref();
    return { clear: () => this.#clear(wait) };
  }

  #clear(wait: Wait): void {
    if (this.#waits.delete(wait)) this.#release();
  }

  #release(): void {
    if (this.#waits.size === 0) this.#real?.unref();
  }

  #arm(atMs: number, nowMs: number): void {
    clearTimeout(this.#real);
    this.#firesAtMs = atMs;
    // Rounded up: Node cuts fractions off, and nobody may be woken early.
    const delayMs = Math.min(Math.max(0, Math.ceil(atMs - nowMs)), MAX_DELAY_MS);
    this.#real = setTimeout(() => this.#fire(), delayMs);
  }

  #fire(): void {
    this.#real = undefined;
    this.#firesAtMs = Number.POSITIVE_INFINITY;
    const nowMs = performance.now();
    for (const wait of this.#waits) {
      if (wait.atMs > nowMs) continue;
      this.#waits.delete(wait);
      runTimer(wait.run);
    }
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const { atMs } of this.#waits) earliestMs = Math.min(earliestMs, atMs);
    if (earliestMs < this.#firesAtMs) this.#arm(earliestMs, performance.now());
    // One that was set meanwhile may have been cleared while others were still to have their turn.
    this.#release();
  }
}
