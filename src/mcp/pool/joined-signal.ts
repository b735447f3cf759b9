// Two signals as one, for as long as it is needed: a session's own outlives thousands of calls, which must leave nothing on it.
import { abortListeners } from "../../base/async/scope.js";

export interface JoinedSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** Aborts with whichever aborts first, with its reason; once disposed, with neither. */
export function joinSignals(...signals: readonly AbortSignal[]): JoinedSignal {
  const controller = new AbortController();
  const leaves: (() => void)[] = [];
  const leave = () => {
    for (const one of leaves.splice(0)) one();
  };
  for (const signal of signals) {
    const onAbort = () => {
      leave();
      controller.abort(signal.reason);
    };
    if (signal.aborted) {
      onAbort();
      break;
    }
    const listeners = abortListeners(signal).add(onAbort);
    leaves.push(() => listeners.delete(onAbort));
  }
  return { signal: controller.signal, [Symbol.dispose]: leave };
}
