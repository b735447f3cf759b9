// What a server of the checker saw, as it happens: kept in memory, or read from the file that its process writes.
import { readFileSync } from "node:fs";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { waitUntil } from "../wait.js";

export type ServerEventKind =
  | "started"
  | "child"
  | "initialize"
  | "list"
  | "call"
  | "cancelled"
  | "headers"
  | "session_deleted"
  | "ended";

export interface ServerEvent {
  readonly kind: ServerEventKind;
  readonly pid: number;
  readonly detail: JsonObject;
}

/** Where a server writes what it sees. */
export type Record = (kind: ServerEventKind, detail?: JsonObject) => void;

export interface ServerLog {
  events(): readonly ServerEvent[];
}

export class MemoryLog implements ServerLog {
  readonly #events: ServerEvent[] = [];
  readonly record: Record = (kind, detail = {}) => {
    this.#events.push({ kind, pid: process.pid, detail });
  };

  events(): readonly ServerEvent[] {
    return this.#events;
  }
}

export class FileLog implements ServerLog {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** The last line may be half written: then it is there the next time. */
  events(): readonly ServerEvent[] {
    return textOf(this.#path)
      .split("\n")
      .flatMap((line) => readEvent(line));
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // no process of it has started
  }
}

function readEvent(line: string): ServerEvent[] {
  const parsed = parseJson(line);
  if (!parsed.ok || !isJsonObject(parsed.value)) return [];
  const { kind, pid, detail } = parsed.value;
  const known = KINDS.find((one) => one === kind);
  return known && typeof pid === "number" ? [{ kind: known, pid, detail: isJsonObject(detail) ? detail : {} }] : [];
}

const KINDS: readonly ServerEventKind[] = [
  "started",
  "child",
  "initialize",
  "list",
  "call",
  "cancelled",
  "headers",
  "session_deleted",
  "ended",
];

export function eventsOf(log: ServerLog, kind: ServerEventKind): readonly ServerEvent[] {
  return log.events().filter((event) => event.kind === kind);
}

/** Whether it comes to pass in time. */
export async function sees(log: ServerLog, kind: ServerEventKind, withinMs: number, count = 1): Promise<boolean> {
  return await waitUntil(() => eventsOf(log, kind).length >= count, withinMs);
}
