// What the user says about all servers together: how many there may be, what they may take, how long an unused one stays.
import { defined } from "../base/json/defined.js";
import type { PoolSettings } from "../mcp/index.js";
import { type Merged, valueOf } from "./merge.js";

const BYTES_PER_MB = 1_048_576;

/** What is not given is by default. */
export function poolSettings(merged: Merged): PoolSettings {
  const given = (key: string): number | undefined => {
    const value = valueOf(merged, ["serverLimits", key])?.value;
    return typeof value === "number" ? value : undefined;
  };
  const idleMs = given("idleMs");
  const maxProcesses = given("maxProcesses");
  const maxMemoryMb = given("maxMemoryMb");
  return defined({
    idleMs,
    maxProcesses,
    maxMemoryBytes: maxMemoryMb === undefined ? undefined : maxMemoryMb * BYTES_PER_MB,
  });
}
