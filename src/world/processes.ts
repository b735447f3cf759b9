// Which processes live, told apart even where a number is used again.
import { readFileSync } from "node:fs";
import type { Processes } from "../base/ports/world.js";
import { memoryBytes, memoryOf } from "./memory.js";

export const processes: Processes = { ownId: process.pid, identityOf, memoryBytes: memoryBytes(), memoryOf };

function identityOf(id: number): string | undefined {
  if (!Number.isSafeInteger(id) || id <= 0) return undefined;
  return process.platform === "linux" ? fromProc(id) : fromSignal(id);
}

/** The time of its start, in clock ticks since boot. A zombie is gone: nobody but its parent knows of it. */
function fromProc(id: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "latin1");
    // The command name stands in parentheses and may hold blanks and parentheses: the fields start after the last one.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : `${id}-${fields[19] ?? ""}`;
  } catch {
    return undefined;
  }
}

/** Only whether it lives: a number that is used again looks like the process that had it before. */
function fromSignal(id: number): string | undefined {
  try {
    process.kill(id, 0);
    return String(id);
  } catch (error) {
    const isOthers = error instanceof Error && "code" in error && error.code === "EPERM";
    return isOthers ? String(id) : undefined;
  }
}
