// What the chaos run checks afterwards, from the database and from the ledger: the rows of its table.
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../src/base/json/json.js";
import { GATEWAY_LIMITS } from "../../src/gateway/index.js";
import { differences } from "../../test/scenarios/gateway/fleet.js";

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
  /** Its key in the database, and the id of the node that had it. */
  readonly key: number;
  readonly owner: string;
  readonly epoch: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** All other nodes were well then, and the database too. */
  readonly isClear: boolean;
}

/** A session and what its clients saw of it. */
export interface JudgedSession {
  readonly id: string;
  readonly number: number;
  /** Prompts that were sent, and those of them without an answer. */
  readonly turns: number;
  readonly open: number;
  readonly failures: readonly string[];
  readonly followers: readonly { lines(): readonly string[] }[];
}

export interface Evidence {
  readonly sessions: readonly JudgedSession[];
  readonly logs: ReadonlyMap<string, readonly LoggedRecord[]>;
  /** What a client that loads the session now is shown. */
  readonly loaded: ReadonlyMap<string, readonly string[]>;
  readonly calls: readonly string[];
  readonly killed: readonly Held[];
  readonly drained: readonly Held[];
  /** Appends in the name of owners that were superseded, and those of them that the database took. */
  readonly lateAppends: number;
  readonly takenAppends: number;
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

type Found = ReadonlyMap<string, readonly string[]>;

export function judge(evidence: Evidence): readonly Row[] {
  const { sessions, logs, loaded, calls, lateAppends, takenAppends, leaseMs } = evidence;
  const logOf = (session: JudgedSession) => logs.get(session.id) ?? [];
  const perSession = (check: (session: JudgedSession) => readonly string[]): Found =>
    new Map(sessions.map((session) => [session.id, check(session)] as const).filter(([, found]) => found.length > 0));
  const turns = sessions.reduce((sum, session) => sum + session.turns, 0);
  const broken = perSession((session) => brokenLog(logOf(session)));
  const wrong = [0, 1].map((follower) =>
    perSession(({ id, followers }) => differences(followers[follower]?.lines() ?? [], loaded.get(id) ?? [])),
  );
  const counts = new Map<string, number>();
  for (const nonce of calls) counts.set(nonce, (counts.get(nonce) ?? 0) + 1);
  const gaveUp = perSession((session) => gaveUpTurns(logOf(session)));
  const share = (100 * sumOf(gaveUp)) / Math.max(1, turns);
  const takeovers = handOvers(evidence.killed, logs);
  const drains = handOvers(evidence.drained, logs);
  const isClear = (one: HandOver) => one.isClear;
  const leases = (of: readonly HandOver[]) => of.map(({ ms }) => ms / leaseMs);
  return [
    none("broken logs", broken, { of: sessions.length, count: broken.size }),
    ...wrong.map((found, follower) =>
      none(`followers with gaps or repeats${follower === 0 ? ", who prompt" : ""}`, found, {
        ...{ of: sessions.length, count: found.size },
      }),
    ),
    none(
      "calls made twice",
      perSession(({ number }) => madeTwice(counts, number)),
      { of: calls.length },
    ),
    none(
      "calls without exactly one outcome",
      perSession((session) => oddOutcomes(logOf(session), { counts, number: session.number })),
    ),
    none(
      "turns that never end",
      perSession((session) => openTurns(session, logOf(session))),
      { of: turns },
    ),
    row("turns given up", { wanted: "at most 0.5 %", seen: `${share.toFixed(2)} %`, isKept: share <= 0.5 }, gaveUp),
    none(
      "prompts answered by another error",
      perSession(({ failures }) => failures.filter((one) => !one.includes("session.gave_up"))),
      { of: turns },
    ),
    row("appends of superseded owners that were taken, of those sent", {
      ...{
        wanted: "0 of some",
        seen: `${takenAppends} of ${lateAppends}`,
        isKept: takenAppends === 0 && lateAppends > 0,
      },
    }),
    atMost("takeover after SIGKILL, p50, in leases", 1.3, { of: leases(takeovers.filter(isClear)), share: 0.5 }),
    atMost("takeover after SIGKILL, p99, in leases", 2, { of: leases(takeovers.filter(isClear)), share: 0.99 }),
    told("the same while other nodes were ill too, p50, in leases", { of: leases(takeovers), share: 0.5 }),
    // Calls that were sent get their time first, so that their outcome is known.
    atMost("hand-over by drain, p99, ms from the signal, with calls", 1_000 + GATEWAY_LIMITS.sessions.drainCallsMs, {
      ...{ of: drains.filter(isClear).map(({ ms }) => ms), share: 0.99 },
    }),
    atMost("hand-over by drain, p99, ms from the release", 1_000, {
      ...{ of: drains.filter(isClear).map(({ fromReleaseMs }) => fromReleaseMs), share: 0.99 },
    }),
    told("the same while other nodes were ill too, p50, ms", {
      ...{ of: drains.map(({ fromReleaseMs }) => fromReleaseMs), share: 0.5 },
    }),
  ];
}

function row(what: string, about: Pick<Row, "wanted" | "seen" | "isKept">, failures: Found = new Map()): Row {
  return { what, ...about, failures };
}

/** None of so many; `count`: of sessions, where not each of their problems counts. */
function none(what: string, found: Found, { of, count = sumOf(found) }: { of?: number; count?: number } = {}): Row {
  const all = of === undefined ? "" : ` of ${of}`;
  return row(what, { wanted: `0${all}`, seen: `${count}${all}`, isKept: count === 0 }, found);
}

function atMost(what: string, limit: number, given: { readonly of: readonly number[]; readonly share: number }): Row {
  const value = percentile(given.of, given.share);
  const seen = given.of.length === 0 ? "none seen" : `${value.toFixed(2)} of ${given.of.length}`;
  return row(what, { wanted: `at most ${limit}`, seen, isKept: given.of.length === 0 || value <= limit });
}

/** Not promised: where two of three nodes are ill the last one has all the work, and the machine decides. */
function told(what: string, { of, share }: { readonly of: readonly number[]; readonly share: number }): Row {
  const seen = of.length === 0 ? "none seen" : `${percentile(of, share).toFixed(2)} of ${of.length}`;
  return row(what, { wanted: "told", seen, isKept: true });
}

function sumOf(found: Found): number {
  return [...found.values()].reduce((sum, problems) => sum + problems.length, 0);
}

function madeTwice(counts: ReadonlyMap<string, number>, session: number): readonly string[] {
  const own = [...counts].filter(([nonce, count]) => count > 1 && nonce.startsWith(`s${session}.`));
  return own.map(([nonce, count]) => `${nonce} was made ${count} times`);
}

function gaveUpTurns(log: readonly LoggedRecord[]): readonly string[] {
  const own = log.filter(({ kind, fields }) => kind === "error" && fields["code"] === "session.gave_up");
  return own.map(({ fields }) => `turn ${textOf(fields["turn"])}`);
}

function brokenLog(log: readonly LoggedRecord[]): readonly string[] {
  if (log.length === 0) return ["there is no record"];
  const problems: string[] = [];
  for (const [index, { seq, epoch, fields }] of log.entries()) {
    if (seq !== index + 1) problems.push(`record ${seq} is at place ${index + 1}`);
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

function openTurns(session: JudgedSession, log: readonly LoggedRecord[]): readonly string[] {
  const begun = log.filter(({ kind }) => kind === "prompt").length;
  const ended = log.filter(({ kind }) => kind === "end" || kind === "error").length;
  return [
    ...(session.open > 0 ? [`turn ${session.turns} was never answered`] : []),
    ...(begun === ended ? [] : [`${begun} turns began, ${ended} ended`]),
  ];
}

interface HandOver extends Pick<Held, "isClear"> {
  readonly ms: number;
  /** From the last record of the owner before. */
  readonly fromReleaseMs: number;
}

/** Those whose turn went on elsewhere: one that ended meanwhile was nobody's to take. */
function handOvers(held: readonly Held[], logs: ReadonlyMap<string, readonly LoggedRecord[]>): readonly HandOver[] {
  return held.flatMap(({ session, epoch, atMs, isClear }) => {
    const log = logs.get(session) ?? [];
    const next = log.findIndex((record) => record.epoch > epoch);
    const [before, after] = [log[next - 1], log[next]];
    const isOver = before?.kind === "end" || before?.kind === "error" || before?.kind === "closed";
    // A takeover and the opening raise it once each: more is a node that took the session and was hit before it wrote anything.
    const isByOne = after !== undefined && after.epoch <= epoch + 2;
    return before && after && !isOver
      ? [{ isClear: isClear && isByOne, ms: after.t - atMs, fromReleaseMs: after.t - Math.max(before.t, atMs) }]
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
