// The waterfall of a journal: what began when, what it waited for, and what still runs.
import fc from "fast-check";
import { expect, test } from "vitest";
import { turnsOf } from "../views/usage-sums.js";
import { placeOf, rangeOf, spanGroupsOf, spansOfRecords } from "./spans.js";

const RECORDS = [
  { kind: "prompt", t: 1_000, turn: 1, content: [{ type: "text", text: "weather?" }] },
  { kind: "answer", t: 1_400, turn: 1, text: "Looking.", toolCalls: [{ name: "s__weather" }] },
  { kind: "usage", t: 1_400, usage: { inputTokens: 10, outputTokens: 5 }, turn: { inputTokens: 10, outputTokens: 5 } },
  {
    kind: "call",
    t: 1_410,
    toolCallId: "1-1",
    subject: { name: "s__weather", tool: { label: "s / weather" } },
    arguments: { town: "Berlin" },
  },
  { kind: "question", t: 1_420, id: "q", of: "permission", toolCallId: "1-1", shown: {} },
  { kind: "answered", t: 2_420, id: "q", answer: "once", by: { client: "c", name: "phone" } },
  { kind: "intent", t: 2_430, toolCallId: "1-1", definitionHash: "" },
  {
    kind: "outcome",
    t: 2_930,
    toolCallId: "1-1",
    outcome: { kind: "done", content: [{ type: "text", text: "rain" }] },
    elapsedMs: 500,
  },
  { kind: "answer", t: 3_000, turn: 1, text: "It rains.", toolCalls: [] },
  {
    kind: "usage",
    t: 3_000,
    usage: { inputTokens: 20, outputTokens: 7 },
    turn: { inputTokens: 30, outputTokens: 12, costUsd: 0.5 },
  },
  { kind: "end", t: 3_010, turn: 1, stopReason: "end_turn" },
  { kind: "prompt", t: 9_000, turn: 2, content: [{ type: "text", text: "again" }] },
  { kind: "call", t: 9_100, toolCallId: "2-1", subject: { name: "made_up" }, arguments: {} },
];

test("a turn has its model calls, its tool calls and the time a person took, each where it was", () => {
  const [first, second] = spansOfRecords(RECORDS, new Map());
  expect(first).toMatchObject({ title: "weather?", startMs: 1_000, endMs: 3_010 });
  expect(first?.spans.map(({ kind, label, startMs, endMs, status }) => [kind, label, startMs, endMs, status])).toEqual([
    ["model", "model", 1_000, 1_400, "done"],
    ["question", "question: permission", 1_420, 2_420, "done"],
    ["tool", "s / weather", 2_430, 2_930, "done"],
    ["model", "model", 2_930, 3_000, "done"],
  ]);
  expect(first?.spans.map(({ output, note }) => [output, note])).toEqual([
    ["Looking.\n→ s__weather", "10 tokens in, 5 out"],
    ["once", "answered by phone"],
    ["rain", undefined],
    ["It rains.", "20 tokens in, 7 out"],
  ]);
  expect(second?.spans).toMatchObject([{ kind: "tool", label: "made_up", startMs: 9_100, status: "pending" }]);
  expect(second && rangeOf(second, 9_500)).toEqual({ startMs: 9_000, endMs: 9_500 });
  expect(turnsOf(RECORDS).map(({ title, input, output, costUsd }) => [title, input, output, costUsd])).toEqual([
    ["weather?", 30, 12, 0.5],
    ["again", 0, 0, 0],
  ]);
});

test("what is written as JSON is read back; anything else is no group", () => {
  const groups = spansOfRecords(RECORDS, new Map());
  expect(spanGroupsOf(JSON.parse(JSON.stringify(groups)))).toEqual(groups);
  expect(spanGroupsOf("no")).toEqual([]);
  expect(spanGroupsOf([{ spans: [{ kind: "evil", label: 3 }] }])[0]?.spans[0]).toMatchObject({
    kind: "other",
    label: "",
  });
});

test("records in any order, with holes and nonsense, give bars within their group", () => {
  const record = fc.oneof(
    fc.constantFrom(...RECORDS),
    fc.record({
      kind: fc.constantFrom("prompt", "call", "intent", "outcome", "answered", "answer", "end", "x"),
      t: fc.integer(),
    }),
  );
  fc.assert(
    fc.property(fc.array(record, { maxLength: 40 }), (records) => {
      for (const group of spansOfRecords(records, new Map())) {
        const range = rangeOf(group, 10_000);
        expect(range.endMs).toBeGreaterThan(range.startMs);
        for (const span of group.spans) {
          const { x, width } = placeOf(span, range);
          expect(x).toBeGreaterThanOrEqual(0);
          expect(width).toBeGreaterThanOrEqual(4);
          expect(x + width).toBeLessThanOrEqual(1_000.001);
        }
      }
    }),
  );
});
