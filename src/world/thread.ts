// Threads for work that would hold the main one up; loaded only when the first is needed.
import type { Worker } from "node:worker_threads";
import type { Thread, ThreadListener } from "../base/ports/world.js";

/** Numbers of threads are small and their heaps are bounded: what they handle comes from servers. */
const RESOURCES = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 } as const;

/**
 * Runs a `*-worker.ts` file, bundled to `.mjs` by scripts/lib/workers.ts; give it as `new URL("./x-worker.mjs", import.meta.url)`.
 * Never throws: one that cannot be started fails when `listen` is called.
 */
export function thread(script: URL, data: unknown): Thread {
  let listener: ThreadListener | undefined;
  let failure: Error | undefined;
  let isEnded = false;
  const fail = (error: Error) => {
    failure ??= error;
    if (isEnded || !listener) return;
    isEnded = true;
    listener.onFailed(failure);
  };
  const worker = start(script, data, fail);
  worker?.on("message", (message: unknown) => {
    try {
      listener?.onMessage(message);
    } catch (thrown) {
      fail(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  });
  worker?.unref(); // listening for messages made it count again
  return {
    post: (message) => worker?.postMessage(message),
    listen: (given) => {
      listener = given;
      const before = failure;
      if (before) queueMicrotask(() => fail(before));
    },
    end: () => {
      isEnded = true;
      worker?.terminate().catch(() => {}); // it ended by itself meanwhile
    },
  };
}

function start(script: URL, data: unknown, onFailed: (error: Error) => void): Worker | undefined {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  try {
    const worker = new Worker(script, {
      workerData: data,
      resourceLimits: RESOURCES,
      env: {},
      execArgv: [], // the options this process was started with (a loader, a debugger) are not the thread's
    });
    worker.on("error", onFailed);
    worker.on("exit", (code) => onFailed(new Error(`the thread ended with code ${code}`)));
    return worker;
  } catch (thrown) {
    onFailed(thrown instanceof Error ? thrown : new Error(String(thrown)));
    return undefined;
  }
}
