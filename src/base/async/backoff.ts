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
