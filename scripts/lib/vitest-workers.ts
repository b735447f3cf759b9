// Vitest's global setup: the files that run in threads are JavaScript, made anew from their sources before any test runs.

import { ROOT } from "./run.js";
import { bundleWorkersInSource } from "./workers.js";

export async function setup(): Promise<void> {
  await bundleWorkersInSource(ROOT);
}
