// What the chaos run checks afterwards, from the database and from the ledger: the rows of its table.
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../src/base/json/json.js";
import { differences } from "../../test/scenarios/gateway/fleet.js";
import type { ChaosSession } from "./followers.js";

/** A record as the database has it. */
export interface LoggedRecord {
  readonly seq: number;
  readonly epoch: number;
  /** The header has none. */
  readonly kind: string;
  readonly t: number;
  readonly fields: JsonObject;
}

/** A session that a node had when something was done to it. */
export interface Held {
  readonly session: string;
  readonly epoch: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

export interface Evidence {
  readonly sessions: readonly ChaosSession[];
  readonly logs: ReadonlyMap<string, readonly LoggedRecord[]>;
  /** What a client that loads the session now is shown. */
  readonly loaded: ReadonlyMap<string, readonly string[]>;
  readonly calls: readonly string[];
  readonly killed: readonly Held[];
  readonly drained: readonly Held[];
  readonly refusedAppends: number;
  readonly leaseMs: number;
}

export interface Row {
  readonly what: string;
  readonly wanted: string;
  readonly seen: string;
  readonly isKept: boolean;
  /** By session id. */
  readonly failures: ReadonlyMap<string, readonly string[]>;
}

export function readRecord({
  seq,
  epoch,
  line,
}: {
  readonly seq: unknown;
  readonly epoch: unknown;
  readonly line: unknown;
}): LoggedRecord {
  const fields = parseObject(String(line)) ?? {};
  const { kind, t } = fields;
  return { seq: Number(seq), epoch: Number(epoch), kind: typeof kind === "string" ? kind : "", t: Number(t), fields };
}

export function judge(evidence: Evidence): readonly Row[] {
  const { sessions, logs, loaded } = evidence;
  const logOf = (session: ChaosSession) => logs.get(session.id) ?? [];
  const perSession = (check: (session: ChaosSession) => readonly string[]) =>
    new Map(sessions.map((session) => [session.id, check(session)] as const).filter(([, found]) => found.length > 0));
  const turns = sessions.reduce((sum, session) => sum + session.turns, 0);
  const broken = perSession((session) => brokenLog(logOf(session)));
  const shown = perSession(({ id, followers }) =>
    followers.flatMap((follower, index) => {
      const words = index === 0 ? "who prompts" : "who watches";
      return differences(follower.lines(), loaded.get(id) ?? []).map((one) => `${words}: ${one}`);
    }),
  );
  const followers = [...shown.values()].reduce(
    (sum, found) => sum + new Set(found.map((one) => one.slice(0, 9))).size,
    0,
  );
  const counts = new Map<string, number>();
  for (const nonce of evidence.calls) counts.set(nonce, (counts.get(nonce) ?? 0) + 1);
  const twice = perSession(({ number }) =>
    [...counts].flatMap(([nonce, count]) =>
      count > 1 && nonce.startsWith(`s${number}.`) ? [`${nonce} was made ${count} times`] : [],
    ),
  );
  const outcomes = perSession((session) => oddOutcomes(logOf(session), { counts, number: session.number }));
  const unended = perSession((session) => openTurns(session, logOf(session)));
  const gaveUp = perSession((session) =>
    logOf(session).flatMap(({ kind, fields }) =>
      kind === "error" && fields["code"] === "session.gave_up" ? [`turn ${textOf(fields["turn"])}`] : [],
    ),
  );
  const failed = perSession(({ failures }) => failures.filter((one) => !one.includes("session.gave_up")));
  const sum = (found: ReadonlyMap<string, readonly string[]>) =>
    [...found.values()].reduce((all, one) => all + one.length, 0);
  const takeovers = handOvers(evidence.killed, logs);
  const drains = handOvers(evidence.drained, logs);
  const leases = (share: number) =>
    percentile(
      takeovers.map(({ ms }) => ms),
      share,
    ) / evidence.leaseMs;
  const drainMs = (pick: (one: HandOver) => number) => percentile(drains.map(pick), 0.99);
  const none = (what: string, found: ReadonlyMap<string, readonly string[]>, of: string, count = sum(found)): Row => ({
    ...{ what, wanted: `0${of}`, seen: `${count}${of}`, isKept: count === 0, failures: found },
  });
  const gaveUpShare = (100 * sum(gaveUp)) / Math.max(1, turns);
  const atMost = (what: string, seen: number, limit: number, unit: string, count: number): Row => ({
    ...{
      what,
      wanted: `at most ${limit} ${unit}`,
      seen: count === 0 ? "none seen" : `${seen.toFixed(2)} ${unit} of ${count}`,
    },
    isKept: count === 0 || seen <= limit,
    failures: new Map(),
  });
  return [
    none("broken logs", broken, ` of ${sessions.length}`, broken.size),
    none("followers with gaps or repeats", shown, ` of ${2 * sessions.length}`, followers),
    none("calls made twice", twice, ` of ${evidence.calls.length}`),
    none("calls without exactly one outcome", outcomes, ""),
    none("turns that never end", unended, ` of ${turns}`),
    {
      ...{
        what: "turns given up",
        wanted: "at most 0.5 %",
        seen: `${gaveUpShare.toFixed(2)} %`,
        isKept: gaveUpShare <= 0.5,
      },
      failures: gaveUp,
    },
    none("prompts answered by another error", failed, ` of ${turns}`),
    {
      ...{ what: "appends of superseded owners, refused", wanted: "some", seen: String(evidence.refusedAppends) },
      ...{ isKept: evidence.refusedAppends > 0, failures: new Map() },
    },
    atMost("takeover after SIGKILL, p50", leases(0.5), 1.3, "leases", takeovers.length),
    atMost("takeover after SIGKILL, p99", leases(0.99), 2, "leases", takeovers.length),
    atMost(
      "hand-over by drain, p99, from the signal",
      drainMs(({ ms }) => ms),
      1_000,
      "ms",
      drains.length,
    ),
    atMost(
      "hand-over by drain, p99, from the release",
      drainMs(({ fromReleaseMs }) => fromReleaseMs),
      1_000,
      "ms",
      drains.length,
    ),
  ];
}

function brokenLog(log: readonly LoggedRecord[]): readonly string[] {
  if (log.length === 0) return ["there is no record"];
  const problems: string[] = [];
  const first = log[0]?.seq ?? 0;
  for (const [index, { seq, epoch, fields }] of log.entries()) {
    if (seq !== first + index) problems.push(`record ${seq} is at place ${first + index}`);
    if (epoch < (log[index - 1]?.epoch ?? 0))
      problems.push(`record ${seq} has epoch ${epoch}, lower than the one before`);
    if (seq > 0 && typeof fields["seq"] === "number" && fields["seq"] !== seq)
      problems.push(`record ${seq} says it is ${fields["seq"]}`);
  }
  return problems.slice(0, 20);
}

/** One outcome for each call; one that is done was written down once, one that was refused or failed not at all or once. */
function oddOutcomes(
  log: readonly LoggedRecord[],
  { counts, number }: { readonly counts: ReadonlyMap<string, number>; readonly number: number },
): readonly string[] {
  const problems: string[] = [];
  const outcomes = new Map<string, string[]>();
  for (const { kind, fields } of log) {
    if (kind !== "outcome") continue;
    const { toolCallId, outcome } = fields;
    const word = isJsonObject(outcome) ? textOf(outcome["kind"]) : "odd";
    outcomes.set(textOf(toolCallId), [...(outcomes.get(textOf(toolCallId)) ?? []), word]);
  }
  const known = new Set<string>();
  for (const { kind, fields } of log) {
    if (kind !== "call") continue;
    const { toolCallId, arguments: given } = fields;
    const nonce = isJsonObject(given) ? textOf(given["nonce"]) : "no nonce";
    known.add(nonce);
    const own = outcomes.get(textOf(toolCallId)) ?? [];
    const written = counts.get(nonce) ?? 0;
    if (own.length !== 1)
      problems.push(`call ${textOf(toolCallId)} (${nonce}) has ${own.length} outcomes: ${own.join(", ")}`);
    else if (own[0] === "done" && written === 0) problems.push(`${nonce} is done and was never made`);
    else if (own[0] !== "done" && own[0] !== "unknown") problems.push(`${nonce}: ${own[0]}`);
  }
  for (const nonce of counts.keys()) {
    if (nonce.startsWith(`s${number}.`) && !known.has(nonce)) problems.push(`${nonce} was made and is not in the log`);
  }
  return problems;
}

function openTurns(session: ChaosSession, log: readonly LoggedRecord[]): readonly string[] {
  const begun = log.filter(({ kind }) => kind === "prompt").length;
  const ended = log.filter(({ kind }) => kind === "end" || kind === "error").length;
  return [
    ...(session.open > 0 ? [`turn ${session.turns} was never answered`] : []),
    ...(begun === ended ? [] : [`${begun} turns began, ${ended} ended`]),
  ];
}

interface HandOver {
  readonly ms: number;
  /** From the last record of the owner before. */
  readonly fromReleaseMs: number;
}

/** Those whose turn went on elsewhere: one that ended meanwhile was nobody's to take. */
function handOvers(held: readonly Held[], logs: ReadonlyMap<string, readonly LoggedRecord[]>): readonly HandOver[] {
  return held.flatMap(({ session, epoch, atMs }) => {
    const log = logs.get(session) ?? [];
    const next = log.findIndex((record) => record.epoch > epoch);
    const [before, after] = [log[next - 1], log[next]];
    const isOver = before?.kind === "end" || before?.kind === "error" || before?.kind === "closed";
    return before && after && !isOver
      ? [{ ms: after.t - atMs, fromReleaseMs: after.t - Math.max(before.t, atMs) }]
      : [];
  });
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

/** The smallest value that this share of all does not exceed. */
function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
