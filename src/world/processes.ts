// The processes of this machine: which of them live, with an identity that differs where an id is reused, and control groups that hold them.
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { totalmem } from "node:os";
import { hasErrorCode } from "../base/message.js";
import type { Processes } from "../base/ports/world.js";
import { guardian } from "./guardian.js";

export const processes: Processes = { ownId: process.pid, identityOf, memoryBytes: memoryBytes(), memoryOf };

function identityOf(id: number): string | undefined {
  if (!Number.isSafeInteger(id) || id <= 0) return undefined;
  return process.platform === "linux" ? statOf(id)?.identity : fromSignal(id);
}

/** Only whether it lives: a number that is used again looks like the process that had it before. */
function fromSignal(id: number): string | undefined {
  try {
    process.kill(id, 0);
    return String(id);
  } catch (error) {
    return hasErrorCode(error, "EPERM") ? String(id) : undefined;
  }
}

// How much memory there is, and how much of it trees of processes take, as Linux shows it.

/** Of the machine, or of the container where that has less. */
export function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

interface ProcessStat {
  readonly id: number;
  readonly parent: number;
  readonly group: number;
  readonly pages: number;
  /** With the time of its start, in clock ticks since boot. */
  readonly identity: string;
}

/** One look at /proc for all of them. Each process is counted once, for the first of `ids` whose tree it is in. */
export function memoryOf(ids: readonly number[]): ReadonlyMap<number, number> | undefined {
  const seen = new Map(allProcesses()?.map((found) => [found.id, found]));
  const pageBytes = sizeOfPage(seen.get(process.pid));
  if (pageBytes === undefined) return undefined;
  const roots = new Set(ids);
  const bytes = new Map<number, number>();
  for (const [id, { pages }] of seen) {
    const root = rootOf(id, seen, roots);
    if (root !== undefined) bytes.set(root, (bytes.get(root) ?? 0) + pages * pageBytes);
  }
  return bytes;
}

/** A process belongs to the tree of its group's leader; one that left the group to that of its parents. */
function rootOf(id: number, seen: ReadonlyMap<number, ProcessStat>, roots: ReadonlySet<number>): number | undefined {
  let current = id;
  for (let step = 0; step < seen.size; step++) {
    if (roots.has(current)) return current;
    const found = seen.get(current);
    if (!found) return undefined;
    if (roots.has(found.group)) return found.group;
    current = found.parent;
  }
  return undefined;
}

/** The living ones. Undefined where the system does not say, for example for lack of file descriptors. */
export function allProcesses(): readonly ProcessStat[] | undefined {
  return processIds()?.flatMap((id) => statOf(id) ?? []);
}

/** Only Linux shows what is asked about them. */
export function processIds(): readonly string[] | undefined {
  const entries = process.platform === "linux" ? listed("/proc") : undefined;
  return entries?.filter((entry) => /^\d+$/u.test(entry));
}

/** Undefined for one that is gone. A zombie counts as gone. */
function statOf(id: number | string): ProcessStat | undefined {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "latin1");
    // The command name stands in parentheses and may hold blanks and parentheses: the fields start after the last one.
    const [state, parent, group, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X") return undefined;
    const identity = `${id}-${rest[16] ?? ""}`;
    return { id: Number(id), parent: Number(parent), group: Number(group), pages: Number(rest[18]), identity };
  } catch {
    return undefined;
  }
}

/** Node does not tell it: what it says of this process in bytes, against what the system says in pages. */
function sizeOfPage(own: ProcessStat | undefined): number | undefined {
  if (!own || own.pages <= 0) return undefined;
  const ratio = process.memoryUsage.rss() / own.pages;
  return 2 ** Math.round(Math.log2(ratio));
}

// File descriptors this process inherited: no child gets them, least of all one in a sandbox.

const CLOSES_ON_EXEC = 0o2_000_000;
type Handle = "pipe" | "ignore" | number;

/**
 * Node opens everything so that it closes on exec, and marks what it was handed so up to the first gap beyond 16; whoever
 * started it may have left more. A folder among them would lead out of any sandbox.
 */
export function handlesIn(processFolder: string): readonly number[] {
  return (listed(`${processFolder}/fd`) ?? [])
    .map(Number)
    .filter((fd) => fd > 2 && staysOpen(`${processFolder}/fdinfo/${fd}`))
    .sort((one, other) => one - other);
}

/** Undefined where the system does not say. */
export function listed(folder: string): readonly string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined;
  }
}

function staysOpen(infoFile: string): boolean {
  try {
    const [, flags] = /^flags:\s+([0-7]+)$/mu.exec(readFileSync(infoFile, "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSES_ON_EXEC) === 0;
  } catch {
    return false; // it was the listing's own
  }
}

/** The `stdio` of a child: three pipes, and nothing behind each handle that it would inherit. */
export function stdioHiding(handles: readonly number[], nothing: number): readonly Handle[] {
  const stdio: Handle[] = ["pipe", "pipe", "pipe"];
  while (stdio.length <= (handles.at(-1) ?? 2)) stdio.push("ignore");
  for (const handle of handles) stdio[handle] = nothing;
  return stdio;
}

let known: readonly Handle[] | undefined;

/** Looked up once: they were there before anything else. Only Linux tells, and only there is a sandbox. */
export function childStdio(): readonly Handle[] {
  if (!known) {
    const handles = handlesIn("/proc/self");
    known = stdioHiding(handles, handles.length === 0 ? -1 : openSync("/dev/null", "r+"));
  }
  return known;
}

interface ChildCgroup {
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
