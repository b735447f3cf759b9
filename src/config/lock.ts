// One editor of a file at a time, across processes: a lock file beside it, which a dead owner does not keep for ever.
import { sleep } from "../base/deadline.js";
import { messageOf, TenonError } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { World } from "../base/world.js";

export async function withLock<T>(world: World, path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const owner = Buffer.from(world.randomBytes(8)).toString("hex");
  await take(world, lock, owner);
  try {
    return await work();
  } finally {
    // Somebody may have taken it over, thinking us dead.
    if ((await contentOf(world, lock))?.owner === owner) await world.files.remove(lock);
  }
}

async function take(world: World, lock: string, owner: string): Promise<void> {
  const { everyMs, waitMs, staleMs } = LIMITS.configLock;
  using deadline = world.deadline(waitMs);
  while (!(await create(world, lock, `${owner} ${world.now()}\n`))) {
    const held = await contentOf(world, lock);
    if (held && Math.abs(world.now() - held.sinceMs) > staleMs) await world.files.remove(lock);
    else {
      await sleep((ms, run) => world.after(ms, run), everyMs, deadline.signal).catch(() => {
        throw new TenonError("config.unreadable", `another process is editing the file: ${lock} is there`, {
          hint: "Wait for it; if there is none, delete that file.",
        });
      });
    }
  }
}

async function create(world: World, lock: string, text: string): Promise<boolean> {
  try {
    return await world.files.createNew(lock, text);
  } catch (error) {
    throw new TenonError("config.unreadable", `${lock} cannot be made: ${messageOf(error)}`, { cause: error });
  }
}

async function contentOf(
  world: World,
  lock: string,
): Promise<{ readonly owner: string; readonly sinceMs: number } | undefined> {
  const text = await world.files.readText(lock).catch(() => undefined); // gone meanwhile
  const [, owner, since] = /^([0-9a-f]+) (\d+)$/mu.exec(text ?? "") ?? [];
  return owner === undefined ? undefined : { owner, sinceMs: Number(since) };
}
