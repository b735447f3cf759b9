// Starts a child that leads a group of its own, carries our marker, and is watched over by the guardian.
import { type ChildProcess, execFile, spawn as spawnChild } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import type { Child, ChildExit, SpawnRequest } from "../base/ports/world.js";
import { guardian, MARKER } from "./guardian.js";
import { allProcesses, childStdio, processes, processIds, startInCgroup } from "./processes.js";

const isWindows = process.platform === "win32";
let count = 0;

export function spawn(request: SpawnRequest): Child {
  const marker = `${guardian.id}.${++count}`;
  const { started: child, cgroup } = startInCgroup(marker, () => start(request, marker));
  if (child instanceof Error) {
    cgroup?.remove();
    return { ...notStarted(), exited: Promise.resolve({ kind: "not_started", error: child }) };
  }
  const exited = exitOf(child);
  const { pid, stdin, stdout, stderr } = child;
  // Out of file descriptors: the error comes as an event, and there are no pipes.
  if (pid === undefined) cgroup?.remove();
  if (!stdin || !stdout || !stderr) return { ...notStarted(), exited };
  for (const stream of [stdin, stdout, stderr]) stream.on("error", ignore); // told to whoever reads or writes them
  const { madeFolders = [] } = request;
  if (pid !== undefined) for (const folder of madeFolders) guardian.watchMade(folder);
  if (pid !== undefined) guardian.watchGroup(pid);
  if (pid !== undefined && cgroup) guardian.watchCgroups(join(dirname(cgroup.folder), `tenon-${guardian.id}`));
  const ancestry = cgroup || pid === undefined ? undefined : new Descendants(pid);
  return {
    pid,
    stdin,
    stdout,
    stderr,
    exited,
    signalGroup: (signal) => {
      ancestry?.look();
      if (isWindows) endWindowsTree(pid);
      else if (request.isKeeper && signal === "SIGTERM") signalHeld(pid, signal);
      else signalGroup(pid, signal);
    },
    isGroupAlive: () => {
      ancestry?.lookOnce();
      if (!signalGroup(pid, 0)) return false;
      const hasLeader = child.exitCode === null && child.signalCode === null;
      return hasLeader || livingMembers(pid)?.length !== 0;
    },
    signalStrays: async (signal) => {
      const marked = (await markedProcesses(guardian.id)).get(marker) ?? [];
      const strays = new Set([...marked, ...(cgroup?.members() ?? []), ...(ancestry?.living() ?? [])]);
      return [...strays].filter((stray) => send(stray, signal)).length;
    },
    release: async () => {
      for (const folder of madeFolders) await removeUnused(folder);
      if (pid !== undefined) for (const folder of madeFolders) guardian.forgetMade(folder);
      cgroup?.remove();
      if (pid !== undefined) await guardian.forgetGroup(pid);
    },
  };
}

/**
 * Removing a folder takes away what is mounted there in every process, so it is left where another sandbox uses it, and where
 * something lies in it.
 */
async function removeUnused(folder: string): Promise<void> {
  try {
    for (const pid of processIds() ?? []) {
      const mounts = await readFile(`/proc/${pid}/mountinfo`, "utf8").catch(() => "");
      if (mounts.includes(` ${folder.replaceAll(" ", "\\040")} `)) return;
    }
    await rmdir(folder);
  } catch {
    // not there any more, or somebody put something into it
  }
}

/** Most failures come as an event; arguments that no system call takes, and a full process table, are thrown. */
function start(request: SpawnRequest, marker: string): ChildProcess | Error {
  try {
    const child = spawnChild(request.command, [...request.args], {
      cwd: request.cwd,
      env: { ...request.env, [MARKER]: marker },
      stdio: [...childStdio()],
      detached: !isWindows, // leads its own group; on Windows that would open a console
      windowsHide: true,
      windowsVerbatimArguments: request.isVerbatim === true,
    });
    child.on("error", ignore); // told by `exited`; unheard it would end this process
    return child;
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

function notStarted(): Omit<Child, "exited"> {
  const ended = () => Readable.from([]);
  return {
    pid: undefined,
    stdin: new PassThrough().end().resume(),
    stdout: ended(),
    stderr: ended(),
    signalGroup: () => {},
    isGroupAlive: () => false,
    signalStrays: async () => 0,
    release: async () => {},
  };
}

function exitOf(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    // Also for a signal that could not be sent: more than one may come.
    child.on("error", (error) => {
      if (child.pid === undefined) resolve({ kind: "not_started", error });
    });
    child.once("exit", (code, signal) => resolve({ kind: "exited", code, signal }));
  });
}

function ignore(): void {}

/**
 * A signal also "reaches" members that are dead and not yet reaped, for seconds where init is slow: those do not count.
 */
function livingMembers(group: number | undefined): readonly number[] | undefined {
  return allProcesses()?.flatMap((found) => (found.group === group ? [found.id] : []));
}

/** All of a keeper's group but itself: it would end at once, and take with it what was to have time to end. */
function signalHeld(keeper: number | undefined, signal: NodeJS.Signals): void {
  const held = livingMembers(keeper)?.filter((pid) => pid !== keeper) ?? [];
  if (held.length === 0) signalGroup(keeper, signal);
  for (const pid of held) send(pid, signal);
}

/** True when the signal reached someone. Signal 0 only asks. */
function signalGroup(pid: number | undefined, signal: NodeJS.Signals | 0): boolean {
  return pid !== undefined && send(isWindows ? pid : -pid, signal);
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false; // ESRCH: nobody is left
  }
}

/** Windows has no groups: the tree is found by parents, as long as the parent is there. */
function endWindowsTree(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    execFile("taskkill", ["/pid", String(pid), "/T", "/F"], { windowsHide: true }, () => {}); // gone already: fine
  } catch {
    // no process or handle left to start it with
  }
}

// Finds processes that left their group, which no signal to it reaches: by the marker in their environment, and by descent.

let scan: Promise<ReadonlyMap<string, readonly number[]>> | undefined;

/**
 * Living processes by marker, as they are after this call. All who ask in one turn of the event loop share one look:
 * twenty servers that end together must not read all of /proc twenty times.
 */
function markedProcesses(guardianId: string): Promise<ReadonlyMap<string, readonly number[]>> {
  scan ??= new Promise((resolve) => {
    setImmediate(() => {
      scan = undefined;
      resolve(look(`${MARKER}=${guardianId}.`));
    });
  });
  return scan;
}

function look(prefix: string): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const entry of processIds() ?? []) {
    const marker = markerOf(entry, prefix);
    if (marker === undefined) continue;
    const pids = found.get(marker) ?? [];
    pids.push(Number(entry));
    found.set(marker, pids);
  }
  return found;
}

/** A zombie has no environment any more, so it does not count. */
function markerOf(pid: string, prefix: string): string | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
    const start = environment.startsWith(prefix) ? 0 : environment.indexOf(`\0${prefix}`) + 1;
    if (start === 0 && !environment.startsWith(prefix)) return undefined;
    const end = environment.indexOf("\0", start);
    return environment.slice(start + MARKER.length + 1, end === -1 ? undefined : end);
  } catch {
    return undefined; // gone since the listing, or another user's
  }
}

/**
 * The processes under a child, as far as they were seen before their parents ended: where there is no control group. One that
 * was left by its parent between two looks, and has cleared its environment, is not found.
 */
class Descendants {
  readonly #root: number;
  /** By number, with the identity it had. */
  readonly #seen = new Map<number, string>();
  #hasLooked = false;

  constructor(root: number) {
    this.#root = root;
  }

  lookOnce(): void {
    if (!this.#hasLooked) this.look();
  }

  look(): void {
    this.#hasLooked = true;
    const all = allProcesses() ?? [];
    const open = [this.#root, ...this.living()];
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      for (const { id, identity, parent } of all) {
        if (parent !== pid || this.#seen.has(id)) continue;
        this.#seen.set(id, identity);
        open.push(id);
      }
    }
  }

  living(): readonly number[] {
    return [...this.#seen].flatMap(([pid, identity]) => (processes.identityOf(pid) === identity ? [pid] : []));
  }
}
