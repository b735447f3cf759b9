// A task comes to exactly one outcome, whatever the server, the connection and the person do, in both eras.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeLink } from "../../../test/fake-link.js";
import { Cell } from "../../base/async/cell.js";
import { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { text } from "../../base/text/content.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { TASK_LIMITS } from "../limits.js";
import type { CallOutcome, CallProgress } from "./call.js";
import { readTask, type TaskHandle } from "./task.js";
import { ServerTasks } from "./tasks.js";

type Era = "legacy" | "modern";
const LEGACY_CAPABILITIES = { tasks: { cancel: {}, requests: { tools: { call: {} } } } };
const CAP_MS = 600_000;

interface Script {
  readonly era: Era;
  readonly status: "completed" | "failed" | "cancelled";
  readonly endsMs: number;
  readonly pollMs?: number;
  readonly ttlMs?: number;
  /** From then on the server does not know it. */
  readonly forgottenMs?: number;
  /** Asks for input at this time, and goes on when it was given. */
  readonly asksMs?: number;
}

/** One server with one task, on the clock of a world, reached over links that break and are replaced. */
class Lab {
  readonly world: FakeWorld = fakeWorld();
  readonly tasks: ServerTasks;
  readonly polledMs: number[] = [];
  readonly asked: string[] = [];
  readonly questions: string[] = [];
  readonly said: (string | undefined)[] = [];
  readonly #script: Script;
  readonly #link = new Cell<FakeLink | TenonError | undefined>(undefined);
  #inputs: JsonObject | undefined;
  #isCancelled = false;
  answerPeer: () => Promise<JsonObject> = async () => ({ action: "accept", content: { name: "Ada" } });
  /** How the next requests of the link fare. */
  lossOf: (method: string) => boolean = () => false;

  constructor(script: Script) {
    this.#script = script;
    this.tasks = new ServerTasks({
      world: this.world,
      isRemote: true,
      current: () => this.#live(),
      next: async (signal) => {
        const found = await this.#link.until((link) => link !== undefined, signal).catch(() => undefined);
        return found ?? new TenonError("mcp.not_ready", "it is not there");
      },
    });
    this.connect();
  }

  get nowMs(): number {
    return this.world.monotonicMs();
  }

  connect(): void {
    const { era } = this.#script;
    const base = new FakeLink(this.world, {
      agreement: { era, protocolVersion: era === "legacy" ? "2025-11-25" : "2026-07-28" },
      capabilities: LEGACY_CAPABILITIES,
      answer: ({ method, params }) => this.#answer(method, params),
    });
    const link: FakeLink = Object.assign(base, {
      askPeer: (method: string, params: JsonObject) => {
        this.questions.push(String(params["message"] ?? method));
        return this.answerPeer();
      },
    });
    this.tasks.attach(link);
    this.#link.set(link);
  }

  drop(): void {
    const link = this.#live();
    this.#link.set(undefined);
    link?.break();
  }

  /** There will be none any more. */
  fail(): void {
    this.drop();
    this.#link.set(new TenonError("mcp.not_ready", "it has failed for good"));
  }

  announce(): void {
    const method = this.#script.era === "legacy" ? "notifications/tasks/status" : "notifications/tasks";
    this.#live()?.announce(method, this.#state());
  }

  follow(signal: AbortSignal, handle?: TaskHandle): Promise<CallOutcome> {
    const request = {
      world: this.world,
      server: "s",
      tool: "t",
      maxTotalMs: CAP_MS,
      signal,
      onProgress: ({ message }: CallProgress) => this.said.push(message),
    };
    if (handle) return this.tasks.resume(handle, request);
    const task = readTask(this.#state());
    const link = this.#live();
    if (!task || !link) throw new Error("the script has no task");
    return this.tasks.finish(task, { ...request, args: {}, timeoutMs: 1_000 }, { link });
  }

  #live(): FakeLink | undefined {
    const link = this.#link.value;
    return link instanceof FakeLink ? link : undefined;
  }

  #answer(method: string, params: JsonObject): ReturnType<ConstructorParameters<typeof FakeLink>[1]["answer"]> {
    this.asked.push(method);
    if (method === "tasks/get") this.polledMs.push(this.nowMs);
    if (this.lossOf(method)) {
      return { lost: { error: new TenonError("mcp.unavailable", "reset"), wasSent: true } };
    }
    const { forgottenMs = Number.POSITIVE_INFINITY } = this.#script;
    if (this.nowMs >= forgottenMs || params["taskId"] !== "task-1") {
      return { error: { code: -32602, message: "Task not found" } };
    }
    switch (method) {
      case "tasks/get":
        return { result: this.#state() };
      case "tasks/cancel":
        this.#isCancelled = true;
        return { result: this.#state() };
      case "tasks/update":
        this.#inputs = params;
        return { result: {} };
      case "tasks/result":
        return this.#result();
      default:
        return { error: { code: -32601, message: "no such method" } };
    }
  }

  /** As a legacy server does it: blocks until the end, and asks for input on the way. */
  async #result(): Promise<{ result: JsonObject } | { error: { code: number; message: string } }> {
    if (this.#status() === "input_required") {
      this.questions.push("by a request of the server");
      this.#inputs = {};
    }
    while (!["completed", "failed", "cancelled"].includes(this.#status())) {
      await new Promise<void>((resolve) => this.world.after(1_000, resolve));
    }
    if (this.#status() !== "completed") return { error: { code: -32603, message: "it broke" } };
    return { result: { content: [{ type: "text", text: "the result" }] } };
  }

  #status(): string {
    const { endsMs, status, asksMs = Number.POSITIVE_INFINITY } = this.#script;
    if (this.#isCancelled) return "cancelled";
    if (this.nowMs >= asksMs && this.#inputs === undefined) return "input_required";
    return this.nowMs >= endsMs ? status : "working";
  }

  #state(): JsonObject {
    const { era, pollMs, ttlMs } = this.#script;
    const status = this.#status();
    const isModern = era === "modern";
    const names = isModern ? { ttl: "ttlMs", poll: "pollIntervalMs" } : { ttl: "ttl", poll: "pollInterval" };
    return {
      taskId: "task-1",
      status,
      statusMessage: `it is ${status}`,
      [names.ttl]: ttlMs ?? null,
      ...(pollMs === undefined ? {} : { [names.poll]: pollMs }),
      ...(isModern && status === "completed" ? { result: { content: [{ type: "text", text: "the result" }] } } : {}),
      ...(isModern && status === "failed" ? { error: { code: -32603, message: "it broke" } } : {}),
      ...(isModern && status === "input_required"
        ? { inputRequests: { q: { method: "elicitation/create", params: { message: "who?" } } } }
        : {}),
    };
  }
}

const never = new AbortController().signal;

async function outcomeWithin(lab: Lab, running: Promise<CallOutcome>, ms: number): Promise<CallOutcome | undefined> {
  let outcome: CallOutcome | undefined;
  const ended = running.then((one) => {
    outcome = one;
  });
  await lab.world.clock.advance(ms);
  if (outcome) await ended;
  return outcome;
}

const DONE = { kind: "answered", isError: false, content: [text("the result")] };

describe.each<Era>(["legacy", "modern"])("a task of a %s server", (era) => {
  const script: Script = { era, status: "completed", endsMs: 10_000, pollMs: 1_000 };

  test("is asked for at the server's pace, and its result is the call's", async () => {
    const lab = new Lab(script);
    expect(await outcomeWithin(lab, lab.follow(never), 12_500)).toEqual(DONE);
    const gaps = lab.polledMs.map((atMs, index) => atMs - (lab.polledMs[index - 1] ?? 0));
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(1_000);
    for (const gap of gaps) expect(gap).toBeLessThanOrEqual(1_100);
    expect(lab.said).toEqual(["it is working", "it is completed"]);
    expect(lab.world.clock.pendingTimers).toBe(0);
  });

  test("that failed is a failed call with the server's reason", async () => {
    const lab = new Lab({ ...script, status: "failed" });
    const outcome = await outcomeWithin(lab, lab.follow(never), 12_500);
    expect(outcome).toMatchObject({ kind: "failed", error: { code: "mcp.call_failed" } });
  });

  test("that the server gave up is a failed call", async () => {
    const lab = new Lab({ ...script, status: "cancelled" });
    const outcome = await outcomeWithin(lab, lab.follow(never), 12_500);
    expect(outcome).toMatchObject({ kind: "failed", error: { message: expect.stringContaining("cancelled it") } });
  });

  test("is announced as over: it is asked for at once", async () => {
    const lab = new Lab({ ...script, endsMs: 3_000, pollMs: 60_000 });
    const running = lab.follow(never);
    await lab.world.clock.advance(3_000);
    lab.announce();
    expect(await outcomeWithin(lab, running, 200)).toEqual(DONE);
  });

  test("survives a broken connection, and requests that are lost on a whole one", async () => {
    const lab = new Lab(script);
    const running = lab.follow(never);
    await lab.world.clock.advance(2_500);
    lab.drop();
    await lab.world.clock.advance(5_000);
    lab.connect();
    let losses = 3;
    lab.lossOf = () => losses-- > 0;
    expect(await outcomeWithin(lab, running, 60_000)).toEqual(DONE);
  });

  test("that the server has forgotten has an unknown outcome, and is asked for no more", async () => {
    const lab = new Lab({ ...script, forgottenMs: 4_000 });
    const running = lab.follow(never);
    await lab.world.clock.advance(2_500);
    lab.drop();
    lab.connect();
    const outcome = await outcomeWithin(lab, running, 60_000);
    expect(outcome).toMatchObject({
      kind: "unknown",
      error: {
        code: "mcp.task_lost",
        message: expect.stringMatching(/connected to anew and has forgotten it.*unknown/),
      },
    });
    expect(lab.polledMs.filter((atMs) => atMs >= 4_000)).toHaveLength(1);
  });

  test("is looked at before its time to live is over, and what is forgotten after it is said to be expired", async () => {
    const lab = new Lab({ ...script, endsMs: 60_000, pollMs: 10_000, ttlMs: 4_000, forgottenMs: 4_001 });
    const outcome = await outcomeWithin(lab, lab.follow(never), 30_000);
    expect(outcome).toMatchObject({
      kind: "unknown",
      error: { message: expect.stringContaining("time to live is over") },
    });
    expect(lab.polledMs[0]).toBeLessThan(4_000);
  });

  test("at a server that is gone for good has an unknown outcome", async () => {
    const lab = new Lab(script);
    const running = lab.follow(never);
    await lab.world.clock.advance(1_500);
    lab.fail();
    const outcome = await outcomeWithin(lab, running, 5_000);
    expect(outcome).toMatchObject({ kind: "unknown", error: { message: expect.stringContaining("failed for good") } });
  });

  test("that takes longer than any call may is cancelled, and its outcome unknown", async () => {
    const lab = new Lab({ ...script, endsMs: CAP_MS * 2, pollMs: 60_000 });
    const outcome = await outcomeWithin(lab, lab.follow(never), CAP_MS + 70_000);
    expect(outcome).toMatchObject({ kind: "unknown", error: { code: "mcp.call_timeout" } });
    expect(lab.asked.filter((method) => method === "tasks/cancel")).toHaveLength(1);
    await lab.tasks.close();
    expect(lab.world.clock.pendingTimers).toBe(0);
  });

  test("is cancelled with the call, at the server too", async () => {
    const lab = new Lab(script);
    const controller = new AbortController();
    const running = lab.follow(controller.signal);
    await lab.world.clock.advance(1_500);
    controller.abort();
    expect(lab.asked.at(-1)).toBe("tasks/cancel");
    expect(await outcomeWithin(lab, running, 0)).toEqual({ kind: "cancelled" });
    await lab.tasks.close();
    expect(lab.world.clock.pendingTimers).toBe(0);
  });

  test("is left alone when only the session closes", async () => {
    const lab = new Lab(script);
    const controller = new AbortController();
    const running = lab.follow(controller.signal);
    await lab.world.clock.advance(1_500);
    controller.abort(new TenonError("session.closed", "the session is closing"));
    expect(await outcomeWithin(lab, running, 0)).toEqual({ kind: "cancelled" });
    expect(lab.asked).not.toContain("tasks/cancel");
  });

  test("of another process is asked for at once, and once more even when its time is up", async () => {
    const lab = new Lab({ ...script, endsMs: 0 });
    const handle = { id: "task-1", startedMs: lab.world.now() - CAP_MS * 2 };
    expect(await outcomeWithin(lab, lab.follow(never, handle), 0)).toEqual(DONE);
  });

  test("that wants to know something asks once, also when it says so again and again", async () => {
    const lab = new Lab({ ...script, asksMs: 2_000 });
    let losses = 1;
    lab.lossOf = (method) => method === "tasks/update" && losses-- > 0;
    expect(await outcomeWithin(lab, lab.follow(never), 30_000)).toEqual(DONE);
    expect(lab.questions).toHaveLength(1);
    expect(lab.world.clock.pendingTimers).toBe(0);
  });
});

test("input that nobody gives ends the task, which is cancelled", async () => {
  const lab = new Lab({ era: "modern", status: "completed", endsMs: 10_000, pollMs: 1_000, asksMs: 1_000 });
  lab.answerPeer = () => Promise.reject(new Error("no sampling here"));
  const outcome = await outcomeWithin(lab, lab.follow(never), 30_000);
  expect(outcome).toMatchObject({ kind: "failed", error: { message: expect.stringContaining("no sampling here") } });
  expect(lab.asked).toContain("tasks/cancel");
});

type Deed = "drop" | "connect" | "announce" | "lose" | "cancel" | "fail";

const schedule = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 0, max: 20_000 }),
    deed: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom<Deed>("drop", "connect", "announce", "lose") },
      { weight: 1, arbitrary: fc.constantFrom<Deed>("cancel", "fail") },
    ),
  }),
  { maxLength: 12 },
);

const rarely = (max: number) => fc.option(fc.integer({ min: 0, max }), { nil: undefined, freq: 1 });

const scripts = fc
  .record({
    era: fc.constantFrom<Era>("legacy", "modern"),
    status: fc.constantFrom("completed" as const, "failed" as const, "cancelled" as const),
    endsMs: fc.integer({ min: 0, max: 120_000 }),
    pollMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.constantFrom(undefined, 90_000)),
    ttlMs: rarely(300_000),
    forgottenMs: rarely(300_000),
    asksMs: rarely(60_000),
  })
  .map((one): Script => JSON.parse(JSON.stringify(one)));

test("whatever happens and whenever, there is one outcome, and it is the server's unless something took it away", async () => {
  await fc.assert(
    fc.asyncProperty(scripts, schedule, async (script, deeds) => {
      const lab = new Lab(script);
      const controller = new AbortController();
      const outcomes: CallOutcome[] = [];
      const running = lab.follow(controller.signal).then((outcome) => outcomes.push(outcome));
      let losses = 0;
      lab.lossOf = () => losses-- > 0;
      for (const { afterMs, deed } of deeds) {
        await lab.world.clock.advance(afterMs);
        if (deed === "lose") losses = 3;
        else if (deed === "cancel") controller.abort();
        else lab[deed]();
      }
      const isWhole = !deeds.some(({ deed }) => deed === "fail") && script.forgottenMs === undefined;
      if (isWhole) lab.connect();
      await lab.world.clock.advance(CAP_MS + TASK_LIMITS.lastLookMs + TASK_LIMITS.maxPollMs * 2);
      await running;
      expect(outcomes).toHaveLength(1);
      await lab.tasks.close();
      await lab.world.clock.advance(2_000); // what the server itself waits for
      expect(lab.world.clock.pendingTimers).toBe(0);
      const [outcome] = outcomes;
      if (outcome?.kind === "cancelled") expect(controller.signal.aborted).toBe(true);
      if (isWhole && !controller.signal.aborted && script.ttlMs === undefined) {
        expect(outcome?.kind).toBe(script.status === "completed" ? "answered" : "failed");
      }
      if (outcome?.kind === "answered") expect(outcome).toEqual(DONE);
      expect(lab.questions.length).toBeLessThanOrEqual(1);
      const gaps = lab.polledMs.slice(1).map((atMs, index) => atMs - (lab.polledMs[index] ?? 0));
      for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(TASK_LIMITS.minPollMs);
    }),
    { numRuns: 250 },
  );
});
