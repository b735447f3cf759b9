// How tools of now stand against the lock: one of them, before it is offered, or all of a server's, for people.
import { definitionDifference, definitionHash } from "../policy/difference.js";
import type { ToolDefinition } from "../tool.js";
import { type LockedTools, lockedServer, lockedTool, type ToolsLock } from "./tools-lock.js";

/** Why a tool is held back by the lock. */
export interface LockHold {
  /** After "it": one clause. */
  readonly reason: string;
  /** What changed, a line each, for whoever looks. */
  readonly difference: () => readonly string[];
  /** Somebody's look at this very definition frees it; if not, only a lock that can be read does. */
  readonly isReviewable: boolean;
}

interface LockSubject {
  /** The server's name. */
  readonly source: string;
  readonly definition: ToolDefinition;
  readonly definitionHash: string;
}

/** Undefined when the lock has nothing against it: a server that is not in it is not locked. */
export function lockHold(lock: ToolsLock, subject: LockSubject): LockHold | undefined {
  const { file, problem } = lock;
  const { source, definition } = subject;
  const unreadable = (reason: string): LockHold => ({ reason, difference: () => [], isReviewable: false });
  if (problem !== undefined) return unreadable(`cannot be compared with ${file}: ${problem}`);
  const tools = lockedServer(lock, source);
  if (tools === undefined) return undefined;
  if (tools === null) return unreadable(`cannot be compared with ${file}: what it says of its server cannot be read`);
  const locked = lockedTool(tools, definition.name);
  if (locked?.hash === subject.definitionHash) return undefined;
  return {
    reason: `differs from ${file}${locked ? "" : ": it is not in it"}`,
    difference: () => definitionDifference(locked ? locked.definition : {}, definition),
    isReviewable: true,
  };
}

export interface ToolChange {
  readonly tool: string;
  readonly change: "added" | "removed" | "changed";
  /** For people, a line each. */
  readonly difference: readonly string[];
}

/** Sorted by name; empty when all is as it was locked. */
export function compareTools(locked: LockedTools, now: readonly ToolDefinition[]): readonly ToolChange[] {
  const current = new Map(now.map((definition) => [definition.name, definition]));
  const changes: ToolChange[] = [];
  for (const [tool, definition] of current) {
    const before = lockedTool(locked, tool);
    if (!before) changes.push({ tool, change: "added", difference: definitionDifference({}, definition) });
    else if (before.hash !== definitionHash(definition)) {
      const difference = definitionDifference(before.definition, definition);
      changes.push({ tool, change: "changed", difference });
    }
  }
  for (const tool of Object.keys(locked))
    if (!current.has(tool)) changes.push({ tool, change: "removed", difference: [] });
  return changes.sort((one, other) => (one.tool < other.tool ? -1 : 1));
}
