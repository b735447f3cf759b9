// Whatever line of the journal was the last one written, the model is given the result of a long-running call exactly once.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SERVER } from "../../../test/recorded-session.js";
import { begunTask, TaskRun, taskServer } from "../../../test/task-run.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tenon-exactly-once-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const start = (journal?: string) => new TaskRun(taskServer(join(folder, "tasks.json")), journal);

/** The journal as far as each of its lines, from the one after `from` on. */
function prefixes(journal: string, from: string): string[] {
  const lines = journal.split("\n").slice(0, -1);
  const first = from.split("\n").length - 1;
  return lines.slice(first).map((_, index) => `${lines.slice(0, first + index + 1).join("\n")}\n`);
}

/** Loaded from there, and asked to go on. */
async function expectOnce(journal: string): Promise<void> {
  const run = start(journal);
  const session = await run.load();
  await run.prompt(session, "go on");
  expect(run.results, journal.split("\n").at(-2)?.slice(0, 200)).toBe(1);
  await run.prompt(session, "and on");
  expect(run.results).toBe(1);
  await run.close();
}

const begun = () => begunTask(start());

test("killed anywhere after the task began", async () => {
  const { whole, atTask } = await begun();
  for (const journal of [atTask, ...prefixes(whole, atTask)]) await expectOnce(journal);
});

test("killed again, anywhere after it was taken up: the result came before the next prompt", async () => {
  const { atTask } = await begun();
  const run = start(atTask);
  const session = await run.load();
  await run.prompt(session, "go on");
  expect(run.results).toBe(1);
  await run.close();
  expect(run.journal).toContain('"kind":"resolved"');
  for (const journal of prefixes(run.journal, atTask)) await expectOnce(journal);
});

test("killed again, anywhere after it was taken up: the result came after the next prompt", async () => {
  const { atTask } = await begun();
  const run = start(atTask);
  const session = await run.load([]);
  await run.prompt(session, "meanwhile");
  expect(run.results).toBe(0);
  await session.setServers({ servers: [SERVER] });
  await run.world.advance(2_000);
  await run.prompt(session, "go on");
  expect(run.results).toBe(1);
  await run.prompt(session, "and on");
  expect(run.results).toBe(1);
  await run.close();
  expect(run.journal).toContain('"kind":"note"');
  for (const journal of prefixes(run.journal, atTask)) await expectOnce(journal);
});

test("its outcome is written once, however often it is loaded", async () => {
  const { atTask } = await begun();
  let journal = atTask;
  for (let time = 0; time < 3; time++) {
    const run = start(journal);
    await run.load();
    await run.close();
    journal = run.journal;
  }
  expect(journal.split('"kind":"outcome"')).toHaveLength(2);
});
