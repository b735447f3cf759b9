// Structured log lines. They go to stderr or a file, never to stdout: stdout belongs to the protocol.

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly now: () => number;
  /** Gets one finished line, newline included. */
  readonly write: (line: string) => void;
}

/** One JSON object a line: `{"t":"…","level":"warn","event":"server.failed","server":"files",…}`. */
export function createLog(options: LogOptions): Log {
  const lowest = LOG_LEVELS.indexOf(options.level);
  const line = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return () => {};
    return (event: string, fields: LogFields = {}) => {
      const t = new Date(options.now()).toISOString();
      options.write(`${JSON.stringify({ ...fields, t, level, event })}\n`);
    };
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}
