// The misbehaviour matrix as data: what goes wrong, over which transport, while what is going on, and how calls may end.

export const TRANSPORTS = ["stdio", "http"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** While nothing is under way, before a call's answer, and between the first messages of a call and its answer. */
export const PHASES = ["idle", "call", "stream"] as const;
export type Phase = (typeof PHASES)[number];

export type Ending = "answered" | "failed" | "unknown";

/** Cells of one family run in one process of their own, so that memory is measured from a fresh start. */
export type Family = "process" | "frames" | "long line" | "floods" | "ids" | "lists" | "statuses";

export interface Mischief {
  readonly family: Family;
  readonly transports: readonly Transport[];
  /** How the struck call may end, per transport where that differs. Everything else is a fault. */
  readonly endings: Readonly<Record<Exclude<Phase, "idle">, readonly Ending[]>>;
  /** What the deadline of calls is set to; what takes long by its size gets longer. */
  readonly deadlineMs?: number;
  /** The server is never itself again: there is nothing to wait for afterwards. */
  readonly isFinal?: boolean;
}

export const MISCHIEF_NAMES = [
  "crash",
  "hang",
  "reset",
  "drip",
  "half_frame",
  "torn_frame",
  "torn_body",
  "bad_utf8",
  "long_line",
  "long_garbage",
  "big_result",
  "fat_result",
  "stderr_flood",
  "progress_flood",
  "storm",
  "duplicate_ids",
  "late_reply",
  "out_of_order",
  "endless_cursor",
  "fat_list",
  "redos_schema",
  "wide_schema",
  "proto_names",
  "session_404",
  "unauthorized_401",
  "forbidden_403",
  "server_error_500",
  "unavailable_503",
  "too_many_429",
  "redirect_loop",
  "wrong_type",
] as const;
export type MischiefName = (typeof MISCHIEF_NAMES)[number];

const BOTH = TRANSPORTS;
const STDIO = ["stdio"] as const;
const HTTP = ["http"] as const;

const always = (...endings: readonly Ending[]) => ({ call: endings, stream: endings });

const MISCHIEFS: Readonly<Record<MischiefName, Mischief>> = {
  crash: { family: "process", transports: BOTH, endings: always("unknown") },
  hang: { family: "process", transports: BOTH, endings: always("unknown"), isFinal: true },
  /** Sockets are reset; over stdio the server closes its output and lives on. */
  reset: { family: "process", transports: BOTH, endings: always("unknown") },
  drip: { family: "frames", transports: BOTH, endings: always("unknown") },
  /** Half a message, and then the end. */
  half_frame: { family: "frames", transports: BOTH, endings: always("unknown") },
  /** Half a message, and then whole ones. */
  torn_frame: { family: "frames", transports: STDIO, endings: always("answered") },
  torn_body: { family: "frames", transports: HTTP, endings: { call: ["unknown"], stream: ["answered"] } },
  bad_utf8: { family: "frames", transports: BOTH, endings: always("answered", "unknown") },
  /** The answer (or a notice before it) is over every limit. */
  long_line: {
    family: "long line",
    transports: BOTH,
    endings: { call: ["failed"], stream: ["answered", "failed", "unknown"] },
    deadlineMs: 60_000,
  },
  /** The same, without a message in it. */
  long_garbage: {
    family: "long line",
    transports: BOTH,
    endings: always("answered", "failed", "unknown"),
    deadlineMs: 60_000,
  },
  /** As large as results may be: it has to arrive. */
  big_result: { family: "long line", transports: BOTH, endings: always("answered"), deadlineMs: 60_000 },
  /** A few megabytes of text that become hundreds as objects. */
  fat_result: { family: "long line", transports: BOTH, endings: always("answered", "failed"), deadlineMs: 60_000 },
  stderr_flood: { family: "floods", transports: STDIO, endings: always("answered"), deadlineMs: 60_000 },
  progress_flood: { family: "floods", transports: BOTH, endings: always("answered"), deadlineMs: 60_000 },
  storm: { family: "floods", transports: BOTH, endings: always("answered"), deadlineMs: 60_000 },
  duplicate_ids: { family: "ids", transports: BOTH, endings: always("answered") },
  late_reply: { family: "ids", transports: BOTH, endings: always("unknown") },
  out_of_order: { family: "ids", transports: BOTH, endings: always("answered") },
  endless_cursor: { family: "lists", transports: BOTH, endings: always("answered"), deadlineMs: 30_000 },
  /** Without end as well, and every page takes twenty times the memory it has as text. */
  fat_list: { family: "lists", transports: BOTH, endings: always("answered"), deadlineMs: 30_000 },
  redos_schema: { family: "lists", transports: BOTH, endings: always("answered") },
  wide_schema: { family: "lists", transports: BOTH, endings: always("answered"), deadlineMs: 5_000 },
  proto_names: { family: "lists", transports: BOTH, endings: always("answered") },
  session_404: { family: "statuses", transports: HTTP, endings: { call: ["answered"], stream: ["unknown"] } },
  unauthorized_401: { family: "statuses", transports: HTTP, endings: { call: ["failed"], stream: ["unknown"] } },
  forbidden_403: { family: "statuses", transports: HTTP, endings: { call: ["failed"], stream: ["unknown"] } },
  server_error_500: { family: "statuses", transports: HTTP, endings: always("unknown") },
  unavailable_503: {
    family: "statuses",
    transports: HTTP,
    endings: { call: ["failed", "unknown"], stream: ["unknown"] },
  },
  too_many_429: { family: "statuses", transports: HTTP, endings: { call: ["failed"], stream: ["unknown"] } },
  redirect_loop: { family: "statuses", transports: HTTP, endings: { call: ["failed"], stream: ["unknown"] } },
  wrong_type: { family: "statuses", transports: HTTP, endings: { call: ["unknown", "failed"], stream: ["unknown"] } },
};

export interface Cell {
  readonly mischief: MischiefName;
  readonly transport: Transport;
  readonly phase: Phase;
}

export interface Sizes {
  /** Of a line over every limit. */
  readonly longBytes: number;
  /** Of a result that has to arrive. */
  readonly resultBytes: number;
  readonly stderrBytes: number;
  /** Notifications of a storm. */
  readonly notices: number;
}

/** What CI can afford. The storm is whole: it is the count that hurts. */
export const CI_SIZES: Sizes = {
  longBytes: 200_000_000,
  resultBytes: 20_000_000,
  stderrBytes: 100_000_000,
  notices: 300_000,
};
export const FULL_SIZES: Sizes = {
  longBytes: 1_000_000_000,
  resultBytes: 60_000_000,
  stderrBytes: 1_000_000_000,
  notices: 300_000,
};

export function mischiefOf(name: MischiefName): Mischief {
  return MISCHIEFS[name];
}

export function cellName({ mischief, transport, phase }: Cell): string {
  return `${mischief}/${transport}/${phase}`;
}

/** Every cell there is. */
export function allCells(): Cell[] {
  return MISCHIEF_NAMES.flatMap((mischief) =>
    mischiefOf(mischief).transports.flatMap((transport) => PHASES.map((phase) => ({ mischief, transport, phase }))),
  );
}

/** Each misbehaviour over each of its transports once; the seed turns which phase it meets. */
export function seededCells(seed: number): Cell[] {
  return MISCHIEF_NAMES.flatMap((mischief, row) =>
    mischiefOf(mischief).transports.map((transport, column) => {
      const phase = PHASES[(seed + row + column) % PHASES.length] ?? "call";
      return { mischief, transport, phase };
    }),
  );
}

export function familyOf(cell: Cell): Family {
  return mischiefOf(cell.mischief).family;
}
