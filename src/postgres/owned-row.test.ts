// A session of PostgreSQL that this node owns: what becomes of it when it is lost.
import { expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import { isSessionId } from "../base/id.js";
import { OpenWork, type StoredLine } from "../session/index.js";
import { OwnedRow } from "./owned-row.js";

function rowOf(closed: string[] = []): OwnedRow {
  const id = "s";
  if (!isSessionId(id)) throw new Error("it is one");
  return new OwnedRow({
    id,
    queue: { enqueue: () => {}, forget: () => closed.push("forgotten"), isSure: () => false },
    place: Promise.resolve({ key: 1, epoch: 1, lastSeq: 0 }),
    work: new OpenWork(),
    isNew: true,
    onClosed: () => closed.push("closed"),
  });
}

test("one whose values were refused, and that is lost then, is released without the database", async () => {
  const closed: string[] = [];
  const row = rowOf(closed);
  await row.settled;
  row.fail(new TenonError("session.not_recorded", "no"));
  expect(closed).toEqual([]);
  row.supersede("the lease is over");
  expect(row.lost.aborted).toBe(true);
  expect(() => row.assertWritten()).toThrow(expect.objectContaining({ code: "session.superseded" }));
  await row.release();
  expect(closed).toContain("closed");
});

test.each<[boolean, StoredLine["entry"]]>([
  [true, { kind: "prompt", turn: 1, content: [] }],
  [true, { kind: "answer", turn: 1, text: "", toolCalls: [] }],
  [true, { kind: "outcome", toolCallId: "1-1", outcome: { kind: "done", content: [] }, elapsedMs: 1 }],
  [true, { kind: "outcome", toolCallId: "1-1", outcome: { kind: "unknown", reason: "" }, elapsedMs: 1 }],
  [false, { kind: "text", text: "well" }],
  [false, { kind: "continued", turn: 1, attempt: 1, reason: "" }],
])("progress, which sets the count of owners that were gone back: %s for %j", async (hasProgress, entry) => {
  const row = rowOf();
  await row.settled;
  row.append([{ seq: 1, line: "{}", entry }])?.catch(() => {});
  expect(row.waiting.map(({ change }) => change.hasProgress)).toEqual([hasProgress]);
});
