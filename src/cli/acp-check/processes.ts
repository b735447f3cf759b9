// Which processes of the checker's servers still live, and ending those that were left behind.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { eventsOf, type ServerLog } from "./server/log.js";

/** Every process that a server's log tells of: itself, started once or more, and what it started. */
export function processesOf(log: ServerLog): readonly number[] {
  const children = eventsOf(log, "child").map(({ detail }) => Number(detail["child"]));
  return [...new Set([...eventsOf(log, "started").map(({ pid }) => pid), ...children])].filter((pid) => pid > 1);
}

/** `mark` is a word of its command line: the number alone may belong to somebody else by now. */
export function isAlive(pid: number, mark: string): boolean {
  return commandLine(pid).includes(mark);
}

export function endProcess(pid: number, mark: string): void {
  if (!isAlive(pid, mark)) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it ended by itself in the meantime
  }
}

/** Empty for a process that is gone, or dead and not yet collected. */
function commandLine(pid: number): string {
  try {
    if (process.platform === "linux") return readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return execFileSync("ps", ["-ww", "-o", "command=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return "";
  }
}
