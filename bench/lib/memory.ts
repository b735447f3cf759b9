// Resident memory of a process group, read from `/proc`.
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Pages shared by several processes count for each of them, as in `ps`. Undefined where there is no `/proc`. */
export function groupResidentMb(group: number): number | undefined {
  if (!existsSync("/proc/self/stat")) return undefined;
  const members = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && groupOf(name) === group);
  return members.reduce((total, pid) => total + residentMb(pid), 0);
}

function groupOf(pid: string): number | undefined {
  // "pid (name) state parent group …"; the name may hold anything, so the fields are counted from its end.
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  const group = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2];
  return group === undefined ? undefined : Number(group);
}

function residentMb(pid: string): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/status`))?.[1];
  return Number(kilobytes ?? 0) / 1024;
}

/** A process may end between the listing and the reading. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
