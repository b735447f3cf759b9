// The real World on Node: the only place besides the CLI where the process, the clock and the disk are touched.

import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { createDeadline } from "../base/async/deadline.js";
import { defined } from "../base/json/defined.js";
import { createLog, type Log, type LogLevel, shareLog } from "../base/ports/log.js";
import type { WireTrace } from "../base/ports/trace.js";
import type { Timer, World } from "../base/ports/world.js";
import { machineEnv } from "./environment.js";
import { files } from "./files.js";
import { httpPool } from "./http-pool.js";
import { listen } from "./listen.js";
import { LongTimers, runTimer } from "./long-timers.js";
import { processes } from "./processes.js";
import { spawn } from "./spawn.js";
import { thread } from "./thread.js";
import { openTelemetry } from "./trace-spans.js";
import { watch } from "./watch.js";

export interface NodeWorldOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: Log;
  /** Records the messages that cross a wire. */
  readonly trace?: WireTrace;
}

export function nodeWorld(options: NodeWorldOptions = {}): World {
  const log = options.log ?? stderrLog("warn");
  shareLog(log);
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    after,
    soon: (run) => {
      setImmediate(runTimer, run);
    },
    deadline: (timeoutMs, parent) => createDeadline(after, timeoutMs, parent),
    spawn,
    thread,
    fetch: (input, init) => fetch(input, init),
    lookup: async (host) =>
      (await lookup(host, { all: true })).map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 })),
    httpPool,
    listen,
    files,
    processes,
    watch,
    randomBytes: (count) => new Uint8Array(randomBytes(count)),
    random: () => Math.random(),
    env: options.env ?? machineEnv(),
    platform: process.platform,
    log,
    telemetry: openTelemetry,
    ...defined({ trace: options.trace }),
  };
}

export function stderrLog(level: LogLevel): Log {
  return createLog({ level, now: () => Date.now(), write: (line) => process.stderr.write(line) });
}

const longTimers = new LongTimers();
/** What waits this long is a deadline: hardly ever reached, and a few milliseconds of it are nothing. */
const LONG_MS = 1_000;

function after(delayMs: number, run: () => void): Timer {
  if (delayMs >= LONG_MS) return longTimers.after(delayMs, run);
  const timer = setTimeout(runTimer, delayMs, run);
  return { clear: () => clearTimeout(timer) };
}
