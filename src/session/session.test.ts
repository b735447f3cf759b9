// A session: journal before anybody hears of it, one turn at a time, bounded waiting, and a clean end.
import { expect, test, vi } from "vitest";
import { LIMITS } from "../base/limits.js";
import type { Model, ModelEvent } from "../models/index.js";
import { echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../testing/index.js";
import type { SessionEvent } from "./events.js";
import { SessionHost } from "./host.js";
import { SESSION_LIMITS } from "./limits.js";

const finish: ModelEvent = { kind: "finish", reason: "stop" };

function model(stream: Model["stream"]): Model {
  return { id: "test/model", stream };
}

const greeting = model(async function* () {
  yield { kind: "text", text: "hello" };
  yield finish;
});

/** Calls the first tool it is offered, then says what it was offered. */
const caller = model(async function* ({ messages, tools }) {
  const tool = tools[0];
  if (messages.at(-1)?.role === "user" && tool) {
    yield { kind: "tool_call", call: { callId: "c", name: tool.name, argumentsJson: '{"text":"x"}' } };
    yield { kind: "finish", reason: "tool_calls" };
  } else {
    yield { kind: "text", text: `offered ${tools.length}` };
    yield finish;
  }
});

function hostWith(world: FakeWorld, chosen: Model): SessionHost {
  return new SessionHost({ world, model: chosen, stateDir: "/state", client: { name: "t", version: "1" } });
}

function collect(events: AsyncIterable<SessionEvent>): { seen: SessionEvent[]; done: Promise<void> } {
  const seen: SessionEvent[] = [];
  const done = (async () => {
    for await (const event of events) seen.push(event);
  })();
  return { seen, done };
}

const server = { kind: "stdio", name: "s", command: "server", args: [], env: { SECRET: "canary" } } as const;

test("the journal holds an event before a reader gets it, and never a server's environment", async () => {
  const world = fakeWorld({ spawn: spawnsServer({ tools: [echoTool()] }) });
  const session = hostWith(world, caller).createSession({ cwd: "/project", servers: [server], id: "one" });
  await world.advance(0); // servers start on the next turn of the event loop
  session.attach({ ask: async () => "once" });
  const journal = () => world.files.text("/state/sessions/one.ndjson") ?? "";
  const late: string[] = [];
  const reading = (async () => {
    for await (const event of session.events()) {
      if (event.kind === "turn" && event.event.kind === "call_ended" && !journal().includes('"outcome"'))
        late.push("outcome");
      if (event.kind === "turn_ended" && !journal().includes('"end"')) late.push("end");
    }
  })();
  await session.prompt("go");
  expect(world.files.syncedText("/state/sessions/one.ndjson")).toContain('"end"');
  const closing = session.close();
  await world.advance(LIMITS.groupPollMs * 2);
  await closing;
  await reading;
  expect(late).toEqual([]);
  expect(journal()).not.toContain("canary");
  expect(journal().trim().split("\n").at(-1)).toContain('"closed"');
});

test("the first prompt waits for a hung server only up to the bound, the second not at all", async () => {
  const world = fakeWorld({ spawn: spawnsServer({ steps: { initialize: [{ do: "never" }] } }) });
  const session = hostWith(world, greeting).createSession({ cwd: "/project", servers: [server] });
  const first = session.prompt("hi");
  let isAnswered = false;
  first.then(
    () => (isAnswered = true),
    () => undefined,
  );
  await world.advance(SESSION_LIMITS.startWait.unknownMs - 1);
  expect(isAnswered).toBe(false);
  await world.advance(1);
  expect((await first).stopReason).toBe("end_turn");
  expect((await session.prompt("again")).stopReason).toBe("end_turn");
  const closing = session.close();
  await world.advance(10_000);
  await closing;
});

test("a second prompt is refused while one runs, and a closed session refuses all", async () => {
  const world = fakeWorld();
  let release: () => void = () => {};
  const waiting = model(async function* () {
    await new Promise<void>((resolve) => (release = resolve));
    yield { kind: "text", text: "done" };
    yield finish;
  });
  const session = hostWith(world, waiting).createSession({ cwd: "/project" });
  const first = session.prompt("one");
  await world.settle();
  await expect(session.prompt("two")).rejects.toMatchObject({ code: "session.busy" });
  release();
  await first;
  await session.close();
  await session.close();
  await expect(session.prompt("three")).rejects.toMatchObject({ code: "session.closed" });
});

test("closing during a turn ends it as cancelled and its readers with it", async () => {
  const world = fakeWorld();
  const session = hostWith(
    world,
    model(async function* (_, signal) {
      yield { kind: "text", text: "a" };
      await new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
      );
      yield finish;
    }),
  ).createSession({ cwd: "/project" });
  const { seen, done } = collect(session.events());
  const turn = session.prompt("go");
  await world.settle();
  await session.close();
  expect((await turn).stopReason).toBe("cancelled");
  await done;
  expect(seen.at(-1)).toMatchObject({ kind: "turn_ended", stopReason: "cancelled" });
});

test("a model that fails rejects the prompt, tells the readers, and the session goes on", async () => {
  const world = fakeWorld();
  let isBroken = true;
  const session = hostWith(
    world,
    model(async function* () {
      if (isBroken) throw new Error("wires crossed");
      yield { kind: "text", text: "fine" };
      yield finish;
    }),
  ).createSession({ cwd: "/project", id: "two" });
  const { seen } = collect(session.events());
  await expect(session.prompt("go")).rejects.toMatchObject({ message: "wires crossed" });
  isBroken = false;
  expect((await session.prompt("go")).stopReason).toBe("end_turn");
  await session.close();
  expect(seen.filter((event) => event.kind === "turn_ended")).toHaveLength(2);
  expect(world.files.text("/state/sessions/two.ndjson")).toContain("wires crossed");
});

test("while the journal cannot be written prompts fail with the reason; then the session goes on", async () => {
  const world = fakeWorld();
  const host = new SessionHost({ world, model: greeting, stateDir: "/state", client: { name: "t", version: "1" } });
  const full = vi.spyOn(world.files, "openAppend").mockImplementation(() => {
    throw new Error("read-only file system");
  });
  const session = host.createSession({ cwd: "/project", id: "full" });
  const refused = { code: "session.not_recorded", message: expect.stringContaining("read-only file system") };
  await expect(session.prompt("hi")).rejects.toMatchObject(refused);
  full.mockRestore();
  expect((await session.prompt("hi again")).stopReason).toBe("end_turn");
  await host.close();
  expect(world.files.text("/state/sessions/full.ndjson")).toMatch(/"v":1.*hi again/su);
});

test("a relative directory and an unknown session are errors with a code", async () => {
  const host = hostWith(fakeWorld(), greeting);
  expect(() => host.createSession({ cwd: "here" })).toThrow(
    expect.objectContaining({ code: "session.invalid_request" }),
  );
  expect(() => host.get("nobody")).toThrow(expect.objectContaining({ code: "session.not_found" }));
  await host.close();
});
