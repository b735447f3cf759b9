// Finds processes by the marker in their environment: those that left their group, which no signal to it reaches.
import { readFileSync } from "node:fs";
import { MARKER } from "./guardian.js";
import { listed } from "./inherited-handles.js";

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
