// Builds what every command runs on: the real World with its log, and the runtime.
import { createLog, LOG_LEVELS, type Log, type LogLevel } from "../base/log.js";
import type { World } from "../base/world.js";
import { createRuntime } from "../index.js";
import type { SessionHost } from "../session/index.js";
import { nodeWorld } from "../world/index.js";

export interface ComposeOptions {
  readonly model?: string;
  /** What reaches the log unless TENON_LOG says otherwise. */
  readonly logLevel?: LogLevel;
}

export interface Composed {
  readonly world: World;
  readonly host: SessionHost;
}

export function compose(options: ComposeOptions = {}): Composed {
  const world = nodeWorld({ log: chooseLog(options.logLevel ?? "info") });
  const host = createRuntime({ world, ...(options.model === undefined ? {} : { model: options.model }) });
  return { world, host };
}

/** TENON_LOG sets the level, TENON_LOG_FILE the file; stdout is never used. */
function chooseLog(fallback: LogLevel): Log {
  const wanted = LOG_LEVELS.find((level) => level === process.env["TENON_LOG"]) ?? fallback;
  const path = process.env["TENON_LOG_FILE"];
  const file = path ? nodeWorld().files.openAppend(path) : undefined;
  const write = (line: string) => (file ? file.write(line) : process.stderr.write(line));
  return createLog({ level: wanted, now: () => Date.now(), write });
}
