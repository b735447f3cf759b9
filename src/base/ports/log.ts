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
  /** Gets one finished line, newline included. What it throws is dropped: nothing may fail because it was logged. */
  readonly write: (line: string) => void;
}

/** One JSON object a line: `{"t":"…","level":"warn","event":"server.failed","server":"files",…}`. */
export function createLog(options: LogOptions): Log {
  const lowest = LOG_LEVELS.indexOf(options.level);
  const line = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return () => {};
    return (event: string, fields: LogFields = {}) => {
      try {
        const head = { t: new Date(options.now()).toISOString(), level, event };
        options.write(`${escapeUnseen(JSON.stringify({ ...head, ...fields, ...head }))}\n`);
      } catch {
        // A full disk or a closed stderr: there is nowhere left to say so.
      }
    };
  };
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

let shared: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Of the World made last: for code of `base` that is given no log, and must report a bug it contained. */
export function sharedLog(): Log {
  return shared;
}

export function shareLog(log: Log): void {
  shared = log;
}

/** JSON leaves C1 controls, bidi marks and invisible characters as they are; a server's words must not steer a terminal. */
function escapeUnseen(json: string): string {
  return json.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (unseen) => {
    let escaped = "";
    for (let index = 0; index < unseen.length; index++) {
      escaped += `\\u${unseen.charCodeAt(index).toString(16).padStart(4, "0")}`;
    }
    return escaped;
  });
}
