// The log of a process. Apart from the context of commands, which brings the whole configuration with it.
import { createLog, LOG_LEVELS, type Log, type LogLevel } from "../base/ports/world.js";
import { nodeWorld } from "../world/index.js";

/** TENON_LOG sets the level, `fallback` without it, and TENON_LOG_FILE the file. Never the standard output. */
export function chooseLog(fallback: LogLevel): Log {
  const wanted = LOG_LEVELS.find((level) => level === process.env["TENON_LOG"]) ?? fallback;
  const path = process.env["TENON_LOG_FILE"];
  const file = path ? nodeWorld().files.openAppend(path) : undefined;
  const write = (line: string) => (file ? file.write(line) : process.stderr.write(line));
  return createLog({ level: wanted, now: () => Date.now(), write });
}
