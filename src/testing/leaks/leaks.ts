// The leak check: a snapshot before, and an error after that names whatever a test left behind.
import { setTimeout as realSetTimeout } from "node:timers";
import { MARKER_VARIABLE } from "../mcp-server/scripted-server.js";
import { settle } from "../world/clock.js";
import { commandOf, descendantsOf, hasEnvironment, hasProc, listProcesses, type ProcessInfo } from "./processes.js";
import { countResources, describeHandles, growthSince, openStandardStreams, type ResourceCounts } from "./resources.js";

export interface LeakCheckOptions {
  /** Processes with TENON_TEST_MARKER=<marker> in their environment are ours, whoever their parent is by now. */
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

export class LeakCheck {
  readonly #before: ReadonlySet<string>;
  readonly #resourcesBefore: ResourceCounts;
  readonly #withinMs: number;
  readonly #groups = new Set<number>();
  readonly #markers = new Set<string>();

  constructor(options: LeakCheckOptions = {}) {
    this.#withinMs = options.withinMs ?? DEFAULT_WITHIN_MS;
    if (options.marker !== undefined) this.#markers.add(options.marker);
    openStandardStreams();
    this.#before = new Set(hasProc ? descendantsOf(process.pid, listProcesses()).map(identity) : []);
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
    return {
      processes: hasProc ? this.#processes().map(describe) : [],
      resources: growthSince(this.#resourcesBefore, countResources()).map(
        ({ kind, before, now }) => `${kind}: ${now} active, ${before} before`,
      ),
      skipped: hasProc ? [] : [`processes were not looked at: there is no /proc on ${process.platform}`],
    };
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

  /** Zombies hold nothing any more: they wait for a parent, and some containers have no init that reaps. */
  #processes(): ProcessInfo[] {
    const living = listProcesses().filter(({ isZombie }) => !isZombie);
    const descendants = new Set(descendantsOf(process.pid, living).filter((info) => !this.#before.has(identity(info))));
    return living.filter((info) => {
      if (info.pid === process.pid) return false;
      return descendants.has(info) || this.#groups.has(info.groupId) || this.#hasMarker(info.pid);
    });
  }

  #hasMarker(pid: number): boolean {
    return [...this.#markers].some((marker) => hasEnvironment(pid, MARKER_VARIABLE, marker));
  }
}

/** Takes the snapshot once code already under way has settled. */
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
