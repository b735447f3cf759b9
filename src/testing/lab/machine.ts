// What tests measure and ask of the machine they run on.
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";

export interface Watched<T> {
  readonly value: T;
  readonly longestMs: number;
}

/**
 * The longest turn until the work is done, what it does before its first wait included. In CPU time of this thread where
 * the system tells it: on a machine that is busy with other things, time on the clock says more about those than about us.
 */
export async function watchEventLoop<T>(work: () => Promise<T>): Promise<Watched<T>> {
  let longestMs = 0;
  let last = busyMs();
  let isOver = false;
  const tick = () => {
    const now = busyMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    if (!isOver) setTimeout(tick, 1);
  };
  setTimeout(tick, 1);
  try {
    const value = await work();
    tick(); // the turn that settled it counts too
    return { value, longestMs };
  } finally {
    isOver = true;
  }
}

/** The first thread of a process has the process's own number. */
function busyMs(): number {
  try {
    const [cpuNs = ""] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ", 1);
    return Number(cpuNs) / 1_000_000;
  } catch {
    return performance.now();
  }
}

/** An IPv4 address of this machine that is not its loopback; undefined where it has no network. */
export function ownAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}
