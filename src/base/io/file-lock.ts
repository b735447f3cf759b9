// One owner at a time across processes: a lock file that names its owner. Only the owner's release or death frees it.
//
// The owner writes its process number, its process identity and a random word, so no two locks ever have the same text.
// `createNew` puts the file there with its whole text, or reports that one is there. A file is removed only
//   (a) by its owner, in `release`, or
//   (b) by a process that owns the lock of `<lock>.<hash of the text>.break`, and that, owning it, has read that text at the path
//       again and found its process dead.
//
// Why two processes never own one lock. Suppose the file of a living owner Y were removed by another process P. By (b) P owned
// the break lock of a dead text X, read X at the path, and then removed what was there. So between P's read and P's removal the
// file went from X to Y, and X was removed in that time. Its owner is dead, so by (b) a process Q removed it that owned the break
// lock of X at the same time as P. Then the break lock had two owners, which needs the same fault earlier, at that lock, and so on:
// there is no first one. A process that read X long ago and acts late gets the break lock, reads the path again, finds another
// text and removes nothing, since X never comes back.
//
// A break lock whose owner died is broken in the same way, by a break lock of its own. Break files that are no longer needed are
// removed by the next process that breaks a lock, while it owns the lock itself: every text they could be about is gone by then.
//
// Not covered: processes that do not see each other's process numbers (two containers or two machines that share a folder). Where
// the file system has no hard links, `createNew` makes the file first and writes it after; an empty file counts as abandoned after
// a second, and an owner whose file was removed in that time finds out when it reads it back.
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { sleep } from "../async/deadline.js";
import { messageOf, TenonError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { hasErrorCode } from "../message.js";
import type { World } from "../ports/world.js";

/** The part of a World that a lock needs. */
export type LockWorld = Pick<World, "files" | "processes" | "randomBytes" | "after" | "deadline" | "log">;

export interface FileLock {
  /** Whether the lock file is still the one that was made here, as far as that can be determined. One look, which reads nothing. */
  isHeld(): boolean;
  /** Never rejects: a lock file that stays is known as a dead one once this process is gone. */
  release(): Promise<void>;
}

/** `heldBy` is the number of a living process, this one included. */
export type LockAttempt = { readonly lock: FileLock } | { readonly lock?: never; readonly heldBy: number };

export interface LockWait {
  /** How long to wait for a living owner. */
  readonly waitMs: number;
  /** How often to look meanwhile. */
  readonly everyMs: number;
  readonly signal?: AbortSignal;
  /** What to throw once `waitMs` are over. */
  readonly heldTooLong: (heldBy: number) => Error;
}

/** `path` is the lock's own file. Answers at once when a living process owns it. Rejects when the file cannot be made or read. */
export async function tryFileLock(world: LockWorld, path: string): Promise<LockAttempt> {
  return await acquire(world, path, giveUp);
}

/** The living process that owns the lock, if any. Looks only. */
export async function lockOwner(world: LockWorld, path: string): Promise<number | undefined> {
  const owner = await ownerAt(world, path);
  return owner.kind === "alive" ? owner.processId : undefined;
}

/** Runs `work` while owning the lock. Rejects when the signal aborts, or when a living process owns it for too long. */
export async function withFileLock<T>(
  world: LockWorld,
  path: string,
  wait: LockWait,
  work: () => Promise<T>,
): Promise<T> {
  using deadline = world.deadline(wait.waitMs, wait.signal);
  const isHeld = async (heldBy: number) => {
    await sleep(world, wait.everyMs, deadline.signal).catch((reason: unknown) => {
      throw deadline.expired ? wait.heldTooLong(heldBy) : reason;
    });
    return false;
  };
  const { lock } = await acquire(world, path, isHeld);
  deadline.clear();
  try {
    return await work();
  } finally {
    await lock?.release();
  }
}

/** Asked about a living owner: true gives up, false looks again. */
type IsHeld = (heldBy: number) => Promise<boolean>;

const giveUp: IsHeld = async () => true;

/** `base` is the lock that is wanted in the end; a break lock is named after it. */
async function acquire(world: LockWorld, path: string, isHeld: IsHeld, base = path): Promise<LockAttempt> {
  const text = ownerText(world);
  let hasBroken = false;
  for (let unclearLooks = 0; ; ) {
    const isMade = await made(world, path, text);
    const found = await ownerAt(world, path).catch(async (error: unknown) => {
      if (isMade) await release(world, path, text);
      throw error;
    });
    if (found.text === text) {
      if (hasBroken && path === base)
        await removeBreakFiles(world, base).catch((error: unknown) =>
          world.log.warn("lock.break_files_stay", { path, error: messageOf(error) }),
        );
      const mark = markOf(world, path);
      const isHeld = () => mark === UNCLEAR || [mark, UNCLEAR].includes(markOf(world, path));
      return { lock: { isHeld, release: () => release(world, path, text) } };
    }
    if (isMade) continue; // taken for abandoned before it was written
    unclearLooks = found.kind === "unwritten" || found.kind === "none" ? unclearLooks + 1 : 0;
    const isAbandoned = unclearLooks > UNCLEAR_LOOKS;
    if (found.kind === "alive") {
      if (await isHeld(found.processId)) return { heldBy: found.processId };
    } else if (found.kind === "none") {
      if (isAbandoned) {
        throw new TenonError("config.unreadable", `the lock file ${path} can be neither made nor read`, {
          hint: "Remove what is there; it may be a link that leads nowhere.",
        });
      }
      if (unclearLooks > 1) await pause(world); // released since: the first time another attempt follows at once
    } else if (found.kind === "dead" || isAbandoned) {
      const isBroken = await breakStaleLock(world, path, { base, text: found.text });
      hasBroken ||= isBroken;
      if (!isBroken) await pause(world); // another process is breaking it
    } else await pause(world);
  }
}

const UNCLEAR = "?";

function markOf({ files }: LockWorld, path: string): string | undefined {
  try {
    return files.markOf(path);
  } catch {
    return UNCLEAR; // a disk that answers nothing is no other owner
  }
}

async function made(world: LockWorld, path: string, text: string): Promise<boolean> {
  try {
    return await world.files.createNew(path, text);
  } catch (error) {
    abandonedIn(world).add(text); // a part of it may be there
    throw error;
  }
}

/** False when a living process is breaking it at this moment. */
async function breakStaleLock(
  world: LockWorld,
  path: string,
  stale: { readonly base: string; readonly text: string },
): Promise<boolean> {
  const breakPath = `${stale.base}.${createHash("sha256").update(stale.text).digest("hex").slice(0, 16)}${BREAK_SUFFIX}`;
  const { lock } = await acquire(world, breakPath, giveUp, stale.base);
  if (!lock) return false;
  try {
    const { text, kind } = await ownerAt(world, path);
    if (text === stale.text && kind !== "alive" && kind !== "none") await world.files.remove(path);
    return true;
  } finally {
    await lock.release();
  }
}

const BREAK_SUFFIX = ".break";

/** What dead processes left while they broke a lock. Safe for the lock's owner only: see the top of the file. */
async function removeBreakFiles(world: LockWorld, base: string): Promise<void> {
  const start = `${basename(base)}.`;
  for (const { name } of await world.files.list(dirname(base))) {
    if (!name.startsWith(start) || !name.endsWith(BREAK_SUFFIX)) continue;
    const file = join(dirname(base), name);
    if ((await ownerAt(world, file)).kind === "dead") await world.files.remove(file);
  }
}

/** The random word tells apart two owners in one process. */
function ownerText(world: LockWorld): string {
  const { ownId } = world.processes;
  const identity = world.processes.identityOf(ownId) ?? "?";
  return `${ownId} ${identity} ${Buffer.from(world.randomBytes(8)).toString("hex")}\n`;
}

/** `unwritten`: made and not written yet, or its maker died in between. */
type Owner =
  | { readonly kind: "alive"; readonly text: string; readonly processId: number }
  | { readonly kind: "dead" | "unwritten" | "none"; readonly text: string };

const UNCLEAR_LOOKS = LIMITS.fileLock.unwrittenMs / LIMITS.fileLock.everyMs;

async function ownerAt(world: LockWorld, path: string): Promise<Owner> {
  const text = await textAt(world, path);
  if (text === undefined) return { kind: "none", text: "" };
  if (text === "") return { kind: "unwritten", text };
  const [, id, identity] = /^(\d+) (\S+) /u.exec(text) ?? [];
  const isAlive = id !== undefined && world.processes.identityOf(Number(id)) === identity && !isAbandoned(world, text);
  return isAlive ? { kind: "alive", text, processId: Number(id) } : { kind: "dead", text };
}

/** Undefined when there is no file. Rejects when that cannot be determined. */
async function textAt(world: LockWorld, path: string): Promise<string | undefined> {
  try {
    return await world.files.readText(path);
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** By the processes they are about: texts of locks that this process owns no more, though their files may be there. */
const abandoned = new WeakMap<LockWorld["processes"], Set<string>>();

function abandonedIn({ processes }: LockWorld): Set<string> {
  const texts = abandoned.get(processes) ?? new Set();
  abandoned.set(processes, texts);
  return texts;
}

/** A write that failed may have left a part of the text. */
function isAbandoned(world: LockWorld, text: string): boolean {
  return [...abandonedIn(world)].some((one) => one.startsWith(text));
}

async function release(world: LockWorld, path: string, text: string): Promise<void> {
  abandonedIn(world).add(text);
  try {
    if ((await textAt(world, path)) !== text) return;
    await world.files.remove(path);
    abandonedIn(world).delete(text);
  } catch (error) {
    world.log.warn("lock.release_failed", { path, error: messageOf(error) });
  }
}

async function pause(world: LockWorld): Promise<void> {
  await new Promise<void>((resolve) => {
    world.after(LIMITS.fileLock.everyMs, resolve);
  });
}
