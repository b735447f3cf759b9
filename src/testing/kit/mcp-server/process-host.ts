// The scripted server's host when it is a process: stdout, stderr, real children, real death.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { SpawnChildrenStep } from "./behaviour.js";
import type { Host } from "./host.js";

/** Idles until its lifetime ends; says on fd 3 that it runs, since a signal before that would meet no handler. */
const IDLE_PROGRAM = `
  const [lifetimeMs, ignoresSigterm] = JSON.parse(process.argv[1]);
  setTimeout(() => process.exit(0), lifetimeMs);
  if (ignoresSigterm) process.on("SIGTERM", () => {});
  const fs = require("node:fs");
  fs.writeSync(3, "r");
  fs.closeSync(3);
`;

export function processHost(lifetimeMs: number): Host {
  const children: number[] = [];
  return {
    send: (message) => process.stdout.write(`${JSON.stringify(message)}\n`),
    garbage: (text) => process.stdout.write(`${text}\n`),
    stderr: (text) => process.stderr.write(text),
    after: (delayMs, run) => {
      const timer = setTimeout(run, delayMs);
      return { clear: () => clearTimeout(timer) };
    },
    crash: ({ exitCode, signal, stderr }) => {
      if (stderr !== undefined) process.stderr.write(`${stderr}\n`);
      if (signal === undefined) process.exit(exitCode ?? 1);
      process.kill(process.pid, signal);
    },
    spawnChildren: async (step) => {
      for (let started = 0; started < step.count; started++) {
        const { pid } = await startIdle(step, lifetimeMs);
        if (pid !== undefined) children.push(pid);
      }
    },
    facts: () => ({ envNames: Object.keys(process.env), cwd: process.cwd(), pid: process.pid, children }),
    hold: (call) => {
      throw new Error(`tool "${call.name}" is held, and nobody is here to answer it`);
    },
    bug: (error) => process.stderr.write(`scripted MCP server: ${String(error)}\n`),
  };
}

/** The environment is inherited, and with it the marker by which leaks are found. */
async function startIdle(step: SpawnChildrenStep, lifetimeMs: number): Promise<ChildProcess> {
  const output = step.holdsStdout ? "inherit" : "ignore";
  const settings = JSON.stringify([lifetimeMs, step.ignoresSigterm === true]);
  const child = spawn(process.execPath, ["-e", IDLE_PROGRAM, settings], {
    detached: step.ownSession === true,
    stdio: ["ignore", output, output, "pipe"],
  });
  child.on("error", () => {}); // it has no number then
  const [, , , ready] = child.stdio;
  if (ready) await once(ready, "data");
  ready?.destroy();
  child.unref();
  return child;
}
