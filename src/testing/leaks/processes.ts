// The machine's processes as /proc tells them. Linux only: elsewhere there is no way to see another process's environment.
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessInfo {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** In clock ticks since boot: with the pid it identifies a process, since pids are used again. */
  readonly startTime: string;
  readonly isZombie: boolean;
}

export const hasProc: boolean = process.platform === "linux";

/** Processes that end while the list is made are left out. */
export function listProcesses(): ProcessInfo[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
}

function readProcess(pid: number): ProcessInfo | undefined {
  const stat = readProcFile(pid, "stat");
  // The command name stands in parentheses and may contain both blanks and parentheses: the fields start after the last.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parentPid, groupId] = fields ?? [];
  const startTime = fields?.[19];
  if (state === undefined || startTime === undefined) return undefined;
  return { pid, parentPid: Number(parentPid), groupId: Number(groupId), startTime, isZombie: state === "Z" };
}

/** All that have `ancestorPid` above them, by the parents of this moment. */
export function descendantsOf(ancestorPid: number, processes: readonly ProcessInfo[]): ProcessInfo[] {
  const found: ProcessInfo[] = [];
  let parents = new Set([ancestorPid]);
  while (parents.size > 0) {
    const children = processes.filter(({ parentPid }) => parents.has(parentPid));
    found.push(...children);
    parents = new Set(children.map(({ pid }) => pid));
  }
  return found;
}

/** Whether the process was started with that variable; false for processes of other users. */
export function hasEnvironment(pid: number, name: string, value: string): boolean {
  return (readProcFile(pid, "environ") ?? "").split("\0").includes(`${name}=${value}`);
}

/** The command line for people. */
export function commandOf(pid: number): string {
  const words = (readProcFile(pid, "cmdline") ?? "").split("\0").filter((word) => word !== "");
  const line = words.map((word) => (/\s/.test(word) ? JSON.stringify(word) : word)).join(" ");
  return line.length <= 200 ? line : `${line.slice(0, 200)}…`;
}

function readProcFile(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined; // gone, or not ours to read: either way nothing of ours
  }
}
