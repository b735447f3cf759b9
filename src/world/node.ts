// The real World on Node: the only place besides the CLI where the process, the clock and the disk are touched.
import { spawn as spawnChild } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { createDeadline } from "../base/deadline.js";
import { createLog, type Log, type LogLevel } from "../base/log.js";
import type { AppendFile, Child, ChildExit, SpawnRequest, Timer, World } from "../base/world.js";

export interface NodeWorldOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
}

export function nodeWorld(options: NodeWorldOptions = {}): World {
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    after,
    deadline: (timeoutMs, parent) => createDeadline(after, timeoutMs, parent),
    spawn,
    fetch: (input, init) => fetch(input, init),
    files: { openAppend, readText: (path) => readFile(path, "utf8") },
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    random: () => Math.random(),
    env: options.env ?? { HOME: homedir(), ...process.env },
    platform: process.platform,
    log: options.log ?? stderrLog("warn"),
  };
}

function stderrLog(level: LogLevel): Log {
  return createLog({ level, now: () => Date.now(), write: (line) => process.stderr.write(line) });
}

function after(delayMs: number, run: () => void): Timer {
  const timer = setTimeout(run, delayMs);
  return { clear: () => clearTimeout(timer) };
}

function spawn(request: SpawnRequest): Child {
  const child = spawnChild(request.command, [...request.args], {
    cwd: request.cwd,
    env: { ...request.env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: process.platform !== "win32", // leads its own group; on Windows that would open a console
    windowsHide: true,
  });
  const exited = new Promise<ChildExit>((resolve) => {
    child.once("error", (error) => {
      if (child.pid === undefined) resolve({ kind: "not_started", error });
    });
    child.once("exit", (code, signal) => resolve({ kind: "exited", code, signal }));
  });
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    signalGroup: (signal) => signalGroup(child.pid, signal),
    isGroupAlive: () => {
      if (!signalGroup(child.pid, 0)) return false;
      const hasLeader = child.exitCode === null && child.signalCode === null;
      return hasLeader || process.platform !== "linux" || hasLivingMember(child.pid);
    },
  };
}

/** A signal also "reaches" members that are dead and not yet reaped, for seconds where init is slow: those do not count. */
function hasLivingMember(group: number | undefined): boolean {
  return readdirSync("/proc").some((entry) => {
    if (!/^\d+$/u.test(entry)) return false;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
      const [state, , groupId] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(groupId) === group && state !== "Z" && state !== "X";
    } catch {
      return false; // gone since the listing
    }
  });
}

/** True when the signal reached someone. Signal 0 only asks. */
function signalGroup(pid: number | undefined, signal: NodeJS.Signals | 0): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
    return true;
  } catch {
    return false; // ESRCH: nobody is left
  }
}

function openAppend(path: string): AppendFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, "a", 0o600);
  return {
    write: (text) => {
      const bytes = Buffer.from(text);
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    },
    sync: () => fsyncSync(file),
    close: () => closeSync(file),
  };
}
