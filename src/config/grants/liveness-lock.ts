// One holder at a time across processes, for work that may take long: only the death of its process takes a lock away.
import { sleep } from "../../base/deadline.js";
import { messageOf, TenonError } from "../../base/errors.js";
import { LOGIN_LIMITS } from "../../base/limits-login.js";
import type { World } from "../../base/world.js";

/** `path` is the lock's own file. Rejects when the signal aborts, or when a living process holds it for too long. */
export async function withLivenessLock<T>(
  world: World,
  path: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const text = ownerText(world);
  await take(world, path, { text, signal });
  try {
    return await work();
  } finally {
    await release(world, path, text);
  }
}

interface Claim {
  readonly text: string;
  readonly signal: AbortSignal;
}

async function take(world: World, path: string, { text, signal }: Claim): Promise<void> {
  using deadline = world.deadline(LOGIN_LIMITS.lockWaitMs, signal);
  const after = (delayMs: number, run: () => void) => world.after(delayMs, run);
  let unwritten = 0;
  while (!(await world.files.createNew(path, text))) {
    const holder = await holderOf(world, path);
    unwritten = holder === "unwritten" ? unwritten + 1 : 0;
    if (holder === "dead" || unwritten > UNWRITTEN_LOOKS) await bury(world, path, holder);
    else {
      await sleep(after, LOGIN_LIMITS.lockEveryMs, deadline.signal).catch((reason: unknown) => {
        throw deadline.expired ? heldTooLong(path) : reason;
      });
    }
  }
}

/**
 * Of several who find a dead holder only one may remove its file: another one, late, would remove that of whoever came
 * next. So whoever removes it holds a second file for that moment, and looks again.
 */
async function bury(world: World, path: string, found: Holder): Promise<void> {
  const spade = `${path}.break`;
  const text = ownerText(world);
  if (!(await world.files.createNew(spade, text))) {
    if ((await holderOf(world, spade)) === "dead") await world.files.remove(spade);
    return;
  }
  try {
    if ((await holderOf(world, path)) === found) await world.files.remove(path);
  } finally {
    await release(world, spade, text);
  }
}

/** The last word tells apart two holders in one process. */
function ownerText(world: World): string {
  const { ownId } = world.processes;
  const identity = world.processes.identityOf(ownId) ?? "?";
  return `${ownId} ${identity} ${Buffer.from(world.randomBytes(8)).toString("hex")}\n`;
}

/** `unwritten`: it has been made and not been written yet, or its maker died in between. */
type Holder = "alive" | "dead" | "unwritten" | "none";

/** A file is written right after it was made: one that is empty for a second stays so. */
const UNWRITTEN_LOOKS = 1_000 / LOGIN_LIMITS.lockEveryMs;

async function holderOf(world: World, path: string): Promise<Holder> {
  const text = await world.files.readText(path).catch(() => undefined); // given back meanwhile
  if (text === undefined) return "none";
  if (text === "") return "unwritten";
  const [, id, identity] = /^(\d+) (\S+) /u.exec(text) ?? [];
  return id !== undefined && world.processes.identityOf(Number(id)) === identity ? "alive" : "dead";
}

/** Never rejects: a lock that stays is known for a dead one as soon as this process is gone. */
async function release(world: World, path: string, text: string): Promise<void> {
  try {
    if ((await world.files.readText(path)) === text) await world.files.remove(path);
  } catch (error) {
    world.log.warn("grants.unlock_failed", { path, error: messageOf(error) });
  }
}

function heldTooLong(path: string): TenonError {
  const seconds = LOGIN_LIMITS.lockWaitMs / 1000;
  return new TenonError("config.unreadable", `another process has held a log-in for more than ${seconds} s`, {
    hint: `End that process; its number stands in ${path}.`,
  });
}
