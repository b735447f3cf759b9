// The parts of a host that servers inside the test's own process share.
import type { Host } from "./host.js";
import type { ProcessFacts } from "./replies.js";

export function realAfter(delayMs: number, run: () => void): { clear(): void } {
  const timer = setTimeout(run, delayMs);
  return { clear: () => clearTimeout(timer) };
}

export function ownFacts(): ProcessFacts {
  return { envNames: Object.keys(process.env), cwd: process.cwd(), pid: process.pid, children: [] };
}

/** For what `assertPossible` has refused already. */
export const impossibleHere: Pick<Host, "stderr" | "spawnChildren"> = {
  stderr: () => {
    throw new Error("a server inside the test's process has no stderr of its own");
  },
  spawnChildren: () => {
    throw new Error("a server inside the test's process has no children of its own");
  },
};
