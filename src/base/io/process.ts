// Ends a process tree: end of input, wait, TERM, wait, KILL; always the whole group, never only the direct child.
import { sleep } from "../async/deadline.js";
import { LIMITS } from "../limits.js";
import type { Child, World } from "../ports/world.js";

export interface EndGrace {
  /** Time to leave by itself once its input has ended. */
  readonly stdinMs: number;
  /** Time to leave after SIGTERM. */
  readonly terminateMs: number;
}

/** Groups seen gone. Their number may be given to a stranger, who must not be signalled when a tree is ended again. */
const gone = new WeakSet<Child>();

/**
 * Resolves when nothing of the tree is left, or a moment after SIGKILL. What left the group is ended too, as far as the
 * system shows it. Calling it again is safe.
 */
export async function endTree(child: Child, world: World, grace: EndGrace): Promise<void> {
  if (child.pid === undefined || gone.has(child)) return;
  child.stdin.on("error", () => {}); // the child may be gone already: EPIPE is the expected answer here
  child.stdin.end();
  child.stdout.resume(); // a child blocked on a full pipe could not see its end of input
  child.stderr.resume();
  const hasGroupEnded = await endGroup(child, world, grace);
  const haveStraysEnded = await endStrays(child, world, grace);
  if (!hasGroupEnded || !haveStraysEnded) {
    world.log.info("process.group_remains", { pid: child.pid });
    return;
  }
  await child.release();
}

async function endGroup(child: Child, world: World, grace: EndGrace): Promise<boolean> {
  if (await hasEnded(child, world, grace.stdinMs)) return true;
  child.signalGroup("SIGTERM");
  if (await hasEnded(child, world, grace.terminateMs)) return true;
  child.signalGroup("SIGKILL");
  return await hasEnded(child, world, LIMITS.killWaitMs);
}

/** Daemons have no input whose end they could see: they get TERM at once, and KILL when that does not help. */
async function endStrays(child: Child, world: World, grace: EndGrace): Promise<boolean> {
  if ((await child.signalStrays("SIGTERM")) === 0) return true;
  if (await areStraysGone(child, 0, world, Math.min(grace.terminateMs, LIMITS.strayTermMs))) return true;
  // Repeated: one that forks while it is being looked for shows up the next time.
  return await areStraysGone(child, "SIGKILL", world, LIMITS.killWaitMs);
}

async function areStraysGone(child: Child, signal: "SIGKILL" | 0, world: World, withinMs: number): Promise<boolean> {
  using deadline = world.deadline(withinMs);
  while ((await child.signalStrays(signal)) > 0) {
    if (deadline.expired) return false;
    await sleep(world, LIMITS.groupPollMs, deadline.signal).catch(() => {});
  }
  return true;
}

/** Polls the group: members other than the child announce nothing when they end. */
async function hasEnded(child: Child, world: World, withinMs: number): Promise<boolean> {
  using deadline = world.deadline(withinMs);
  while (child.isGroupAlive()) {
    if (deadline.expired) return false;
    try {
      await sleep(world, LIMITS.groupPollMs, deadline.signal);
    } catch {
      if (child.isGroupAlive()) return false;
    }
  }
  gone.add(child);
  return true;
}
