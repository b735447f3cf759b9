// Prompts of several clients: one turn at a time, a bounded queue, and ids under which nothing runs twice.
import { expect, test } from "vitest";
import type { Model } from "../../models/index.js";
import { type FakeWorld, fakeWorld, settle } from "../../testing/index.js";
import type { SessionEvent } from "../events.js";
import { SessionHost } from "../host.js";
import type { ClientName } from "../ports.js";
import type { Session } from "../session.js";

const ZED: ClientName = { client: "c1", name: "Zed" };
const PHONE: ClientName = { client: "c2", name: "Phone" };

/** Answers each prompt when it is told to. */
class Desk {
  readonly world: FakeWorld;
  readonly host: SessionHost;
  readonly begun: string[] = [];
  #answer: (error?: Error) => void = () => undefined;

  constructor({ world = fakeWorld(), maxQueuedPrompts = 2 } = {}) {
    this.world = world;
    const model: Model = { id: "test/model", stream: (request, signal) => this.#stream(request, signal) };
    this.host = new SessionHost({
      world,
      model,
      stateDir: "/state",
      client: { name: "t", version: "1" },
      maxQueuedPrompts,
    });
  }

  async answer(error?: Error): Promise<void> {
    await settle();
    this.#answer(error);
    await settle();
  }

  records(id = "one"): { kind: string; promptId?: string; by?: ClientName; turn?: number }[] {
    const lines = (this.world.files.text(`/state/sessions/${id}.ndjson`) ?? "").trim().split("\n").slice(1);
    return lines.map((line) => JSON.parse(line));
  }

  async *#stream({ messages }: Parameters<Model["stream"]>[0], signal: AbortSignal): ReturnType<Model["stream"]> {
    const last = messages.at(-1);
    this.begun.push(last?.role === "user" ? JSON.stringify(last.content) : "");
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      this.#answer = (error) => (error ? reject(error) : resolve());
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    yield { kind: "text", text: "done" };
    yield { kind: "finish", reason: "stop", usage: { inputTokens: 10, outputTokens: 2 } };
  }
}

async function closed(desk: Desk, session: Session): Promise<void> {
  const closing = session.close();
  await desk.world.advance(10_000);
  await closing;
}

function listen(session: Session): SessionEvent[] {
  const seen: SessionEvent[] = [];
  (async () => {
    for await (const event of session.events()) seen.push(event);
  })().catch(() => undefined);
  return seen;
}

test("prompts wait in line up to the limit and run in their order, each recorded with who sent it", async () => {
  const desk = new Desk();
  const session = desk.host.createSession({ cwd: "/project", id: "one" });
  const seen = listen(session);
  const first = session.prompt("one", undefined, { promptId: "p1", by: ZED });
  const second = session.prompt("two", undefined, { promptId: "p2", by: PHONE });
  const third = session.prompt("three", undefined, { by: ZED });
  await expect(session.prompt("four")).rejects.toMatchObject({ code: "session.busy" });
  expect(session.view()).toMatchObject({
    state: "running",
    running: { number: 1, promptId: "p1", by: ZED },
    queued: [{ promptId: "p2", by: PHONE }, { by: ZED }],
  });
  await desk.answer();
  expect(await first).toMatchObject({ stopReason: "end_turn", turn: 1, usage: { inputTokens: 10 } });
  await desk.answer();
  expect(await second).toMatchObject({ turn: 2 });
  await desk.answer();
  expect(await third).toMatchObject({ turn: 3 });
  expect(desk.begun.map((prompt) => /one|two|three/u.exec(prompt)?.[0])).toEqual(["one", "two", "three"]);
  expect(session.state).toBe("idle");
  const prompts = desk.records().filter(({ kind }) => kind === "queued" || kind === "prompt");
  const lastId = prompts.at(-1)?.promptId;
  expect(prompts.map(({ kind, promptId, by }) => [kind, promptId, by?.name])).toEqual([
    ["prompt", "p1", "Zed"],
    ["queued", "p2", "Phone"],
    ["queued", lastId, "Zed"],
    ["prompt", "p2", "Phone"],
    ["prompt", lastId, "Zed"],
  ]);
  const users = seen.flatMap((event) => (event.kind === "user" ? [event.by?.name] : []));
  expect(users).toEqual(["Zed", "Phone", "Zed"]);
  expect(seen.some(({ kind }) => kind === "session_info")).toBe(false); // nobody has joined it
  await closed(desk, session);
});

test("a prompt that waits is taken back by its sender only; another's turn goes on", async () => {
  const desk = new Desk();
  const session = desk.host.createSession({ cwd: "/project", id: "one" });
  const running = session.prompt("one", undefined, { by: ZED });
  const phone = session.prompt("two", undefined, { promptId: "p2", by: PHONE });
  await settle();
  session.cancel(PHONE);
  expect(await phone).toEqual({ stopReason: "cancelled", usage: { inputTokens: 0, outputTokens: 0 } });
  const controller = new AbortController();
  const taken = session.prompt("three", controller.signal, { promptId: "p3", by: PHONE });
  await settle();
  controller.abort();
  expect(await taken).toMatchObject({ stopReason: "cancelled" });
  const aborted = session.prompt("four", controller.signal, { promptId: "p4" });
  expect(await aborted).toMatchObject({ stopReason: "cancelled" });
  expect(session.view().queued).toEqual([]);
  expect(session.state).toBe("running");
  session.cancel(PHONE); // nothing of its own waits: the turn
  expect(await running).toMatchObject({ stopReason: "cancelled", turn: 1 });
  const kinds = desk.records().filter(({ kind }) => kind.endsWith("queued"));
  expect(kinds.map(({ kind, promptId }) => `${kind} ${promptId}`)).toEqual([
    "queued p2",
    "unqueued p2",
    "queued p3",
    "unqueued p3",
    "queued p4",
    "unqueued p4",
  ]);
  await closed(desk, session);
});

test("cancel without a client stops the turn and all that waits", async () => {
  const desk = new Desk();
  const session = desk.host.createSession({ cwd: "/project", id: "one" });
  const all = [session.prompt("one", undefined, { by: ZED }), session.prompt("two", undefined, { by: PHONE })];
  await settle();
  session.cancel();
  expect(await Promise.all(all)).toMatchObject([{ stopReason: "cancelled" }, { stopReason: "cancelled" }]);
  expect(desk.begun).toHaveLength(1);
  await closed(desk, session);
});

test("a prompt sent again under its id is joined while it runs or waits, and answered from its record after", async () => {
  const desk = new Desk();
  const session = desk.host.createSession({ cwd: "/project", id: "one" });
  const send = (content: string, promptId: string) => session.prompt(content, undefined, { promptId, by: ZED });
  const running = [send("one", "p1"), send("one", "p1")];
  const waiting = [send("two", "p2"), send("two", "p2")];
  await expect(send("other", "p1")).rejects.toMatchObject({ code: "session.prompt_conflict" });
  await expect(send("other", "p2")).rejects.toMatchObject({ code: "session.prompt_conflict" });
  for (const odd of ["", "x".repeat(129)]) {
    await expect(send("one", odd)).rejects.toMatchObject({ code: "session.invalid_request" });
  }
  await desk.answer();
  const [first, joined] = await Promise.all(running);
  expect(joined).toEqual(first);
  const failed = waiting.map((one) => expect(one).rejects.toThrow("wires crossed"));
  await desk.answer(new Error("wires crossed"));
  await Promise.all(failed);
  expect(await send("one", "p1")).toEqual(first);
  await expect(send("two", "p2")).rejects.toThrow("wires crossed");
  await expect(send("other", "p1")).rejects.toMatchObject({ code: "session.prompt_conflict" });
  expect(desk.begun).toHaveLength(2);
  await closed(desk, session);
  const after = new Desk({ world: desk.world });
  const { session: again } = await after.host.loadSession({ cwd: "/project", id: "one" });
  const resend = (content: string, promptId: string) => again.prompt(content, undefined, { promptId, by: ZED });
  expect(await resend("one", "p1")).toEqual(first);
  await expect(resend("two", "p2")).rejects.toThrow("wires crossed");
  await expect(resend("other", "p1")).rejects.toMatchObject({ code: "session.prompt_conflict" });
  expect(after.begun).toEqual([]);
  await closed(after, again);
});

test("a joined prompt is taken back by whoever joined it: the first connection may be gone", async () => {
  const desk = new Desk();
  const session = desk.host.createSession({ cwd: "/project", id: "one" });
  const first = session.prompt("one", new AbortController().signal, { promptId: "p1", by: ZED });
  const controller = new AbortController();
  const joined = session.prompt("one", controller.signal, { promptId: "p1", by: ZED });
  await settle();
  controller.abort();
  expect(await joined).toMatchObject({ stopReason: "cancelled" });
  expect(await first).toMatchObject({ stopReason: "cancelled" });
  await closed(desk, session);
});

test("prompts that wait when the session closes are refused, and not run by who only loads it", async () => {
  const desk = new Desk();
  const session = desk.host.createSession({ cwd: "/project", id: "one" });
  const running = session.prompt("one", undefined, { promptId: "p1" });
  const waiting = session.prompt("two", undefined, { promptId: "p2" });
  const refused = waiting.catch((error: unknown) => error);
  await settle();
  await closed(desk, session);
  expect(await refused).toMatchObject({ code: "session.closed" });
  await Promise.allSettled([running]);
  expect(desk.records().some(({ kind }) => kind === "unqueued")).toBe(false);
  const after = new Desk({ world: desk.world, maxQueuedPrompts: 0 });
  const { session: again } = await after.host.loadSession({ cwd: "/project", id: "one" });
  const next = again.prompt("three");
  await expect(again.prompt("four")).rejects.toMatchObject({ code: "session.busy" });
  await after.answer();
  await next;
  expect(after.begun).toHaveLength(1);
  expect(after.records().filter(({ kind }) => kind === "unqueued")).toMatchObject([{ promptId: "p2" }]);
  await closed(after, again);
});

test("a prompt that could not begin is not known by its id: it may be sent again", async () => {
  const desk = new Desk({ maxQueuedPrompts: 0 });
  const session = desk.host.createSession({ cwd: "/project", id: "one" });
  const first = session.prompt("one", undefined, { promptId: "p1" });
  await expect(session.prompt("two", undefined, { promptId: "p2" })).rejects.toMatchObject({ code: "session.busy" });
  await desk.answer();
  await first;
  const second = session.prompt("two", undefined, { promptId: "p2" });
  await desk.answer();
  expect(await second).toMatchObject({ turn: 2 });
  await closed(desk, session);
});
