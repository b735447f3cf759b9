// What keeps this process's event loop alive: sockets, servers, pipes, timers, counted by kind.

export type ResourceCounts = ReadonlyMap<string, number>;

/** Kinds that come and go with Node's own work, or that live in the standard streams. */
const IGNORED = new Set(["TTYWrap", "Immediate", "CloseReq", "TickObject", "FSReqCallback", "FSReqPromise"]);

export function countResources(): ResourceCounts {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (!IGNORED.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** The standard streams open their handles on first use: used before the snapshot, they are in it. */
export function touchStandardStreams(): void {
  for (const stream of [process.stdout, process.stderr]) stream.writable;
}

export interface ResourceGrowth {
  readonly kind: string;
  readonly before: number;
  readonly now: number;
}

export function growthSince(before: ResourceCounts, now: ResourceCounts): ResourceGrowth[] {
  return [...now]
    .map(([kind, count]) => ({ kind, before: before.get(kind) ?? 0, now: count }))
    .filter((growth) => growth.now > growth.before);
}
