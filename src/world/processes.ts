// Which processes live, with an identity that differs where a process id is reused.
import { openSync, readdirSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { hasErrorCode } from "../base/message.js";
import type { Processes } from "../base/ports/world.js";

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
function listed(folder: string): readonly string[] | undefined {
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
