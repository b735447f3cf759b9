// Starts the demo server on stdio. The one argument it takes is the folder of the file area; without it, a temporary one.
import { setTimeout as delay } from "node:timers/promises";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { FileArea } from "./file-area.js";
import { Notebook } from "./notes.js";
import { createDemoServer } from "./server.js";

const files = new FileArea(process.argv[2]);
const notebook = new Notebook();
const pause = async (delayMs: number, signal: AbortSignal): Promise<void> =>
  await delay(delayMs, undefined, { signal });

// The temporary folder must not outlive the server, however it is asked to end.
process.on("exit", () => files[Symbol.dispose]());
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => process.exit(0));
process.stdin.on("end", () => process.exit(0));

serveStdio(() => createDemoServer({ notebook, files, pause }), {
  onerror: (error) => process.stderr.write(`tenon-demo: ${error.message}\n`),
});
