// How long to wait before the next attempt: exponential, capped, with full jitter. Pure: the dice are passed in.

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly factor: number;
}

/** `attempt` counts from 0; `dice` is in [0, 1). The delay lies between half and all of the exponential step. */
export function backoffDelayMs(backoff: Backoff, attempt: number, dice: number): number {
  const step = Math.min(backoff.maxMs, backoff.firstMs * backoff.factor ** Math.max(0, attempt));
  return Math.round(step / 2 + (step / 2) * dice);
}
