// What keeps this process's event loop alive: sockets, servers, pipes, timers, counted by kind.
import { isRecord } from "../mcp-server/shape.js";

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
export function openStandardStreams(): readonly NodeJS.WriteStream[] {
  return [process.stdout, process.stderr];
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

/** Sockets and pipes with their addresses, for the message of a failure: the counts alone find no culprit. */
export function describeHandles(): string[] {
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
