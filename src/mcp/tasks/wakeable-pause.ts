// A pause between two looks that something may cut short, but never below the least distance between them.
import { abortListeners } from "../../base/async/scope.js";
import type { World } from "../../base/ports/world.js";

export class WakeablePause {
  readonly #world: Pick<World, "after">;
  readonly #signal: AbortSignal;
  #isWoken = false;
  #wakeUp: () => void = () => {};

  /** Once `signal` is aborted nothing is waited for. */
  constructor(world: Pick<World, "after">, signal: AbortSignal) {
    this.#world = world;
    this.#signal = signal;
  }

  /** Ends the pause that is under way, or the next one. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeUp();
  }

  async wait(delayMs: number, leastMs: number): Promise<void> {
    await this.#sleep(leastMs, { isWakeable: false });
    if (!this.#isWoken) await this.#sleep(delayMs - leastMs, { isWakeable: true });
    this.#isWoken = false;
  }

  async #sleep(ms: number, { isWakeable }: { readonly isWakeable: boolean }): Promise<void> {
    if (ms <= 0 || this.#signal.aborted) return;
    await new Promise<void>((resolve) => {
      const listeners = abortListeners(this.#signal);
      const end = () => {
        timer.clear();
        listeners.delete(end);
        this.#wakeUp = () => {};
        resolve();
      };
      const timer = this.#world.after(ms, end);
      listeners.add(end);
      if (isWakeable) this.#wakeUp = end;
    });
  }
}
