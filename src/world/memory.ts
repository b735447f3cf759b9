// How much memory there is, and how much of it trees of processes take, as Linux shows it.
import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { listed } from "./inherited-handles.js";

/** Of the machine, or of the container where that has less. */
export function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

interface Seen {
  readonly parent: number;
  readonly group: number;
  readonly pages: number;
}

/** One look at /proc for all of them. Each process is counted once, for the first of `ids` whose tree it is in. */
export function memoryOf(ids: readonly number[]): ReadonlyMap<number, number> | undefined {
  if (process.platform !== "linux") return undefined;
  const seen = look();
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
function rootOf(id: number, seen: ReadonlyMap<number, Seen>, roots: ReadonlySet<number>): number | undefined {
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

function look(): ReadonlyMap<number, Seen> {
  const seen = new Map<number, Seen>();
  for (const entry of listed("/proc") ?? []) {
    if (!/^\d+$/u.test(entry)) continue;
    const found = read(entry);
    if (found) seen.set(Number(entry), found);
  }
  return seen;
}

function read(id: string): Seen | undefined {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "latin1");
    // The command name stands in parentheses and may hold blanks and parentheses: the fields start after the last one.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(fields[1]), group: Number(fields[2]), pages: Number(fields[21]) };
  } catch {
    return undefined; // gone since the listing
  }
}

/** Node does not tell it: what it says of this process in bytes, against what the system says in pages. */
function sizeOfPage(own: Seen | undefined): number | undefined {
  if (!own || own.pages <= 0) return undefined;
  const ratio = process.memoryUsage.rss() / own.pages;
  return 2 ** Math.round(Math.log2(ratio));
}
