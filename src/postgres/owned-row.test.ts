// A session of PostgreSQL that this node owns: what becomes of it when it is lost.
import { expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import { isSessionId } from "../base/id.js";
import { OpenWork } from "../session/index.js";
import { OwnedRow } from "./owned-row.js";

test("one whose values were refused, and that is lost then, is released without the database", async () => {
  const closed: string[] = [];
  const id = "s";
  if (!isSessionId(id)) throw new Error("it is one");
  const row = new OwnedRow({
    id,
    queue: { enqueue: () => {}, forget: () => closed.push("forgotten"), isSure: () => false },
    place: Promise.resolve({ key: 1, epoch: 1, lastSeq: 0 }),
    work: new OpenWork(),
    isNew: true,
    onClosed: () => closed.push("closed"),
  });
  await row.settled;
  row.fail(new TenonError("session.not_recorded", "no"));
  expect(closed).toEqual([]);
  row.supersede("the lease is over");
  expect(row.lost.aborted).toBe(true);
  expect(() => row.assertWritten()).toThrow(expect.objectContaining({ code: "session.superseded" }));
  await row.release();
  expect(closed).toContain("closed");
});
