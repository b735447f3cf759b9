// Threads for work that would hold the main one up; loaded only when the first is needed.
import type { Thread } from "../base/world.js";

/** Numbers of threads are small and their heaps are bounded: what they handle comes from servers. */
const RESOURCES = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 } as const;

export function thread(source: string, data: unknown): Thread {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const worker = new Worker(source, {
    eval: true,
    workerData: data,
    resourceLimits: RESOURCES,
    env: {},
    execArgv: [], // the options this process was started with (a loader, a debugger) are not the thread's
  });
  worker.unref();
  let isEnded = false;
  return {
    post: (message) => worker.postMessage(message),
    listen: (listener) => {
      const fail = (error: Error) => {
        if (!isEnded) listener.onFailed(error);
        isEnded = true;
      };
      worker.on("message", (message: unknown) => listener.onMessage(message));
      worker.on("error", fail);
      worker.on("exit", (code) => fail(new Error(`the thread ended with code ${code}`)));
      worker.unref(); // listening for messages made it count again
    },
    end: () => {
      isEnded = true;
      worker.terminate().catch(() => {}); // it ended by itself meanwhile
    },
  };
}
