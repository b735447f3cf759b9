// A control group for each child, where this user may make one: no process leaves it by clearing its environment or its session.
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { hasErrorCode } from "../base/message.js";
import { guardian } from "./guardian.js";
import { processes } from "./processes.js";

export interface ChildCgroup {
  readonly folder: string;
  /** The living processes in it. */
  members(): readonly number[];
  /** Once nothing is left in it. */
  remove(): void;
}

/** Undefined: not looked for yet. Empty: there is none that this user may write. */
let parent: string | undefined;
/**
 * `tasks` (version 1) moves only the thread that starts children, without the global lock that a move of all threads takes:
 * 10 to 20 ms after a pause. Version 2 moves whole processes only.
 */
let moveFile: "tasks" | "cgroup.procs" = "cgroup.procs";
/** The groups this process could not leave yet, with the one it belongs to. What it starts meanwhile is born there too. */
const stuck = new Map<string, string>();
/** Those that could not be removed yet: the kernel may still be clearing away their last process. */
const left = new Set<string>();

/**
 * Runs `start` while this process is in a new control group, so that what it starts is born there: a process that is moved after
 * its start may have left children outside by then. Undefined where there is no group to be had, and where this process could
 * not leave it again: then the group holds others too, and ending it would end them.
 */
export function startInCgroup<T>(name: string, start: () => T): { readonly started: T; readonly cgroup?: ChildCgroup } {
  parent ??= process.platform === "linux" ? writableParent() : "";
  if (!isFree() || parent === "") return { started: start() };
  const folder = `${parent}/tenon-${name}`;
  if (!hasMoved(folder)) return { started: start() };
  let hasLeft = false;
  let started: T;
  try {
    started = start();
  } finally {
    hasLeft = leave(folder, parent);
  }
  if (hasLeft) return { started, cgroup: { folder, members: () => membersOf(folder), remove: () => remove(folder) } };
  guardian.ignoreCgroup(folder);
  return { started };
}

/** The kernel refuses a move for a moment now and then: the next ones are tried at once, later ones before the next child. */
const MAX_ATTEMPTS = 3;

function leave(folder: string, home: string): boolean {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (isMoved(home)) return true;
  }
  stuck.set(folder, home);
  return false;
}

/** False while this process is in a child's group: no other one is made then. */
function isFree(): boolean {
  for (const [folder, home] of stuck) {
    if (!isMoved(home)) continue;
    stuck.delete(folder);
    remove(folder); // as soon as the child is gone
  }
  return stuck.size === 0;
}

function hasMoved(folder: string): boolean {
  try {
    mkdirSync(folder);
  } catch {
    return false;
  }
  if (isMoved(folder)) return true;
  remove(folder);
  parent = ""; // what is not allowed now is not allowed for the next one either
  return false;
}

/** 0 is the writer. */
function isMoved(folder: string): boolean {
  try {
    writeFileSync(`${folder}/${moveFile}`, "0");
    return true;
  } catch {
    return false;
  }
}

function membersOf(folder: string): readonly number[] {
  try {
    const ids = readFileSync(`${folder}/cgroup.procs`, "latin1").split("\n").filter(Boolean).map(Number);
    return ids.filter((id) => id !== process.pid && processes.identityOf(id) !== undefined);
  } catch {
    return [];
  }
}

function remove(folder: string): void {
  left.add(folder);
  removeLeft();
}

function removeLeft(): void {
  for (const folder of left) {
    try {
      rmdirSync(folder);
      left.delete(folder);
    } catch (error) {
      if (hasErrorCode(error, "ENOENT")) left.delete(folder);
    }
  }
}

/** Of the hierarchies this process is in, the first one in which a group can be made and a process moved. */
function writableParent(): string {
  process.once("exit", () => {
    isFree();
    removeLeft();
  });
  try {
    const own = ownGroups(readFileSync("/proc/self/cgroup", "latin1"));
    return groupFolders(readFileSync("/proc/self/mountinfo", "latin1"), own).find(isWritable) ?? "";
  } catch {
    return "";
  }
}

/** By the name of the controller; the unified hierarchy has none. */
function ownGroups(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split("\n").flatMap((line) => {
      const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/u.exec(line) ?? [];
      return (controllers ?? "").split(",").flatMap((name) => (path === undefined ? [] : [[name, path] as const]));
    }),
  );
}

/** Those of version 1 first, which move a single thread. None of them limits anything in a group without settings. */
const PREFERRED = ["freezer", "pids", "name=systemd", ""] as const;

function groupFolders(mountInfo: string, own: ReadonlyMap<string, string>): readonly string[] {
  const mounts = mountInfo.split("\n").flatMap((line) => {
    const [, root, point, type, options] = /^\S+ \S+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)$/u.exec(line) ?? [];
    if (root === undefined || point === undefined || options === undefined) return [];
    return [{ root, point, controllers: type === "cgroup2" ? [""] : options.split(",") }];
  });
  return PREFERRED.flatMap((name) =>
    mounts.flatMap(({ root, point, controllers }) => {
      const path = own.get(name);
      if (path === undefined || !controllers.includes(name)) return [];
      const start = root === "/" ? "" : root;
      return path === root || path.startsWith(`${start}/`)
        ? [`${point}${path.slice(start.length)}`.replace(/\/$/u, "")]
        : [];
    }),
  );
}

/** Old kernels take tens of milliseconds for a move, and everything waits for it: then the other ways of tracking must do. */
const MAX_MOVE_MS = 20;

function isWritable(folder: string): boolean {
  const probe = `${folder}/tenon-probe-${guardian.id}`;
  try {
    moveFile = existsSync(`${folder}/tasks`) ? "tasks" : "cgroup.procs";
    accessSync(`${folder}/${moveFile}`, constants.W_OK);
    mkdirSync(probe);
  } catch {
    return false;
  }
  const startMs = performance.now();
  const isUsable = isMoved(probe) && leave(probe, folder) && performance.now() - startMs < MAX_MOVE_MS;
  remove(probe);
  return isUsable;
}
