// Finds processes that left their group, which no signal to it reaches: by the marker in their environment, and by descent.
import { readFileSync } from "node:fs";
import { MARKER } from "./guardian.js";
import { listed } from "./inherited-handles.js";
import { processes } from "./processes.js";

let scan: Promise<ReadonlyMap<string, readonly number[]>> | undefined;

/**
 * Living processes by marker, as they are after this call. All who ask in one turn of the event loop share one look:
 * twenty servers that end together must not read all of /proc twenty times.
 */
export function markedProcesses(guardianId: string): Promise<ReadonlyMap<string, readonly number[]>> {
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
  if (process.platform !== "linux") return found; // elsewhere nobody may see another process's environment
  for (const entry of listed("/proc") ?? []) {
    if (!/^\d+$/u.test(entry)) continue;
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
export class Descendants {
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
    if (process.platform !== "linux") return;
    const children = new Map<number, number[]>();
    for (const entry of listed("/proc") ?? []) {
      const parent = /^\d+$/u.test(entry) ? parentOf(entry) : undefined;
      if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    }
    const open = [this.#root, ...this.living()];
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      for (const child of children.get(pid) ?? []) {
        const identity = this.#seen.has(child) ? undefined : processes.identityOf(child);
        if (identity === undefined) continue;
        this.#seen.set(child, identity);
        open.push(child);
      }
    }
  }

  living(): readonly number[] {
    return [...this.#seen].flatMap(([pid, identity]) => (processes.identityOf(pid) === identity ? [pid] : []));
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined; // gone since the listing
  }
}
