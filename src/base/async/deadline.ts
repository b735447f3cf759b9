// Deadlines on top of any timer source, so that a fake clock rules them (AbortSignal.timeout would escape it).
import type { Deadline, World } from "../ports/world.js";

/** The longest delay a Node timer takes; above it, it fires at once. */
const MAX_DELAY_MS = 2_147_483_647;

export function createDeadline(after: World["after"], timeoutMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const onParent = () => {
    clear();
    controller.abort(parent?.reason);
  };
  const timer = after(Math.min(timeoutMs, MAX_DELAY_MS), () => {
    expired = true;
    clear();
    controller.abort(new DOMException(`timed out after ${timeoutMs} ms`, "TimeoutError"));
  });
  function clear(): void {
    timer.clear();
    parent?.removeEventListener("abort", onParent);
  }
  if (parent?.aborted) onParent();
  else parent?.addEventListener("abort", onParent, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    clear,
    [Symbol.dispose]: clear,
  };
}

/** Waits on the world's clock; rejects with the signal's reason when aborted first. */
export async function sleep(world: Pick<World, "after">, delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      timer.clear();
      reject(signal.reason);
    };
    const timer = world.after(Math.min(delayMs, MAX_DELAY_MS), () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** The promise's value, or the signal's reason, whichever comes first. A later result of the promise is ignored. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => {}); // often nobody else holds it: unheard, its failure would end the process
    throw signal.reason;
  }
  let onAbort: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

// How long to wait before the next attempt: exponential, capped, with jitter over its upper half. Pure: the dice are passed in.

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly factor: number;
}

/** `attempt` counts from 0; `dice` is in [0, 1). The delay lies between half and all of the exponential step. */
export function backoffDelayMs(backoff: Backoff, attempt: number, dice: number): number {
  if (backoff.firstMs === 0) return 0; // 0 times an overflowing power would be NaN
  const step = Math.min(backoff.maxMs, backoff.firstMs * backoff.factor ** Math.max(0, attempt));
  return Math.round(step / 2 + (step / 2) * dice);
}
