// The plan: recorded before it is told, and what is pinned of it while something is open.
import { expect, test } from "vitest";
import { plainText } from "../base/text/content.js";
import { fakeWorld } from "../testing/index.js";
import { Audience } from "./audience.js";
import { Journal } from "./journal.js";
import { SessionPlan } from "./plan.js";

test("an open plan is journaled, told and pinned; a finished one is not pinned", async () => {
  const world = fakeWorld();
  const audience = new Audience();
  const events = audience.join([]);
  const header = { id: "a", cwd: "/" };
  const journal = new Journal({ world, path: "/s/a.ndjson", header, onFailing: () => {} });
  const plan = new SessionPlan(journal, audience);
  expect(plan.pinned).toEqual([]);
  const entry = { content: "Measure twice", priority: "high", status: "in_progress" } as const;
  plan.set([entry]);
  expect((await events.next()).value).toEqual({ kind: "plan", entries: [entry] });
  expect(plainText(plan.pinned)).toContain("- in_progress: Measure twice");
  expect(await world.files.readText("/s/a.ndjson")).toContain('"kind":"plan"');
  plan.set([{ ...entry, status: "completed" }]);
  expect(plan.pinned).toEqual([]);
});
