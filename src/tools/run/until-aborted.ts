// Waits for something no longer than a signal allows, whether or not the other side heeds the signal.
import { abortListeners } from "../../base/async/scope.js";
import type { World } from "../../base/ports/world.js";

export const ABORTED: unique symbol = Symbol("aborted");

/** How long the other side gets, once the signal has fired, to say itself how it ended. */
export interface AbortGrace {
  readonly world: Pick<World, "after">;
  readonly ms: number;
}

/**
 * What `promise` comes to, or `ABORTED` when the signal fires first and the grace, if any, passes too. What it comes to
 * later is nobody's concern any more, a rejection included.
 */
export function untilAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  grace?: AbortGrace,
): Promise<T | typeof ABORTED> {
  return new Promise((resolve, reject) => {
    let clearGrace = () => {};
    const giveUp = () => {
      if (!grace) return resolve(ABORTED);
      const timer = grace.world.after(grace.ms, () => resolve(ABORTED));
      clearGrace = () => timer.clear();
    };
    const listeners = abortListeners(signal);
    const leave = () => {
      listeners.delete(giveUp);
      clearGrace();
    };
    promise
      .then((value) => {
        leave();
        resolve(value);
      })
      .catch((error: unknown) => {
        leave();
        reject(error);
      });
    if (signal.aborted) giveUp();
    else listeners.add(giveUp);
  });
}
