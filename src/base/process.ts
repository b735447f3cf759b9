// Ends a process tree: end of input, wait, TERM, wait, KILL; always the whole group, never only the direct child.
import { sleep } from "./deadline.js";
import { LIMITS } from "./limits.js";
import type { Child, World } from "./world.js";

export interface EndGrace {
  /** Time to leave by itself once its input has ended. */
  readonly stdinMs: number;
  /** Time to leave after SIGTERM. */
  readonly terminateMs: number;
}

/** Groups seen gone. Their number may be given to a stranger, who must not be signalled when a tree is ended again. */
const gone = new WeakSet<Child>();

/** Resolves when no process of the group is left, or a moment after SIGKILL. Calling it again is safe. */
export async function endTree(child: Child, world: World, grace: EndGrace): Promise<void> {
  if (child.pid === undefined || gone.has(child)) return;
  child.stdin.on("error", () => {}); // the child may be gone already: EPIPE is the expected answer here
  child.stdin.end();
  child.stdout.resume(); // a child blocked on a full pipe could not see its end of input
  child.stderr.resume();
  if (await hasEnded(child, world, grace.stdinMs)) return;
  child.signalGroup("SIGTERM");
  if (await hasEnded(child, world, grace.terminateMs)) return;
  child.signalGroup("SIGKILL");
  if (!(await hasEnded(child, world, LIMITS.killWaitMs))) world.log.info("process.group_remains", { pid: child.pid });
}

/** Polls the group: members other than the child announce nothing when they end. */
async function hasEnded(child: Child, world: World, withinMs: number): Promise<boolean> {
  using deadline = world.deadline(withinMs);
  while (child.isGroupAlive()) {
    if (deadline.expired) return false;
    try {
      await sleep((ms, run) => world.after(ms, run), LIMITS.groupPollMs, deadline.signal);
    } catch {
      if (child.isGroupAlive()) return false;
    }
  }
  gone.add(child);
  return true;
}
