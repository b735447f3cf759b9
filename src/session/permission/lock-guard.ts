// Holds a session's tools against the project's lock of definitions, and says once of each server what differs.
import { isJsonObject } from "../../base/json/json.js";
import {
  type ApprovalSubject,
  type LockHold,
  lockedServer,
  lockHold,
  type SourcedTool,
  type ToolOrigin,
  type ToolsLock,
} from "../../tools/index.js";

const MAX_NAMES = 5;

export class LockGuard {
  #lock: ToolsLock | undefined;
  readonly #told = new Set<string>();

  /** What the project's file says now; undefined when there is none. */
  follow(lock: ToolsLock | undefined): void {
    this.#lock = lock;
  }

  /** What it has against a tool. Tools of Tenon and of the program around it change with these only. */
  holdOf(subject: ApprovalSubject): LockHold | undefined {
    if (!this.#lock || !isLockable(subject.origin)) return undefined;
    return lockHold(this.#lock, subject);
  }

  /** Whether it says anything about servers of that name that could be compared. */
  covers(source: string): boolean {
    return this.#lock !== undefined && isJsonObject(lockedServer(this.#lock, source));
  }

  /** Sentences about servers with tools that differ from it, each once for what it says. What cannot be read is told of as a file. */
  news(held: readonly SourcedTool[]): readonly string[] {
    const bySource = new Map<string, string[]>();
    for (const { tool, raw } of held) bySource.set(tool.source, [...(bySource.get(tool.source) ?? []), raw.name]);
    const file = this.#lock?.file ?? "";
    return [...bySource].map(([source, names]) => newsOf(file, source, names)).filter((text) => this.#isNew(text));
  }

  #isNew(text: string): boolean {
    return !this.#told.has(text) && this.#told.add(text).size > 0;
  }
}

function isLockable(origin: ToolOrigin): boolean {
  return origin !== "builtin" && origin !== "extra";
}

function newsOf(file: string, source: string, names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  const what = names.length === 1 ? "1 tool" : `${names.length} tools`;
  const verb = names.length === 1 ? "differs from" : "differ from";
  return `${what} of "${source}" ${verb} ${file} and ${names.length === 1 ? "is" : "are"} held back until somebody looks: ${shown}${more}; tenon mcp diff shows how, tenon mcp lock ${source} accepts it`;
}
