// One table over every provider, through its real adapter and a server that speaks and refuses as the real one does.
import { describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import { answerText, type FakeProvider, type Fault, fakeProvider } from "../testing/lab/index.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelTool } from "./model.js";
import { loadModel } from "./providers/providers.js";

const IDS = [
  "anthropic/claude-sonnet-4-5",
  "anthropic/claude-sonnet-5-5",
  "openai/gpt-5.4",
  "openai-chat/gpt-5.4",
  "google/gemini-2.5-flash",
  "google/gemini-3.5-flash",
  "openai-compatible/gpt-4o",
] as const;

async function load(id: string, provider: FakeProvider): Promise<Model> {
  const env = {
    ANTHROPIC_API_KEY: "key-for-tests",
    ANTHROPIC_BASE_URL: provider.origin,
    OPENAI_API_KEY: "key-for-tests",
    OPENAI_BASE_URL: provider.url,
    GEMINI_API_KEY: "key-for-tests",
    GOOGLE_GEMINI_BASE_URL: provider.origin,
    TENON_BASE_URL: provider.url,
  };
  return await loadModel(id, { env, fetch, settings: { toolSearch: true } });
}

const user: ModelMessage = { role: "user", content: [{ type: "text", text: "Weather in Rome?" }] };
const schema = { type: "object", properties: { city: { type: "string" } } } as const;
const tools: readonly ModelTool[] = ["first", "second", "third"].map((name) => ({
  name,
  description: `The ${name} tool`,
  inputSchema: schema,
}));
const base: ModelRequest = { system: "Be brief.", messages: [user], tools };

async function collect(model: Model, request: ModelRequest): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  return events;
}

async function failing(model: Model, request: ModelRequest): Promise<TenonError> {
  const thrown = await collect(model, request).then(
    (events) => new Error(`expected a failure, got ${JSON.stringify(events)}`),
    (error: unknown) => error,
  );
  if (thrown instanceof TenonError) return thrown;
  throw thrown;
}

/** What an engine makes of an answer: kept as JSON, every call with a result. */
function continued(
  request: ModelRequest,
  events: readonly ModelEvent[],
  found: readonly string[] = [],
): ModelMessage[] {
  const toolCalls = events.flatMap((event) => (event.kind === "tool_call" ? [event.call] : []));
  const text = events.map((event) => (event.kind === "text" ? event.text : "")).join("");
  const finish = events.at(-1);
  const data = finish?.kind === "finish" && finish.providerData ? { providerData: finish.providerData } : {};
  const kept: typeof data = JSON.parse(JSON.stringify(data));
  const results = toolCalls.map(({ callId, name }) => ({
    callId,
    name,
    isError: false,
    content: [
      { type: "text", text: "sunny" },
      { type: "image", data: "aGVsbG8=", mimeType: "image/png" },
    ] as const,
    found,
  }));
  return [...request.messages, { role: "assistant", text, toolCalls, ...kept }, { role: "tool", results }];
}

describe.each(IDS)("%s", (id) => {
  test.each([undefined, "off", "low", "high"] as const)(
    "takes a conversation with thoughts, calls and pictures back, thinking %s",
    async (thinking) => {
      await using provider = await fakeProvider();
      provider.reply(
        {
          kind: "answer",
          parts: [
            { kind: "thought", text: "Rome is a city" },
            { kind: "text", text: "Let me look." },
            { kind: "tool_call", name: "first", arguments: { city: "Rome" }, chunks: 3 },
            { kind: "tool_call", name: "second", arguments: { city: "Oslo" } },
          ],
        },
        answerText("Sunny."),
      );
      const model = await load(id, provider);
      const request: ModelRequest = { ...base, cacheKey: "session", ...(thinking === undefined ? {} : { thinking }) };
      const first = await collect(model, request);
      const calls = first.flatMap((event) => (event.kind === "tool_call" ? [event.call] : []));
      expect(calls.map(({ name, argumentsJson }) => [name, JSON.parse(argumentsJson)])).toEqual([
        ["first", { city: "Rome" }],
        ["second", { city: "Oslo" }],
      ]);
      const written = first.flatMap((event) =>
        event.kind === "tool_input" && event.name === "first" ? [event.delta] : [],
      );
      expect(JSON.parse(written.join(""))).toEqual({ city: "Rome" });
      const second = await collect(model, { ...request, messages: continued(request, first) });
      expect(second.at(-1)).toMatchObject({
        kind: "finish",
        reason: "stop",
        usage: { inputTokens: expect.any(Number) },
      });
      expect(provider.refusals).toEqual([]);
      expect(provider.requests).toHaveLength(2);
    },
  );

  test.each<[Fault, string]>([
    [{ kind: "unauthorized" }, "model.unauthorized"],
    [{ kind: "quota" }, "model.quota"],
    [{ kind: "rate_limited", retryAfterS: 3 }, "model.rate_limited"],
    [{ kind: "overloaded" }, "model.overloaded"],
    [{ kind: "server_error" }, "model.unavailable"],
    [{ kind: "context_overflow", tokens: 300_000, limit: 200_000 }, "model.context_overflow"],
    [{ kind: "unknown_model" }, "model.unknown"],
    [{ kind: "tool_schema", tool: "second" }, "model.tool_refused"],
    [{ kind: "invalid", message: "something is wrong with the request" }, "model.invalid_request"],
  ])("that reports %j fails with %s", async (fault, code) => {
    await using provider = await fakeProvider();
    provider.reply({ kind: "fault", fault });
    const error = await failing(await load(id, provider), base);
    expect(error.code).toBe(code);
    expect(error.message).not.toContain("key-for-tests");
    if (fault.kind === "rate_limited") expect(error.retryAfterMs).toBe(3_000);
    if (fault.kind === "tool_schema") expect(error.refusedTools).toEqual(["second"]);
    expect(provider.requests).toHaveLength(1);
  });

  test("that blocks the prompt says so, and never with an empty answer", async () => {
    await using provider = await fakeProvider();
    provider.reply({ kind: "fault", fault: { kind: "content_filter" } });
    const model = await load(id, provider);
    const end = await collect(model, base).then(
      (events) => events.at(-1),
      (thrown: unknown) => (thrown instanceof TenonError ? thrown.code : thrown),
    );
    const isTold = end === "model.content_filter" || JSON.stringify(end).includes('"reason":"refusal"');
    expect([end, isTold]).toEqual([end, true]);
  });

  test("finds tools by a search, and is never refused for how they come back", async () => {
    await using provider = await fakeProvider();
    const [call, again] = ["weather", "time"].map((query) => ({
      kind: "answer" as const,
      parts: [{ kind: "tool_call" as const, name: "search", arguments: { city: query }, isSearch: true }],
    }));
    if (call === undefined || again === undefined) throw new Error("there are two");
    provider.reply(call, again, answerText("Done."));
    const model = await load(id, provider);
    const search: ModelTool = { name: "search", description: "Finds tools", inputSchema: schema, isSearch: true };
    const found = ["late", "later"].map(
      (name): ModelTool => ({ name, description: name, inputSchema: schema, isDeferred: true }),
    );
    const first: ModelRequest = { ...base, tools: [search, ...tools] };
    const events = await collect(model, first);
    const second: ModelRequest = {
      ...first,
      messages: continued(first, events, ["late"]),
      tools: [...first.tools, ...found.slice(0, 1)],
    };
    const more = await collect(model, second);
    const third: ModelRequest = {
      ...second,
      messages: continued(second, more, ["later", "late"]),
      tools: [...first.tools, ...found],
    };
    expect((await collect(model, third)).at(-1)).toMatchObject({ reason: "stop" });
    expect(provider.refusals).toEqual([]);
  });
});
