// What is decided about an open turn from its records: every row of the table, and any records at all.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { text } from "../../base/text/content.js";
import type { ModelMessage } from "../../models/index.js";
import type { JournalEntry } from "../journal/entry.js";
import { SESSION_LIMITS } from "../limits.js";
import { type Continuation, continuationOf } from "./continuation.js";

const content = [text("go")];
const user: ModelMessage = { role: "user", content };
const prompt: JournalEntry = { kind: "prompt", turn: 3, content };
const asked: JournalEntry = { kind: "transcript", change: { kind: "added", messages: [user] } };
const piece: JournalEntry = { kind: "text", text: "well" };
const toolCalls = ["a", "b"].map((callId) => ({ callId, name: "t", argumentsJson: "{}" }));
const providerData = { signed: "yes" };
const answer: JournalEntry = {
  kind: "answer",
  turn: 3,
  text: "well",
  toolCalls,
  providerData,
  announced: { a: "3-1" },
};
const subject = { name: "t" };
const announced = (toolCallId: string): JournalEntry => ({ kind: "announced", toolCallId, subject });
const call = (toolCallId: string): JournalEntry => ({ kind: "call", toolCallId, subject, arguments: {} });
const intent = (toolCallId: string): JournalEntry => ({ kind: "intent", toolCallId, definitionHash: "" });
const task = (toolCallId: string): JournalEntry => ({
  ...{ kind: "task", toolCallId, server: "s", origin: "user", mark: "m", tool: "t" },
  lasting: { id: "task-1", startedMs: 1 },
});
const outcome = (toolCallId: string, kind: "done" | "cancelled" | "unknown" = "done"): JournalEntry => {
  const ends = {
    done: { kind: "done", content },
    cancelled: { kind: "cancelled" },
    unknown: { kind: "unknown", reason: "" },
  } as const;
  return { kind: "outcome", toolCallId, outcome: ends[kind], elapsedMs: 1 };
};
const said = (words: string): JournalEntry => {
  const message: ModelMessage = { role: "assistant", text: words, toolCalls: [] };
  return { kind: "transcript", change: { kind: "added", messages: [message] } };
};
const stepped: JournalEntry = {
  kind: "transcript",
  change: {
    kind: "added",
    messages: [
      { role: "assistant", text: "", toolCalls },
      { role: "tool", results: [] },
    ],
  },
};
const continued = (attempt: number): JournalEntry => ({ kind: "continued", turn: 3, attempt, reason: "" });
const drained: JournalEntry = { kind: "drained", turn: 3 };

/** With the conversation as it would be then. */
function planOf(...records: readonly JournalEntry[]): Continuation | undefined {
  const messages = records.includes(asked) ? [user] : [];
  return continuationOf({ turn: 3, beganMs: 0, records: [prompt, ...records] }, messages);
}

const calls = (...states: readonly object[]) => ({ kind: "going_on", answer: { providerData, calls: states } });
const open = { state: "open", toolCallId: "3-2", isStarted: true };

describe("the log ends after", () => {
  test.each<[string, readonly JournalEntry[], object]>([
    ["the prompt", [], { kind: "going_on", isInTranscript: false, isBrokenOff: false, attempt: 1, callCount: 0 }],
    ["its entry into the conversation", [asked], { kind: "going_on", isInTranscript: true, isBrokenOff: false }],
    ["pieces of an answer", [asked, piece], { kind: "going_on", isBrokenOff: true, repairs: [] }],
    [
      "the beginning of a call",
      [asked, announced("3-1")],
      { isBrokenOff: true, callCount: 1, repairs: [{ kind: "dropped", toolCallId: "3-1" }] },
    ],
    [
      "the answer",
      [asked, piece, announced("3-1"), answer],
      {
        ...calls({ state: "open", toolCallId: "3-1", isStarted: false }, { state: "open", isStarted: false }),
        ...{ isBrokenOff: false, repairs: [], modelCalls: 0 },
      },
    ],
    [
      "calls that were not sent",
      [asked, answer, call("3-1"), call("3-2")],
      calls({ ...open, toolCallId: "3-1" }, open),
    ],
    [
      "an intent",
      [asked, answer, call("3-1"), call("3-2"), intent("3-1")],
      calls({ state: "sent", toolCallId: "3-1" }, open),
    ],
    [
      "a task",
      [asked, answer, call("3-1"), call("3-2"), intent("3-1"), task("3-1")],
      calls({ state: "sent", toolCallId: "3-1", task: { lasting: { id: "task-1" } } }, open),
    ],
    [
      "all outcomes",
      [asked, answer, call("3-1"), call("3-2"), intent("3-1"), outcome("3-1"), outcome("3-2")],
      calls({ state: "ended", outcome: { kind: "done" } }, { state: "ended" }),
    ],
    [
      "a step",
      [asked, answer, call("3-1"), outcome("3-1"), stepped],
      { kind: "going_on", modelCalls: 1, callCount: 1 },
    ],
    [
      "a question",
      [asked, answer, call("3-1"), call("3-2"), { kind: "question", id: "q", of: "permission", shown: {} }],
      calls({ ...open, toolCallId: "3-1" }, open),
    ],
    [
      "the beginning of a compaction",
      [
        asked,
        {
          kind: "compaction",
          event: { kind: "compaction", phase: "started", compactionId: "c-1", cause: "window", beforeTokens: 1 },
        },
      ],
      { repairs: [{ kind: "compaction", event: { phase: "failed", compactionId: "c-1" } }] },
    ],
    ["its last words", [asked, piece, said("well")], { ending: { end: { kind: "end", stopReason: "end_turn" } } }],
    [
      "a cancelled answer",
      [asked, said("we\n\n[cancelled by the person here]")],
      { ending: { end: { stopReason: "cancelled" } } },
    ],
    ["an answer that failed", [asked, said("[the model failed to answer]")], { ending: { end: { kind: "error" } } }],
    [
      "a cancelled call",
      [asked, answer, call("3-1"), outcome("3-1", "cancelled")],
      { ending: { end: { stopReason: "cancelled" } } },
    ],
    [
      "a cancelled step",
      [asked, answer, call("3-1"), outcome("3-1", "cancelled"), stepped],
      { ending: { end: { stopReason: "cancelled" } } },
    ],
    [
      "a cancelled step and what the model said then",
      [asked, answer, call("3-1"), outcome("3-1", "cancelled"), stepped, piece],
      { kind: "going_on" },
    ],
    [
      "a refusal",
      [asked, { kind: "transcript", change: { kind: "cut", length: 0 } }],
      { ending: { end: { stopReason: "refusal" } } },
    ],
    [
      "a stop",
      [asked, { kind: "stopped", cause: "repetition", reason: "in circles" }],
      { ending: { end: { stopReason: "max_turn_requests" }, note: "[stopped: in circles]" } },
    ],
    [
      "calls of a version without answers",
      [asked, call("3-1")],
      { ending: { end: { kind: "error", code: "session.closed" } } },
    ],
    ["three attempts", [asked, continued(3)], { ending: { end: { kind: "error", code: "session.gave_up" } } }],
    ["two attempts", [asked, continued(2)], { kind: "going_on", attempt: 3 }],
    ["three attempts, the last one left on purpose", [asked, continued(3), drained], { kind: "going_on", attempt: 3 }],
    ["an attempt that got further", [asked, continued(3), answer], { kind: "going_on", attempt: 1 }],
    [
      "an attempt that settled a call whose outcome nobody knows",
      [asked, answer, call("3-1"), continued(3), outcome("3-1", "unknown")],
      { kind: "going_on", attempt: 1 },
    ],
    [
      "three more, which settled nothing",
      [asked, answer, call("3-1"), continued(3), outcome("3-1", "unknown"), continued(1), continued(2), continued(3)],
      { ending: { end: { kind: "error", code: "session.gave_up" } } },
    ],
    ["the outcome of an earlier turn's call", [asked, continued(2), outcome("2-1")], { kind: "going_on", attempt: 3 }],
  ])("%s", (_, records, expected) => {
    expect(planOf(...records)).toMatchObject(expected);
  });
});

test("owners that were gone before they went on are no attempts, but so many of them in a row end the turn as well", () => {
  const planAfter = (tries: number, ...records: readonly JournalEntry[]) =>
    continuationOf({ turn: 3, beganMs: 0, records: [prompt, ...records] }, [user], tries);
  expect(planAfter(6, asked)).toMatchObject({ kind: "going_on", attempt: 1 });
  expect(planAfter(6, asked, continued(2))).toMatchObject({ kind: "going_on", attempt: 3 });
  expect(planAfter(6, asked, continued(1), drained)).toMatchObject({ kind: "going_on", attempt: 1 });
  const over = { kind: "over", ending: { end: { code: "session.gave_up" } } };
  expect(planAfter(4, asked, continued(3))).toMatchObject(over);
  expect(planAfter(7, asked)).toMatchObject(over);
});

test("a command is not run again, and a prompt that is missing from a damaged conversation neither", () => {
  const broken = { kind: "over", ending: { end: { code: "session.closed" } } };
  expect(continuationOf({ turn: 3, beganMs: 0, records: [{ ...prompt, isCommand: true }] }, [])).toMatchObject(broken);
  expect(continuationOf({ turn: 3, beganMs: 0, records: [prompt, asked] }, [])).toMatchObject(broken);
  expect(continuationOf({ turn: 3, beganMs: 0, records: [asked] }, [user])).toBeUndefined();
});

test("any records at all lead to a plan that can be followed", () => {
  const ids = fc.integer({ min: 1, max: 4 }).map((count) => `3-${count}`);
  const record = fc.oneof(
    fc.constantFrom(asked, piece, answer, stepped, drained, said("end")),
    fc.integer({ min: 0, max: 9 }).map(continued),
    ids.chain((id) => fc.constantFrom(...[announced, call, intent, task, outcome].map((make) => make(id)))),
    ids.map((id) => outcome(id, "unknown")),
  );
  const property = fc.property(fc.array(record, { maxLength: 30 }), (records) => {
    const plan = planOf(...records);
    expect(plan).toBeDefined();
    if (plan?.kind !== "going_on") return;
    expect(plan.attempt).toBeLessThanOrEqual(SESSION_LIMITS.continuedTurn.attempts);
    if (plan.answer) expect(plan.answer.calls).toHaveLength(plan.answer.toolCalls.length);
    const used = records.flatMap((one) => (one.kind === "call" || one.kind === "announced" ? [one.toolCallId] : []));
    for (const id of used) expect(plan.callCount).toBeGreaterThanOrEqual(Number(id.slice(2)));
    // Whatever has an outcome is not made, and whatever was sent is not made either.
    for (const given of plan.answer?.calls ?? []) {
      if (given.state !== "open" || given.toolCallId === undefined) continue;
      const { toolCallId } = given;
      const since = records.slice(records.findLastIndex((one) => one.kind === "transcript") + 1);
      const first = since.findIndex(
        (one) =>
          "toolCallId" in one && one.toolCallId === toolCallId && (one.kind === "call" || one.kind === "announced"),
      );
      const later = since.slice(first).filter((one) => "toolCallId" in one && one.toolCallId === toolCallId);
      expect(later.some(({ kind }) => kind === "intent" || kind === "outcome")).toBe(false);
    }
  });
  fc.assert(property, { numRuns: 2_000 });
});
