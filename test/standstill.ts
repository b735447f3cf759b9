// How long the event loop stood still while something was done.
import { watchEventLoop } from "../src/testing/lab/index.js";

const RUNS = 3;

/** The longest standstill in the quietest of a few runs: others use the machine too, and must not fail a test. */
export async function longestStandstillMs(work: () => Promise<unknown>): Promise<number> {
  const longest: number[] = [];
  for (let run = 0; run < RUNS; run++) longest.push((await watchEventLoop(work())).longestMs);
  return Math.min(...longest);
}
