// Where the log of a command goes: TENON_LOG sets the level, TENON_LOG_FILE the file. Never to the standard output.
import { createLog, LOG_LEVELS, type Log, type LogLevel } from "../base/ports/log.js";
import { nodeWorld } from "../world/index.js";

/** `fallback` is what reaches the log unless TENON_LOG says otherwise. */
export function chooseLog(fallback: LogLevel): Log {
  const wanted = LOG_LEVELS.find((level) => level === process.env["TENON_LOG"]) ?? fallback;
  const path = process.env["TENON_LOG_FILE"];
  const file = path ? nodeWorld().files.openAppend(path) : undefined;
  const write = (line: string) => (file ? file.write(line) : process.stderr.write(line));
  return createLog({ level: wanted, now: () => Date.now(), write });
}
