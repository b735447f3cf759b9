// The adapter and the OpenAI-compatible package against real HTTP: streams, refusals, broken answers, cancellation.
import { describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import { answerText, type FakeProvider, fakeProvider, gate, type ProviderReply } from "../testing/lab/index.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelTool } from "./model.js";
import { loadModel } from "./providers/providers.js";

const ID = "openai-compatible/some/model";

const user: ModelMessage = { role: "user", content: [{ type: "text", text: "Weather in Rome?" }] };
const tool: ModelTool = {
  name: "mcp__w__weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const request: ModelRequest = { system: "Be brief.", messages: [user], tools: [tool] };
const call = { kind: "tool_call", id: "call_1", name: tool.name, arguments: { city: "Rome" } } as const;

async function load(provider: FakeProvider): Promise<Model> {
  const env = { TENON_BASE_URL: provider.url, TENON_API_KEY: "k" };
  return await loadModel(ID, { env, fetch, settings: { images: true } });
}

async function collect(
  model: Model,
  asked: ModelRequest = request,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(asked, signal)) events.push(event);
  return events;
}

/** What is seen of an answer before it fails, and how it fails. */
async function failing(model: Model): Promise<{ seen: ModelEvent[]; error: TenonError }> {
  const seen: ModelEvent[] = [];
  try {
    for await (const event of model.stream(request, new AbortController().signal)) seen.push(event);
  } catch (thrown) {
    if (thrown instanceof TenonError) return { seen, error: thrown };
    throw thrown;
  }
  throw new Error(`expected a failure after ${JSON.stringify(seen)}`);
}

/** Events as they stand: objects as JSON, texts as they are. */
function stream(...events: readonly (object | string)[]): ProviderReply {
  const body = events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");
  return { kind: "raw", status: 200, contentType: "text/event-stream", body };
}

function chunk(delta: object, finish: string | null = null): object {
  return { id: "c", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] };
}

describe("an answer", () => {
  test("streams text, thoughts and a call; the request has key, system, prompt and tools", async () => {
    await using provider = await fakeProvider();
    provider.reply({
      kind: "answer",
      parts: [
        { kind: "thought", text: "hm" },
        { kind: "text", text: "Let me look.", chunks: 2 },
        { ...call, chunks: 3 },
      ],
      usage: { inputTokens: 20, outputTokens: 5, cachedInputTokens: 8 },
    });
    expect(await collect(await load(provider))).toMatchObject([
      { kind: "thought", text: "hm" },
      { kind: "text", text: "Let me" },
      { kind: "text", text: " look." },
      { kind: "tool_input", callId: "call_1", name: tool.name, delta: '{"cit' },
      { kind: "tool_input", callId: "call_1", name: tool.name, delta: 'y":"R' },
      { kind: "tool_input", callId: "call_1", name: tool.name, delta: 'ome"}' },
      { kind: "tool_call", call: { callId: "call_1", name: tool.name, argumentsJson: '{"city":"Rome"}' } },
      { kind: "finish", reason: "tool_calls", usage: { inputTokens: 20, outputTokens: 5, cachedInputTokens: 8 } },
    ]);
    expect(provider.requests).toMatchObject([
      {
        path: "/v1/chat/completions",
        headers: { authorization: "Bearer k" },
        body: {
          model: "some/model",
          stream: true,
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: "Weather in Rome?" },
          ],
          tools: [{ type: "function", function: { name: tool.name, parameters: tool.inputSchema } }],
        },
      },
    ]);
  });

  test("and its result go back, with a picture beside the result and not as text in it", async () => {
    await using provider = await fakeProvider();
    provider.reply(answerText("Sunny."));
    const picture = { type: "image", data: "aGVsbG8=", mimeType: "image/png" } as const;
    const made = { callId: "call_1", name: tool.name, argumentsJson: '{"city":"Rome"}' };
    const messages: ModelMessage[] = [
      user,
      { role: "assistant", text: "Let me look.", toolCalls: [made] },
      { role: "tool", results: [{ ...made, isError: false, content: [{ type: "text", text: "sunny" }, picture] }] },
    ];
    const events = await collect(await load(provider), { ...request, messages });
    expect(events).toMatchObject([
      { kind: "text", text: "Sunny." },
      { kind: "finish", reason: "stop" },
    ]);
    expect(provider.requests[0]?.body["messages"]).toMatchObject([
      { role: "system" },
      { role: "user" },
      {
        role: "assistant",
        content: "Let me look.",
        tool_calls: [{ id: "call_1", function: { name: tool.name, arguments: '{"city":"Rome"}' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "sunny\n[image image/png, 5 bytes]" },
      {
        role: "user",
        content: [{ type: "text" }, { type: "image_url", image_url: { url: "data:image/png;base64,aGVsbG8=" } }],
      },
    ]);
  });

  test("ends with its true reason: a call said to be a stop, a limit, a refusal", async () => {
    await using provider = await fakeProvider();
    provider.reply(
      { kind: "answer", parts: [call], finish: "stop" },
      { ...answerText("Once"), finish: "length" },
      { ...answerText("No"), finish: "refusal" },
    );
    const model = await load(provider);
    expect((await collect(model)).at(-1)).toMatchObject({ kind: "finish", reason: "tool_calls" });
    expect((await collect(model)).at(-1)).toMatchObject({ kind: "finish", reason: "length" });
    expect((await collect(model)).at(-1)).toMatchObject({ kind: "finish", reason: "refusal" });
  });
});

describe("a refusal", () => {
  test.each([
    [400, "model.invalid_request"],
    [401, "model.unauthorized"],
    [403, "model.unauthorized"],
    [404, "model.unknown"],
    [413, "model.context_overflow"],
    [429, "model.rate_limited"],
    [500, "model.unavailable"],
    [503, "model.overloaded"],
  ])("of %i fails with %s and says what the provider said", async (status, code) => {
    await using provider = await fakeProvider();
    provider.reply({ kind: "error", status, message: "because of this", headers: { "retry-after": "7" } });
    const { seen, error } = await failing(await load(provider));
    expect(seen).toEqual([]);
    expect(error.code).toBe(code);
    expect(error.message).toContain(ID);
    expect(error.message).toContain(`(${status}): because of this`);
    const waits = status === 429 || status === 503;
    expect(error.retryAfterMs).toBe(waits ? 7_000 : undefined);
    if (waits) expect(error.hint).toBe("Wait 7 s, then send the prompt again.");
    // Whether to ask again is for the caller to say.
    expect(provider.requests).toHaveLength(1);
  });

  test("by nobody, since nothing listens, fails as unavailable", async () => {
    const provider = await fakeProvider();
    const model = await load(provider);
    await provider[Symbol.asyncDispose]();
    const { error } = await failing(model);
    expect(error.code).toBe("model.unavailable");
    expect(error.hint).toBe(`Nothing listens at ${provider.url}: start the server, or correct the base URL.`);
  });
});

describe("a broken answer", () => {
  const half = chunk({ content: "Half" });
  const halfCall = chunk({
    tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "t", arguments: '{"a' } }],
  });

  test.each<[string, ProviderReply]>([
    ["loses its connection", { kind: "cut", parts: [{ kind: "text", text: "Half" }] }],
    ["ends early", stream(half)],
    ["ends inside a call", stream(half, halfCall)],
    ["holds no JSON", stream(half, "{nonsense")],
    ["holds another protocol", stream(half, { hello: "world" })],
    ["reports an error of no known kind", stream(half, { error: { message: "oh" } })],
  ])("that %s fails as a broken stream, and never with a call", async (_, reply) => {
    await using provider = await fakeProvider();
    provider.reply(reply);
    const { seen, error } = await failing(await load(provider));
    expect(error.code).toBe("model.broken_stream");
    expect(seen[0]).toEqual({ kind: "text", text: "Half" });
    expect(seen.map(({ kind }) => kind)).not.toContain("tool_call");
  });

  test("that is no stream at all fails as a broken stream", async () => {
    await using provider = await fakeProvider();
    provider.reply({ kind: "raw", status: 200, contentType: "text/html", body: "<html>Hello</html>" });
    expect((await failing(await load(provider))).error.code).toBe("model.broken_stream");
  });
});

describe("cancellation", () => {
  const reason = new Error("enough");

  test("before the answer begins leaves at once, with the signal's reason", async () => {
    await using provider = await fakeProvider();
    provider.reply({ kind: "answer", parts: [{ kind: "pause", until: gate().opened }] });
    const controller = new AbortController();
    const answer = collect(await load(provider), request, controller.signal);
    const asked = await provider.awaitRequest();
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
    await gone(asked.aborted);
  });

  test("within the answer leaves at once, and the provider sees it", async () => {
    await using provider = await fakeProvider();
    provider.reply({
      kind: "answer",
      parts: [
        { kind: "text", text: "Half" },
        { kind: "pause", until: gate().opened },
      ],
    });
    const controller = new AbortController();
    const model = await load(provider);
    const reading = async () => {
      for await (const event of model.stream(request, controller.signal))
        if (event.kind === "text") controller.abort(reason);
    };
    await expect(reading()).rejects.toBe(reason);
    await gone((await provider.awaitRequest()).aborted);
  });

  test("of a signal that aborted before sends nothing", async () => {
    await using provider = await fakeProvider();
    await expect(collect(await load(provider), request, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(provider.requests).toEqual([]);
  });

  test("by a reader who walks away closes the connection", async () => {
    await using provider = await fakeProvider();
    provider.reply({
      kind: "answer",
      parts: [
        { kind: "text", text: "Half" },
        { kind: "pause", until: gate().opened },
      ],
    });
    for await (const event of (await load(provider)).stream(request, new AbortController().signal)) {
      if (event.kind === "text") break;
    }
    await expect(gone((await provider.awaitRequest()).aborted)).resolves.toBeUndefined();
  });
});

async function gone(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
