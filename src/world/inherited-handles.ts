// What this process was handed open by whoever started it: no child gets it, least of all one in a sandbox.
import { openSync, readdirSync, readFileSync } from "node:fs";

const CLOSES_ON_EXEC = 0o2_000_000;
type Handle = "pipe" | "ignore" | number;

/**
 * Node opens everything so that it closes on exec, and marks what it was handed so up to the first gap beyond 16; whoever
 * started it may have left more. A folder among them would lead out of any sandbox.
 */
export function handlesIn(processFolder: string): readonly number[] {
  return (listed(`${processFolder}/fd`) ?? [])
    .map(Number)
    .filter((fd) => fd > 2 && staysOpen(`${processFolder}/fdinfo/${fd}`))
    .sort((one, other) => one - other);
}

/** Undefined where the system does not say. */
export function listed(folder: string): readonly string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined;
  }
}

function staysOpen(infoFile: string): boolean {
  try {
    const [, flags] = /^flags:\s+([0-7]+)$/mu.exec(readFileSync(infoFile, "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSES_ON_EXEC) === 0;
  } catch {
    return false; // it was the listing's own
  }
}

/** The `stdio` of a child: three pipes, and nothing behind each handle that it would inherit. */
export function stdioHiding(handles: readonly number[], nothing: number): readonly Handle[] {
  const stdio: Handle[] = ["pipe", "pipe", "pipe"];
  while (stdio.length <= (handles.at(-1) ?? 2)) stdio.push("ignore");
  for (const handle of handles) stdio[handle] = nothing;
  return stdio;
}

let known: readonly Handle[] | undefined;

/** Looked up once: they were there before anything else. Only Linux tells, and only there is a sandbox. */
export function childStdio(): readonly Handle[] {
  known ??= look();
  return known;
}

function look(): readonly Handle[] {
  const handles = handlesIn("/proc/self");
  return stdioHiding(handles, handles.length === 0 ? -1 : openSync("/dev/null", "r+"));
}
