// Every call ends exactly once, whatever the model, the person or the source does.
import { expect, test } from "vitest";
import { Cell } from "../../base/async/cell.js";
import type { JsonObject } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { text } from "../../base/text/content.js";
import { type FakeWorld, fakeWorld } from "../../testing/index.js";
import { type CatalogEntry, type Offer, snapshot } from "../catalog/offer.js";
import { TOOL_LIMITS } from "../limits.js";
import { ResultStore } from "../result/store.js";
import type { CatalogTool, SourceCall, ToolDefinition, ToolOutcome, ToolSource } from "../tool.js";
import { type Approval, type ApprovalRequest, type CallEvent, type RunPorts, runCall } from "./call.js";
import { prepareCall } from "./prepare.js";

const ECHO: ToolDefinition = {
  name: "echo",
  description: "Says it back",
  inputSchema: {
    type: "object",
    properties: { message: { type: "string" }, times: { type: "integer" } },
    required: ["message"],
  },
};
const DONE: ToolOutcome = { kind: "done", content: [text("hi")] };

interface Setup {
  readonly call?: ToolSource["call"];
  readonly approve?: (request: ApprovalRequest) => Approval | Promise<Approval>;
  readonly intent?: () => void;
  readonly entry?: Partial<CatalogEntry>;
  readonly arguments?: JsonObject;
  readonly signal?: AbortSignal;
  readonly world?: FakeWorld;
  readonly results?: ResultStore;
  readonly onUsed?: (tool: CatalogTool) => void;
}

async function run(setup: Setup = {}) {
  const log: string[] = [];
  const asked: ApprovalRequest[] = [];
  const seen: SourceCall[] = [];
  const source: ToolSource = {
    name: "s",
    origin: "client",
    tools: new Cell([ECHO]),
    call: (call) => {
      seen.push(call);
      return setup.call ? setup.call(call) : Promise.resolve(DONE);
    },
  };
  const ports: RunPorts = {
    world: setup.world ?? fakeWorld(),
    results: setup.results ?? new ResultStore({ world: fakeWorld() }),
    media: { images: true, audio: false, documents: false },
    ...(setup.onUsed ? { onUsed: setup.onUsed } : {}),
    approve: async (request) => {
      log.push("approve");
      asked.push(request);
      return (await setup.approve?.(request)) ?? { kind: "allowed" };
    },
    journal: {
      intent: () => {
        log.push("intent");
        setup.intent?.();
      },
    },
  };
  const argumentsJson = JSON.stringify(setup.arguments ?? { message: "hi" });
  const call = { toolCallId: "1-1", name: "mcp__s__echo", argumentsJson };
  const events: CallEvent[] = [];
  const { outcome, model } = await runCall(prepareCall(call, changed(snapshot([source]), setup.entry)), ports, {
    signal: setup.signal ?? new AbortController().signal,
    onEvent: (event) => {
      log.push(event.kind);
      events.push(event);
    },
  });
  return { outcome, model, log, events, asked, seen };
}

function changed(offer: Offer, entry: Partial<CatalogEntry> = {}): Offer {
  return {
    tools: offer.tools,
    find: (name) => {
      const found = offer.find(name);
      return found && { ...found, ...entry };
    },
  };
}

test("an approved call is journaled before it is sent, under the source's own name", async () => {
  const { outcome, log, seen, asked } = await run({ entry: { raw: { ...ECHO, name: "its own name" } } });
  expect(outcome).toEqual(DONE);
  expect(seen.map(({ tool }) => tool)).toEqual(["its own name"]);
  expect(asked[0]?.raw.name).toBe("its own name");
  expect(log).toEqual(["approve", "intent", "running", "ended"]);
});

test("pinned values and defaults are in what is approved and sent", async () => {
  const { asked, seen } = await run({
    arguments: { message: "hi", user: "me" },
    entry: { pinned: { user: "pinned" }, defaults: { times: 2, message: "unused" } },
  });
  const expected = { message: "hi", user: "pinned", times: 2 };
  expect(asked[0]?.arguments).toEqual(expected);
  expect(seen[0]?.arguments).toEqual(expected);
});

async function stored(value: string): Promise<ResultStore> {
  const store = new ResultStore({ world: fakeWorld() });
  expect(await store.keepText([value], { origin: "s / read" })).toMatchObject({ ok: true, result: { handle: "r1" } });
  return store;
}

test("a kept result is put in before anybody judges the arguments, and people are shown a part of a long one", async () => {
  const long = "x".repeat(12_000_000);
  const results = await stored(long);
  const { outcome, asked, seen } = await run({ results, arguments: { message: { $result: "r1" } } });
  expect(outcome).toEqual(DONE);
  expect(asked[0]?.arguments["message"]).toBe(long);
  expect(seen[0]?.arguments["message"]).toBe(long);
  expect(asked[0]?.inserted).toEqual([{ handle: "r1", bytes: long.length }]);
  const shown = JSON.stringify(asked[0]?.shown);
  expect(shown).toContain("x… (12000000 characters in all)");
  expect(shown.length).toBeLessThan(LIMITS.shownArguments.textChars + 100);
});

test("a result that is not there is an error for the model, and nobody is asked", async () => {
  const results = await stored("x");
  const { outcome, log } = await run({ results, arguments: { message: { $result: "r7" } } });
  expect(JSON.stringify(outcome)).toMatch(/was not made: .*r7/);
  expect(log).toEqual(["ended"]);
});

test("a result of the wrong type does not fit the schema", async () => {
  const results = await stored("x");
  const { outcome } = await run({ results, arguments: { message: "a", times: { $result: "r1" } } });
  expect(JSON.stringify(outcome)).toContain("/times must be of type integer");
});

test("what went well is noted as used, and a note that fails costs nothing", async () => {
  const used: string[] = [];
  const onUsed = (tool: CatalogTool) => {
    used.push(tool.id);
    throw new Error("no room");
  };
  expect((await run({ onUsed })).outcome).toEqual(DONE);
  await run({ onUsed, call: async () => ({ kind: "failed", content: [] }) });
  expect(used).toEqual(["mcp__s__echo"]);
});

test("arguments that do not fit the source's own schema are named to the model by their place, and nobody is asked", async () => {
  const { outcome, log } = await run({ arguments: { times: "two" } });
  expect(outcome).toEqual({
    kind: "failed",
    isOwn: true,
    content: [
      text(
        'The call of mcp__s__echo was not made: the arguments do not fit its schema: the value lacks the required property "message"; /times must be of type integer.',
      ),
    ],
  });
  expect(log).toEqual(["ended"]);
});

test("a model that was shown an earlier definition is told the schema as it is now", async () => {
  const { outcome } = await run({ arguments: {}, entry: { isChanged: true } });
  expect(JSON.stringify(outcome)).toContain("has changed since you were given it");
  expect(JSON.stringify(outcome)).toContain("times");
});

test("a schema that cannot be checked lets the call through: the source judges it", async () => {
  const strange: ToolDefinition = { ...ECHO, inputSchema: { $ref: "https://x.test/schema.json" } };
  expect((await run({ entry: { raw: strange } })).outcome).toEqual(DONE);
});

test("a refused call is never sent, and the person is seen to be asked", async () => {
  const { outcome, log } = await run({
    approve: (request) => {
      request.onAsking();
      return { kind: "refused", reason: "no" };
    },
  });
  expect(outcome).toEqual({ kind: "refused", reason: "no" });
  expect(log).toEqual(["approve", "awaiting_approval", "ended"]);
});

test("a turn cancelled while the person thinks sends nothing, also when nobody ever answers", async () => {
  const controller = new AbortController();
  const { outcome, log } = await run({
    signal: controller.signal,
    approve: () => {
      controller.abort();
      return new Promise(() => {});
    },
  });
  expect(outcome).toEqual({ kind: "cancelled" });
  expect(log).toEqual(["approve", "ended"]);
});

test.each([
  ["approval", { approve: () => Promise.reject(new Error("no client")) }, /was not made: no client/],
  [
    "a journal",
    {
      intent: () => {
        throw new Error("disk full");
      },
    },
    /was not made: disk full/,
  ],
  ["a source", { call: () => Promise.reject(new Error("boom")) }, /s \/ echo failed: boom/],
  [
    "a source, at once,",
    {
      call: () => {
        throw new Error("boom");
      },
    },
    /s \/ echo failed: boom/,
  ],
] satisfies [string, Setup, RegExp][])("%s that fails still gives an outcome", async (_, setup, expected) => {
  const { outcome, log } = await run(setup);
  expect(outcome.kind).toBe("failed");
  expect(JSON.stringify(outcome)).toMatch(expected);
  expect(log.filter((entry) => entry === "ended")).toHaveLength(1);
});

test.each(["nothing", '{"kind":"great"}', '{"kind":"done"}', '{"kind":"unknown"}'])(
  "a source that answers with no outcome (%s) failed",
  async (json) => {
    const answer = json === "nothing" ? undefined : JSON.parse(json);
    const { outcome } = await run({ call: async () => answer });
    expect(outcome).toEqual({
      kind: "failed",
      isOwn: true,
      content: [text("s / echo failed: it answered with no outcome.")],
    });
  },
);

test("progress carries the time since the call was sent, and nothing is told once it has ended", async () => {
  const world = fakeWorld();
  let late: SourceCall["onProgress"] | undefined;
  const { events } = await run({
    world,
    call: async ({ onProgress }) => {
      late = onProgress;
      await world.clock.advance(250);
      onProgress({ progress: 1 });
      return DONE;
    },
  });
  late?.({ progress: 2 });
  expect(events.map((event) => ("elapsedMs" in event ? [event.kind, event.elapsedMs] : event.kind))).toEqual([
    "running",
    ["progress", 250],
    ["ended", 250],
  ]);
});

test("what the source answered carries its origin, and what we say of a call does not", async () => {
  expect((await run()).model).toEqual({ isError: false, content: [text("hi")], origin: "s / echo" });
  const { model } = await run({ arguments: {} });
  expect(model).toMatchObject({ isError: true });
  expect(model).not.toHaveProperty("origin");
});

test("a long answer is kept whole, and people and model are given its ends", async () => {
  const whole = "line\n".repeat(100_000);
  const results = new ResultStore({ world: fakeWorld() });
  const { model, events } = await run({ results, call: async () => ({ kind: "done", content: [text(whole)] }) });
  expect(JSON.stringify(model).length).toBeLessThan(LIMITS.resultMaxBytes * 1.5);
  expect(JSON.stringify(events.at(-1)).length).toBeLessThan(LIMITS.resultMaxBytes * 2);
  expect(await results.find("r1")).toMatchObject({ bytes: whole.length });
});

test("an answer that cannot be prepared still ends the call, with an outcome nobody mistakes for a failure", async () => {
  const trap = {
    type: "text",
    get text(): string {
      throw new Error("trap");
    },
  } as const;
  const { outcome, model } = await run({ call: async () => ({ kind: "done", content: [trap] }) });
  expect(outcome).toEqual({ kind: "unknown", reason: expect.stringMatching(/ended as done.*trap/) });
  expect(JSON.stringify(model)).toContain("Do not assume it failed");
});

test("a cancelled source may say itself how it ended", async () => {
  const controller = new AbortController();
  const { outcome } = await run({
    signal: controller.signal,
    call: async () => {
      controller.abort();
      return { kind: "unknown", reason: "half done" };
    },
  });
  expect(outcome).toEqual({ kind: "unknown", reason: "half done" });
});

test("a source that does not heed the signal is not waited for", async () => {
  const world = fakeWorld();
  const controller = new AbortController();
  const running = run({ world, signal: controller.signal, call: () => new Promise(() => {}) });
  await world.clock.advance(1_000);
  controller.abort();
  await world.clock.advance(TOOL_LIMITS.cancelGraceMs);
  expect((await running).outcome).toEqual({ kind: "cancelled" });
  expect(world.clock.pendingTimers).toBe(0);
});

test("a turn that is cancelled while its intent is written sends nothing", async () => {
  const controller = new AbortController();
  const { outcome, log, seen } = await run({ signal: controller.signal, intent: () => controller.abort() });
  expect(seen).toEqual([]);
  expect(log).not.toContain("running");
  expect(outcome).toEqual({ kind: "cancelled" });
});

test("a source written in plain JavaScript may answer with no promise, or with another kind of one", async () => {
  const plain = JSON.parse(JSON.stringify(DONE));
  const thenable = JSON.parse("{}");
  Reflect.set(thenable, "then", (resolve: (value: unknown) => void) => resolve(DONE));
  expect((await run({ call: () => plain })).outcome).toEqual(DONE);
  expect((await run({ call: () => thenable })).outcome).toEqual(DONE);
});
