// The leak check: a snapshot before, and an error after that names whatever a test left behind.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as realSetTimeout } from "node:timers";
import { isRecord } from "./mcp-server/check-behaviour.js";
import { MARKER_VARIABLE } from "./mcp-server/scripted-server.js";
import { settle } from "./world/clock.js";

export interface LeakCheckOptions {
  /** Processes with TENON_TEST_MARKER=<marker> in their environment are ours, whatever their parent is by now. */
  readonly marker?: string;
  /** How long what is ending may take. Ending is looked for again and again until then. */
  readonly withinMs?: number;
}

export interface Leaks {
  /** One line each, for people. */
  readonly processes: readonly string[];
  readonly resources: readonly string[];
  /** Why something could not be looked at. */
  readonly skipped: readonly string[];
}

const DEFAULT_WITHIN_MS = 3_000;
const POLL_MS = 20;

/**
 * Finds processes, sockets and timers that were left.
 *
 * @example
 * const check = await leakCheck();
 */
export class LeakCheck {
  readonly #before: ReadonlySet<string>;
  readonly #resourcesBefore: ReadonlyMap<string, number>;
  readonly #withinMs: number;
  readonly #groups = new Set<number>();
  readonly #markers = new Set<string>();

  constructor(options: LeakCheckOptions = {}) {
    this.#withinMs = options.withinMs ?? DEFAULT_WITHIN_MS;
    if (options.marker !== undefined) this.#markers.add(options.marker);
    openStandardStreams();
    this.#before = new Set(descendantsOf(process.pid, listProcesses()).map(identity));
    this.#resourcesBefore = countResources();
  }

  /** Also looks for members of this process group: orphans are no longer descendants of ours. */
  watchGroup(groupId: number): void {
    this.#groups.add(groupId);
  }

  watchMarker(marker: string): void {
    this.#markers.add(marker);
  }

  /** What is left at this moment. */
  find(): Leaks {
    const resources = [...countResources()].flatMap(([kind, now]) => {
      const before = this.#resourcesBefore.get(kind) ?? 0;
      return now > before ? [`${kind}: ${now} active, ${before} before`] : [];
    });
    const skipped = hasProc ? [] : [`processes were not looked at: there is no /proc on ${process.platform}`];
    return { processes: this.#processes().map(describe), resources, skipped };
  }

  /** Resolves with what could not be looked at as soon as nothing is left; throws when something still is at the end. */
  async verify(): Promise<readonly string[]> {
    const endMs = performance.now() + this.#withinMs;
    for (;;) {
      await settle();
      const leaks = this.find();
      const lines = [...leaks.processes, ...leaks.resources];
      if (lines.length === 0) return leaks.skipped;
      if (performance.now() >= endMs) {
        const handles = leaks.resources.length > 0 ? describeHandles() : [];
        const all = [...lines, ...handles, ...leaks.skipped];
        throw new Error(`left behind after ${this.#withinMs} ms:\n  ${all.join("\n  ")}`);
      }
      await new Promise<void>((resolve) => realSetTimeout(resolve, POLL_MS));
    }
  }

  #processes(): ProcessInfo[] {
    const living = listProcesses();
    const descendants = new Set(descendantsOf(process.pid, living).filter((info) => !this.#before.has(identity(info))));
    return living.filter((info) => {
      if (info.pid === process.pid) return false;
      return descendants.has(info) || this.#groups.has(info.groupId) || hasMarker(info.pid, this.#markers);
    });
  }
}

/**
 * Takes the snapshot once code already under way has settled.
 *
 * @example
 * const check = await leakCheck();
 * await work();
 * await check.verify();
 */
export async function leakCheck(options?: LeakCheckOptions): Promise<LeakCheck> {
  await settle();
  return new LeakCheck(options);
}

function identity(info: ProcessInfo): string {
  return `${info.pid}@${info.startTime}`;
}

function describe({ pid, groupId, parentPid }: ProcessInfo): string {
  return `process ${pid} (group ${groupId}, parent ${parentPid}): ${commandOf(pid)}`;
}

export interface LivingSearch {
  /** Everything below this process, by the parents of this moment. */
  readonly under?: number;
  /** Everything that carries TENON_TEST_MARKER with this value. */
  readonly marker?: string;
  /** Those seen before, whatever their parent is by now. */
  readonly identities?: ReadonlySet<string>;
}

export interface LivingProcess {
  readonly pid: number;
  /** The pid with its start: pids are used again. */
  readonly identity: string;
  readonly command: string;
}

/** All that match any of the criteria; none where there is no /proc. Zombies are dead. */
export function listLiving({ under, marker, identities }: LivingSearch): LivingProcess[] {
  const living = listProcesses();
  const below = new Set(under === undefined ? [] : descendantsOf(under, living));
  const markers = marker === undefined ? [] : [marker];
  return living
    .filter((info) => below.has(info) || identities?.has(identity(info)) || hasMarker(info.pid, markers))
    .map((info) => ({ pid: info.pid, identity: identity(info), command: commandOf(info.pid) }));
}

export interface ProcessInfo {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
  /** In clock ticks since boot: with the pid it identifies a process, since pids are used again. */
  readonly startTime: string;
}

export const hasProc: boolean = process.platform === "linux";

/**
 * None where there is no /proc. Processes that end while the list is made are left out, and so are zombies: they hold
 * nothing any more, but wait for a parent, and some containers have no init that reaps.
 */
export function listProcesses(): ProcessInfo[] {
  const pids = hasProc ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : [];
  return pids.flatMap((name) => {
    const stat = readProcFile(Number(name), "stat");
    // The command name stands in parentheses and may contain both: the fields start after the last.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, parentPid, groupId] = fields;
    const startTime = fields[19];
    if (state === "Z" || startTime === undefined) return [];
    return [{ pid: Number(name), parentPid: Number(parentPid), groupId: Number(groupId), startTime }];
  });
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

/** Whether the process was started with one of these markers; false for processes of other users. */
export function hasMarker(pid: number, markers: Iterable<string>): boolean {
  const wanted = [...markers].map((marker) => `${MARKER_VARIABLE}=${marker}`);
  const environment = wanted.length === 0 ? [] : readProcFile(pid, "environ").split("\0");
  return wanted.some((variable) => environment.includes(variable));
}

/** The command line for people. */
export function commandOf(pid: number): string {
  const words = readProcFile(pid, "cmdline")
    .split("\0")
    .filter((word) => word !== "");
  const line = words.map((word) => (/\s/.test(word) ? JSON.stringify(word) : word)).join(" ");
  return line.length <= 200 ? line : `${line.slice(0, 200)}…`;
}

function readProcFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // gone, or not ours to read: either way nothing of ours
  }
}

/** Kinds that come and go with Node's own work, or that live in the standard streams. */
const IGNORED = new Set(["TTYWrap", "Immediate", "CloseReq", "TickObject", "FSReqCallback", "FSReqPromise"]);

function countResources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (!IGNORED.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** The standard streams open their handles on first use: used before the snapshot, they are in it. */
function openStandardStreams(): readonly NodeJS.WriteStream[] {
  return [process.stdout, process.stderr];
}

/** Sockets and pipes with their addresses, for the message of a failure: the counts alone find no culprit. */
function describeHandles(): string[] {
  const report: unknown = process.report?.getReport();
  const handles: unknown = isRecord(report) ? report["libuv"] : undefined;
  if (!Array.isArray(handles)) return [];
  return handles.flatMap((handle: unknown) => {
    if (!isRecord(handle) || handle["is_referenced"] !== true) return [];
    const { type } = handle;
    if (type === "tcp" || type === "udp") {
      return [`${type} ${endpoint(handle["localEndpoint"])} -> ${endpoint(handle["remoteEndpoint"])}`];
    }
    return type === "pipe" || type === "process" ? [`${type} ${shown(handle["fd"] ?? handle["pid"])}`] : [];
  });
}

function endpoint(value: unknown): string {
  if (!isRecord(value)) return "(none)";
  return `${shown(value["ip4"] ?? value["ip6"])}:${shown(value["port"])}`;
}

function shown(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "?";
}
