// The log of a process. Apart from the context of commands, which brings the whole configuration with it.
import { copyFileSync, fstatSync, ftruncateSync, statSync } from "node:fs";
import { createLog, LOG_LEVELS, type Log, type LogLevel } from "../base/ports/world.js";
import { nodeWorld } from "../world/index.js";
import { CLI_LIMITS } from "./limits.js";

/** TENON_LOG sets the level, `fallback` without it, and TENON_LOG_FILE the file. Never the standard output. */
export function chooseLog(fallback: LogLevel, toStderr: (line: string) => void = writeStderr): Log {
  const wanted = LOG_LEVELS.find((level) => level === process.env["TENON_LOG"]) ?? fallback;
  const path = process.env["TENON_LOG_FILE"];
  const file = path ? nodeWorld().files.openAppend(path) : undefined;
  const write = (line: string) => (file ? file.write(line) : toStderr(line));
  return createLog({ level: wanted, now: () => Date.now(), write });
}

function writeStderr(line: string): void {
  process.stderr.write(line);
}

const STDERR = 2;

/** A file that this process has open for appending. */
interface LogFile {
  readonly path: string;
  /** Where its content goes when it is too long. */
  readonly older: string;
  readonly fd?: number;
  readonly maxBytes?: number;
}

/** Writes, and keeps the file within bounds. Where `fd` is another file, as one that a person chose, that is left alone. */
export function bounded(
  { path, older, fd = STDERR, maxBytes = CLI_LIMITS.gatewayLogBytes }: LogFile,
  write: (line: string) => void = writeStderr,
): (line: string) => void {
  let unchecked = 0;
  return (line) => {
    write(line);
    unchecked += line.length;
    if (unchecked < maxBytes / 8) return;
    unchecked = 0;
    try {
      const { ino, dev, size } = fstatSync(fd);
      if (size <= maxBytes) return;
      const named = statSync(path);
      if (named.ino !== ino || named.dev !== dev) return;
      copyFileSync(path, older);
      ftruncateSync(fd);
    } catch {
      // The file goes on growing until an attempt succeeds.
    }
  };
}
