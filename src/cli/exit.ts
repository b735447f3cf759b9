// The one way out of the process: once, after everything owned has been closed, within a bound.
import { CLI_LIMITS } from "./limits.js";

export const EXIT = { done: 0, failed: 1, usage: 2, config: 3, auth: 4, denied: 5, interrupted: 130 } as const;

/** Different ones that are reported; more of them say nothing new. */
const MAX_UNCAUGHT = 100;

let isLeaving = false;

/** Closes, then exits. Whatever hangs is cut off after the bound: the children have been killed by then. */
export function exitAfter(close: () => Promise<void>, code: number): void {
  if (isLeaving) return;
  isLeaving = true;
  const leave = () => process.exit(code);
  setTimeout(leave, CLI_LIMITS.shutdownMs);
  close()
    .catch(() => {})
    .finally(leave);
}

/** Exceptions and rejections that nobody caught, each message once: a timer may throw the same one for ever. */
export function onUncaught(report: (error: Error) => void): void {
  const told = new Set<string>();
  const hear = (thrown: unknown) => {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (told.has(error.message) || told.size >= MAX_UNCAUGHT) return;
    told.add(error.message);
    try {
      report(error);
    } catch {
      // Reporting failed: there is nobody left to tell.
    }
  };
  process.on("uncaughtException", hear);
  process.on("unhandledRejection", hear);
}

export function onStopSignals(stop: (code: number) => void): void {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stop(EXIT.interrupted));
}
