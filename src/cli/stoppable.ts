// Work that a signal from outside ends cleanly: its signal aborts, and what it owns has time to close.
import { TenonError } from "../base/errors.js";
import { EXIT } from "./exit.js";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Rejects with `cancelled` when it was stopped, whatever the work made of it. A second signal ends the process at once. */
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
