// The one way out of the process: once, after everything owned has been closed, within a bound.
import { LIMITS } from "../base/limits.js";

export const EXIT = { done: 0, failed: 1, usage: 2, config: 3, auth: 4, denied: 5, interrupted: 130 } as const;

let isLeaving = false;

/** Closes, then exits. Whatever hangs is cut off after the bound: the children have been killed by then. */
export function exitAfter(close: () => Promise<void>, code: number): void {
  if (isLeaving) return;
  isLeaving = true;
  const leave = () => process.exit(code);
  setTimeout(leave, LIMITS.shutdownMs);
  close().then(leave, leave);
}

export function onStopSignals(stop: (code: number) => void): void {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stop(EXIT.interrupted));
}
