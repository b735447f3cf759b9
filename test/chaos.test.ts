// The verdict of `npm run chaos`: each of its rows fails when what it is about is planted, and only then.
import { expect, test } from "vitest";
import { type Evidence, judge, readRecord } from "../scripts/chaos/verdict.js";
import type { JsonObject } from "../src/base/json/json.js";

const CALL = { kind: "call", toolCallId: "c1", arguments: { nonce: "s0.t1.0" } };
const DONE = { kind: "outcome", toolCallId: "c1", outcome: { kind: "done" } };
const TURN: readonly JsonObject[] = [
  { kind: "prompt", turn: 1 },
  CALL,
  DONE,
  { kind: "end", turn: 1, stopReason: "end_turn" },
];
const HELD = { session: "a", key: 1, owner: "one", epoch: 1, isClear: true };
const SHOWN = ["2 {}", "3 {}"];

/** A record each second; the second epoch begins with the third. */
function log(records: readonly JsonObject[], epochs: readonly number[] = [1, 1, 2, 2]) {
  return records.map((fields, index) =>
    readRecord({
      seq: index + 1,
      epoch: epochs[index] ?? 2,
      line: JSON.stringify({ seq: index + 1, t: 1_000 * index, ...fields }),
    }),
  );
}

function evidence(changes: Partial<Evidence> & { readonly session?: object } = {}): Evidence {
  const { session, ...rest } = changes;
  const follower = { lines: () => SHOWN };
  const good = { id: "a", number: 0, turns: 1, open: 0, failures: [], followers: [follower, follower] };
  return {
    sessions: [{ ...good, ...session }],
    logs: new Map([["a", log(TURN)]]),
    loaded: new Map([["a", SHOWN]]),
    calls: ["s0.t1.0"],
    killed: [{ ...HELD, atMs: 0 }],
    drained: [{ ...HELD, atMs: 1_500 }],
    lateAppends: 1,
    takenAppends: 0,
    leaseMs: 3_000,
    ...rest,
  };
}

const failing = (given: Evidence) => judge(given).flatMap(({ what, isKept }) => (isKept ? [] : [what]));

test("a run in which everything was as it should be passes", () => {
  expect(failing(evidence())).toEqual([]);
});

const logs = (records: readonly JsonObject[], epochs?: readonly number[]) => ({
  logs: new Map([["a", log(records, epochs)]]),
});
const gap = { logs: new Map([["a", log(TURN).filter(({ seq }) => seq !== 2)]]) };
const repeat = {
  logs: new Map([["a", log(TURN).flatMap((record) => (record.seq === 2 ? [record, record] : [record]))]]),
};
const shown = (lines: readonly string[]) => ({
  session: { followers: [{ lines: () => SHOWN }, { lines: () => lines }] },
});
const withoutEnd = TURN.slice(0, 3);
const gaveUp = [...withoutEnd, { kind: "error", turn: 1, code: "session.gave_up", message: "" }];

test.each<[string, Parameters<typeof evidence>[0], string]>([
  ["a record is missing", gap, "broken logs"],
  ["the first record is missing", { logs: new Map([["a", log(TURN).slice(1)]]) }, "broken logs"],
  ["a record is there twice", repeat, "broken logs"],
  ["an epoch falls", logs(TURN, [1, 2, 1, 2]), "broken logs"],
  ["a follower missed an update", shown(["2 {}"]), "followers with gaps or repeats"],
  ["a follower got one twice", shown(["2 {}", "3 {}", "3 {}"]), "followers with gaps or repeats"],
  ["a call was made twice", { calls: ["s0.t1.0", "s0.t1.0"] }, "calls made twice"],
  ["a call has no outcome", logs(TURN.filter((one) => one !== DONE)), "calls without exactly one outcome"],
  ["a call has two", logs([...TURN.slice(0, 3), DONE, ...TURN.slice(3)]), "calls without exactly one outcome"],
  ["a call is done that was never made", { calls: [] }, "calls without exactly one outcome"],
  ["a call was made that nobody recorded", { calls: ["s0.t1.0", "s0.t1.1"] }, "calls without exactly one outcome"],
  ["a turn has no end", logs(withoutEnd), "turns that never end"],
  ["a prompt was never answered", { session: { open: 1 } }, "turns that never end"],
  ["a turn was given up", logs(gaveUp), "turns given up"],
  [
    "a prompt was answered by an error",
    { session: { failures: ["turn 1: odd"] } },
    "prompts answered by another error",
  ],
  ["no late append was sent", { lateAppends: 0 }, "appends of superseded owners that were taken, of those sent"],
  ["a late append was taken", { takenAppends: 1 }, "appends of superseded owners that were taken, of those sent"],
  ["a takeover took long", { leaseMs: 900 }, "takeover after SIGKILL, p99, in leases"],
  [
    "a drain took long",
    { drained: [{ ...HELD, atMs: -1_500 }] },
    "hand-over by drain, p99, ms from the signal, with calls",
  ],
  [
    "it took long after the release",
    { logs: new Map([["a", log(TURN).map((one) => ({ ...one, t: one.t * 2 }))]]) },
    "hand-over by drain, p99, ms from the release",
  ],
])("%s: the run fails", (_, changes, row) => {
  expect(failing(evidence(changes))).toContain(row);
});
