// One listener per signal, however many wait for its abort: a turn's calls share a signal, and Node warns at the eleventh.
import { sharedLog } from "../ports/log.js";
import { contained } from "./scope.js";

const sets = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Add to it what is to run when the signal aborts, and delete it when that is over. The one listener behind it stays for
 * as long as the signal does. A signal that has aborted already runs nothing any more.
 */
export function abortListeners(signal: AbortSignal): Set<() => void> {
  const known = sets.get(signal);
  if (known) return known;
  const listeners = new Set<() => void>();
  sets.set(signal, listeners);
  signal.addEventListener("abort", () => runAll(listeners), { once: true });
  return listeners;
}

/** What a listener deletes before its turn does not run. What one throws is logged: thrown, it would end the process. */
function runAll(listeners: Set<() => void>): void {
  for (const run of listeners) {
    listeners.delete(run);
    contained(sharedLog(), "abort listener", run);
  }
}
