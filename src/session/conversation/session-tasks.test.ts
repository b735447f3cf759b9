// Calls of before that still run: whom they belong to, what is told of them, and when nobody waits for them any more.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ID, SERVER } from "../../../test/recorded-session.js";
import { begunTask, RESULT, TaskRun, taskServer } from "../../../test/task-run.js";

const HOUR_MS = 3_600_000;
let folder = "";
let atTask = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tenon-session-tasks-"));
  ({ atTask } = await begunTask(start()));
});
afterAll(() => rmSync(folder, { recursive: true }));

function start(journal?: string, nowMs?: number): TaskRun {
  return new TaskRun(taskServer(join(folder, "tasks.json")), journal, nowMs);
}

const begunMs = () => Number(/"startedMs":(\d+)/u.exec(atTask)?.[1]);
const told = (run: TaskRun) => JSON.stringify(run.events);

test("it is taken up at the same server, and its end is told once", async () => {
  const run = start(atTask);
  await run.load();
  const ends = run.events.filter((event) => event.kind === "turn" && event.event.kind === "call_ended");
  expect(ends).toMatchObject([{ event: { toolCallId: "1-1", outcome: { kind: "done" } } }]);
  await run.close();
});

test.each([
  ["no server of that name", []],
  ["another server of that name", [{ ...SERVER, args: ["--other"] }]],
  ["the same server under another name", [{ ...SERVER, name: "t" }]],
])("with %s it waits, which is told", async (_, servers) => {
  const run = start(atTask);
  const session = await run.load(servers);
  expect(told(run)).toContain("still runs as a task of the server");
  expect(told(run)).not.toContain(RESULT);
  await session.setServers({ servers: [SERVER] });
  await run.world.advance(2_000);
  expect(told(run)).toContain(RESULT);
  await run.close();
});

test("without its server, and with its time up, its outcome is unknown", async () => {
  const run = start(atTask, begunMs() + 3 * HOUR_MS);
  const session = await run.load([]);
  expect(told(run)).toContain("its time is up");
  await run.prompt(session, "go on");
  expect(JSON.stringify(run.requests.at(-1))).toContain("Do not assume it failed");
  await run.close();
});

test("a session that closes leaves it running, and records nothing of it", async () => {
  const run = start(atTask);
  await run.load([]);
  await run.close();
  expect(run.journal).not.toContain('"kind":"outcome"');
});

test("a copy of the session can give up the call, but only its own session takes it back at the server", async () => {
  const file = join(folder, "tasks.json");
  const before = readFileSync(file, "utf8");
  const kept: { answer?: unknown }[] = JSON.parse(before);
  writeFileSync(file, JSON.stringify(kept.map(({ answer: _none, ...task }) => task))); // they run until somebody answers
  const run = start(atTask, begunMs() + 1_000);
  const { session: copy } = await run.host.forkSession({ id: ID, cwd: "/project", servers: [SERVER] });
  await run.world.advance(2_000);
  copy.cancel();
  await run.world.advance(2_000);
  expect(readFileSync(file, "utf8")).not.toContain("cancelledMs");
  const own = await run.load();
  own.cancel();
  await run.world.advance(2_000);
  expect(readFileSync(file, "utf8")).toContain("cancelledMs");
  await run.close();
  writeFileSync(file, before);
});
