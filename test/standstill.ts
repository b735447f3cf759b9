// How long the event loop stood still while something was done.
import { setImmediate } from "node:timers/promises";

const RUNS = 3;

/** The longest standstill in the quietest of a few runs: others use the machine too, and must not fail a test. */
export async function longestStandstillMs(work: () => Promise<unknown>): Promise<number> {
  const longest: number[] = [];
  for (let run = 0; run < RUNS; run++) longest.push(await standstillMs(work));
  return Math.min(...longest);
}

async function standstillMs(work: () => Promise<unknown>): Promise<number> {
  const over = new AbortController();
  const watching = watch(over.signal);
  try {
    await work();
  } finally {
    over.abort();
  }
  return await watching;
}

async function watch(over: AbortSignal): Promise<number> {
  let longestMs = 0;
  for (let lastMs = performance.now(); !over.aborted; ) {
    await setImmediate();
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }
  return longestMs;
}
