// The one way out of the process: once, after everything owned has been closed, within a bound.

import { type ErrorCode, TenonError } from "../base/errors.js";
import { CLI_LIMITS } from "./limits.js";

export const EXIT = { done: 0, failed: 1, usage: 2, config: 3, auth: 4, denied: 5, interrupted: 130 } as const;

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Different ones that are reported; more of them say nothing new. */
const MAX_UNCAUGHT = 100;

let isLeaving = false;

export function exitCodeOf(code: ErrorCode): number {
  if (code === "usage.invalid") return EXIT.usage;
  if (code === "cancelled") return EXIT.interrupted;
  if (code === "mcp.unauthorized" || code === "model.unauthorized") return EXIT.auth;
  const isConfig = code.startsWith("config.") || code === "store.unavailable";
  return isConfig ? EXIT.config : EXIT.failed;
}

/** Closes, then exits. The bound cuts off a close that hangs: the children have been killed by then. */
export function exitAfter(close: () => Promise<void>, code: number, boundMs: number = CLI_LIMITS.shutdownMs): void {
  if (isLeaving) return;
  isLeaving = true;
  const leave = () => process.exit(code);
  setTimeout(leave, boundMs);
  close()
    .catch(() => {})
    .finally(leave);
}

/** Uncaught exceptions and unhandled rejections, each message once: a timer may throw the same one for ever. */
export function onUncaught(report: (error: Error) => void): void {
  const reported = new Set<string>();
  const onError = (thrown: unknown) => {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (reported.has(error.message) || reported.size >= MAX_UNCAUGHT) return;
    reported.add(error.message);
    try {
      report(error);
    } catch {
      // Reporting failed: there is nowhere else to report to.
    }
  };
  process.on("uncaughtException", onError);
  process.on("unhandledRejection", onError);
}

export function onStopSignals(stop: (code: number) => void): void {
  for (const signal of SIGNALS) process.on(signal, () => stop(EXIT.interrupted));
}

/** Runs work that SIGINT, SIGTERM or SIGHUP aborts; rejects with `cancelled` then. A second signal ends the process. */
export async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    const result = await work(stop.signal);
    if (stop.signal.aborted) throw stopped();
    return result;
  } catch (error) {
    throw stop.signal.aborted ? stopped() : error;
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}

function stopped(): TenonError {
  return new TenonError("cancelled", "stopped", { hint: "Nothing of it is left running." });
}
