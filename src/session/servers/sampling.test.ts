// Sampling: only with a person's yes, within the budget, through the session's model, and word for word what was shown.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import type { JsonObject } from "../../base/json/json.js";
import { McpConnection, RpcRefusal } from "../../mcp/index.js";
import type { Model, ModelEvent, ModelRequest, ModelUsage } from "../../models/index.js";
import { type FakeWorld, fakeWorld, spawnsServer } from "../../testing/index.js";
import { nodeWorld } from "../../world/index.js";
import { SESSION_LIMITS } from "../limits.js";
import type { SamplingAnswer, SamplingRequest, SessionPorts } from "../ports.js";
import { samplingPeer } from "./sampling.js";

const never = new AbortController().signal;
const params = (more: JsonObject = {}): JsonObject => ({
  messages: [{ role: "user", content: { type: "text", text: "say hi" } }],
  maxTokens: 100,
  ...more,
});

interface Desk {
  readonly world: FakeWorld;
  readonly asked: SamplingRequest[];
  readonly requests: ModelRequest[];
  readonly used: ModelUsage[];
  sample(params?: JsonObject, server?: string, signal?: AbortSignal): Promise<JsonObject>;
}

const says = (...events: ModelEvent[]) =>
  async function* stream(): AsyncGenerator<ModelEvent> {
    yield* events;
  };
const FINISH: ModelEvent = { kind: "finish", reason: "stop", usage: { inputTokens: 7, outputTokens: 2 } };
const HI = says({ kind: "thought", text: "hm" }, { kind: "text", text: "h" }, { kind: "text", text: "i" }, FINISH);

/** `answer` undefined: nobody is attached. */
function desk(
  answer: SamplingPorts["approveSampling"] | SamplingAnswer | undefined,
  stream: (request: ModelRequest) => AsyncIterable<ModelEvent> = HI,
): Desk {
  const world = fakeWorld();
  const asked: SamplingRequest[] = [];
  const requests: ModelRequest[] = [];
  const used: ModelUsage[] = [];
  const model: Model = {
    id: "fake/model",
    stream: (request) => {
      requests.push(request);
      return stream(request);
    },
  };
  const ports: SessionPorts = {
    ask: async () => "no",
    approveSampling: async (request, signal) => {
      asked.push(request);
      return typeof answer === "function" ? await answer(request, signal) : (answer ?? "no");
    },
  };
  const peerOf = samplingPeer({
    world,
    model: () => model,
    ports: () => (answer === undefined ? undefined : ports),
    onUsed: (usage) => used.push(usage),
  });
  const sample: Desk["sample"] = (given = params(), server = "s", signal = never) =>
    peerOf(server).sample(given, signal);
  return { world, asked, requests, used, sample };
}

type SamplingPorts = Required<Pick<SessionPorts, "approveSampling">>;

describe("who may", () => {
  test("nobody attached: declined at once, and no model is asked", async () => {
    const { sample, requests } = desk(undefined);
    await expect(sample()).rejects.toMatchObject({ code: -1, message: expect.stringContaining("nobody is there") });
    expect(requests).toEqual([]);
  });

  test("a person is shown who asks, every word, the model and what it may cost", async () => {
    const { sample, asked } = desk("once");
    const content = [
      { type: "text", text: "look\u202e!" },
      { type: "image", data: "AA==", mimeType: "image/png" },
    ];
    await sample(params({ messages: [{ role: "user", content }], systemPrompt: "be\u200b brief" }));
    expect(asked).toEqual([
      {
        id: "1",
        server: "s",
        model: "fake/model",
        system: expect.stringMatching(/^be.+ brief$/),
        messages: [{ role: "user", content: [{ type: "text", text: expect.stringMatching(/^look.+!$/) }, content[1]] }],
        maxTokens: 100,
        callsLeft: SESSION_LIMITS.sampling.calls - 1,
      },
    ]);
    expect(JSON.stringify(asked)).not.toMatch(/[\u202e\u200b]/);
  });

  test("no means no, and a question that fails is a no", async () => {
    for (const answer of ["no", "never"] as const) {
      await expect(desk(answer).sample()).rejects.toMatchObject({ code: -1 });
    }
    const failing = desk(() => Promise.reject(new Error("client gone")));
    await expect(failing.sample()).rejects.toMatchObject({ code: -1 });
    expect(failing.requests).toEqual([]);
  });

  test("for the session is for one server and asks no more; never is for one server and refuses at once", async () => {
    const answers: Record<string, SamplingAnswer> = { good: "session", bad: "never" };
    const { sample, asked } = desk(async ({ server }) => answers[server] ?? "no");
    await sample(params(), "good");
    await sample(params(), "good");
    await expect(sample(params(), "bad")).rejects.toBeInstanceOf(RpcRefusal);
    await expect(sample(params(), "bad")).rejects.toBeInstanceOf(RpcRefusal);
    expect(asked.map(({ server }) => server)).toEqual(["good", "bad"]);
  });

  test("questions wait for each other, and a cancelled one does not hold up the next", async () => {
    let open = 0;
    const { sample } = desk(async (_request, signal) => {
      open += 1;
      expect(open).toBe(1);
      if (signal !== never) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      open -= 1;
      return "once";
    });
    const controller = new AbortController();
    const first = sample(params(), "s", controller.signal);
    const second = sample();
    controller.abort(new Error("cancelled"));
    await expect(first).rejects.toThrow("cancelled");
    expect(await second).toMatchObject({ role: "assistant" });
  });
});

describe("what is asked and answered", () => {
  test("the model gets the server's system prompt, its messages with roles joined, no tools and a limit", async () => {
    const { sample, requests, used } = desk("once");
    const text = (words: string) => ({ type: "text", text: words });
    const messages = [
      { role: "user", content: text("a") },
      { role: "user", content: [text("b")] },
      { role: "assistant", content: text("c") },
      { role: "user", content: text("d") },
    ];
    const more = { systemPrompt: "sys", includeContext: "allServers", modelPreferences: { hints: [{ name: "x" }] } };
    expect(await sample(params({ messages, ...more, maxTokens: 1_000_000 }))).toEqual({
      role: "assistant",
      content: { type: "text", text: "hi" },
      model: "fake/model",
      stopReason: "endTurn",
    });
    expect(requests).toEqual([
      {
        system: "sys",
        messages: [
          { role: "user", content: [text("a"), text("b")] },
          { role: "assistant", text: "c", toolCalls: [] },
          { role: "user", content: [text("d")] },
        ],
        tools: [],
        maxOutputTokens: SESSION_LIMITS.sampling.maxTokens,
      },
    ]);
    expect(used).toEqual([{ inputTokens: 7, outputTokens: 2 }]);
  });

  test("a stop sequence ends it before the sequence, a limit says so, and a model deaf to the limit is cut off", async () => {
    const stops = desk("once", says({ kind: "text", text: "one. tw" }, { kind: "text", text: "o. three" }, FINISH));
    expect(await stops.sample(params({ stopSequences: ["two", "", 4] }))).toMatchObject({
      content: { text: "one. " },
      stopReason: "stopSequence",
    });
    const full = desk("once", says({ kind: "text", text: "x" }, { kind: "finish", reason: "length" }));
    expect(await full.sample()).toMatchObject({ stopReason: "maxTokens" });
    async function* endless(): AsyncGenerator<ModelEvent> {
      for (;;) yield { kind: "text", text: "word " };
    }
    const deaf = desk("once", endless);
    expect(await deaf.sample()).toMatchObject({ stopReason: "maxTokens" });
    expect(deaf.used[0]?.outputTokens).toBe(100);
  });

  test("why the model failed is in the log, and not told to the server", async () => {
    async function* broken(): AsyncGenerator<ModelEvent> {
      yield { kind: "text", text: "x" };
      throw new TenonError("model.unauthorized", "key sk-123 was refused");
    }
    const { sample, world } = desk("once", broken);
    await expect(sample()).rejects.toMatchObject({
      code: -32_603,
      message: "the model could not answer (model.unauthorized)",
    });
    expect(world.logEntries.find(({ event }) => event === "sampling.failed")?.["error"]).toContain("was refused");
    await expect(desk("once", says({ kind: "text", text: "x" })).sample()).rejects.toThrow("broke off");
    await expect(desk("once", says({ kind: "finish", reason: "refusal" })).sample()).rejects.toThrow("declined");
  });

  test.each<[string, JsonObject]>([
    ["maxTokens", { maxTokens: 0 }],
    ["maxTokens", { maxTokens: "many" }],
    ["messages must be a list", { messages: [] }],
    ["messages must be a list", { messages: "hi" }],
    ["messages/0: it is no object", { messages: ["hi"] }],
    ["messages/0: its role", { messages: [{ role: "system", content: { type: "text", text: "x" } }] }],
    ["messages/0: its content", { messages: [{ role: "user", content: { type: "tool_result" } }] }],
    ["messages/0: it has no content", { messages: [{ role: "user", content: [] }] }],
    [
      "longer than the",
      {
        messages: [{ role: "user", content: { type: "text", text: "x".repeat(SESSION_LIMITS.sampling.maxChars + 1) } }],
      },
    ],
    ["more than the", { messages: Array.from({ length: SESSION_LIMITS.sampling.messages + 1 }, () => ({})) }],
    ["no tools in sampling", { tools: [{ name: "x" }] }],
  ])("what cannot be asked is refused with the reason, before anybody is asked: %s", async (reason, wrong) => {
    const { sample, asked } = desk("once");
    await expect(sample(params(wrong))).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining(reason),
    });
    expect(asked).toEqual([]);
  });
});

describe("the budget of a session", () => {
  test("so many questions and no more, over all servers, also those answered with no", async () => {
    const { sample, asked } = desk(async () => (asked.length % 2 === 0 ? "no" : "once"));
    for (let index = 0; index < SESSION_LIMITS.sampling.calls; index++)
      await sample(params(), `s${index}`).catch(() => {});
    await expect(sample()).rejects.toMatchObject({ message: expect.stringContaining("used up: 20 requests") });
    expect(asked).toHaveLength(SESSION_LIMITS.sampling.calls);
    expect(asked.at(-1)?.callsLeft).toBe(0);
  });

  test("tokens spent, as the provider counts them, leave less for the next, down to nothing", async () => {
    const { tokens } = SESSION_LIMITS.sampling;
    const usage = { inputTokens: tokens - 150, outputTokens: 100 };
    const { sample, requests } = desk(
      "once",
      says({ kind: "text", text: "x" }, { kind: "finish", reason: "stop", usage }),
    );
    await sample();
    await sample();
    expect(requests[1]?.maxOutputTokens).toBe(48);
    await expect(sample()).rejects.toThrow(`used up: ${tokens} tokens`);
  });

  test("what is under way counts in full until it is over", async () => {
    const half = { type: "text", text: "x".repeat(SESSION_LIMITS.sampling.tokens * 2) };
    const wish = params({ messages: [{ role: "user", content: half }] });
    const { sample } = desk("once");
    const first = sample(wish);
    await expect(sample(wish)).rejects.toThrow("used up");
    await first;
    expect(await sample(wish)).toMatchObject({ role: "assistant" });
  });
});

describe("over a connection", () => {
  const peerFor = (answer: SamplingAnswer) => {
    const world = nodeWorld({ env: {} });
    const model: Model = { id: "fake/model", stream: HI };
    const ports: SessionPorts = { ask: async () => "no", approveSampling: async () => answer };
    return { world, peer: samplingPeer({ world, model: () => model, ports: () => ports })("s") };
  };

  test("a server that asks in the middle of a call gets the model's words, or the protocol's no", async () => {
    for (const [answer, expected] of [
      ["once", '"text":"hi"'],
      ["no", "declined"],
    ] as const) {
      const ask = {
        name: "ask",
        reply: { kind: "ask_client", method: "sampling/createMessage", params: params() },
      } as const;
      const world = fakeWorld({ spawn: spawnsServer({ tools: [ask] }) });
      const { peer } = peerFor(answer);
      const spec = { kind: "stdio", name: "s", command: "/bin/server", args: [], env: {} } as const;
      const connection = new McpConnection(spec, { world, cwd: "/", client: { name: "t", version: "1" }, peer });
      connection.start();
      const outcome = await connection.call("ask", {}, { signal: never, onProgress: () => {} });
      expect(JSON.stringify(outcome).replaceAll("\\", "")).toContain(expected);
      const closing = connection.close();
      await world.advance(10_000);
      await closing;
    }
  });

  const everything = join(
    import.meta.dirname,
    "../../.cache/peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
  );

  test.runIf(existsSync(everything))(
    "server-everything's sampling tool works where the peers are installed",
    async () => {
      const { world, peer } = peerFor("once");
      const spec = { kind: "stdio", name: "e", command: process.execPath, args: [everything], env: {} } as const;
      await using connection = new McpConnection(spec, { world, cwd: "/", client: { name: "t", version: "1" }, peer });
      connection.start();
      await connection.tools.until((tools) => tools.some(({ name }) => /sampling/i.test(name)), never);
      const tool = connection.tools.value.find(({ name }) => /sampling/i.test(name))?.name ?? "";
      const outcome = await connection.call(
        tool,
        { prompt: "say hi", maxTokens: 50 },
        { signal: never, onProgress: () => {} },
      );
      expect(outcome).toMatchObject({ kind: "answered", isError: false });
      expect(JSON.stringify(outcome)).toContain("hi");
    },
  );
});
