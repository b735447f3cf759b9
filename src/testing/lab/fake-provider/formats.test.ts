// Each provider's stream as its documentation shows it, event by event, and its failures in its own shape.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import { type LeakCheck, leakCheck } from "../../kit/leaks.js";
import type { Fault } from "./format.js";
import { type FakeProvider, type FakeProviderOptions, fakeProvider } from "./provider.js";
import { type Answer, failWith } from "./reply.js";

type Name = "anthropic" | "chat" | "responses" | "gemini";

const KEYS = {
  "x-api-key": "k",
  authorization: "Bearer k",
  "x-goog-api-key": "k",
  "anthropic-version": "2023-06-01",
};

const tool = { type: "object", properties: { x: { type: "number" } } };
const TOOLS: Record<Name, JsonObject[]> = {
  anthropic: ["one", "two"].map((name) => ({ name, input_schema: tool })),
  chat: ["one", "two"].map((name) => ({ type: "function", function: { name, parameters: tool } })),
  responses: ["one", "two"].map((name) => ({ type: "function", name, parameters: tool })),
  gemini: [{ functionDeclarations: ["one", "two"].map((name) => ({ name, parameters: tool })) }],
};

const BODIES: Record<Name, JsonObject> = {
  anthropic: {
    model: "m",
    max_tokens: 100,
    thinking: { type: "adaptive", display: "summarized" },
    messages: [{ role: "user", content: "hi" }],
    tools: TOOLS.anthropic,
  },
  chat: {
    model: "m",
    stream_options: { include_usage: true },
    messages: [{ role: "user", content: "hi" }],
    tools: TOOLS.chat,
  },
  responses: {
    model: "m",
    store: false,
    include: ["reasoning.encrypted_content"],
    reasoning: { summary: "auto" },
    input: [{ role: "user", content: [{ type: "input_text", text: "hi" }] }],
    tools: TOOLS.responses,
  },
  gemini: {
    generationConfig: { thinkingConfig: { includeThoughts: true } },
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
    tools: TOOLS.gemini,
  },
};

let leaks: LeakCheck;
let provider: FakeProvider;

async function restart(options: FakeProviderOptions): Promise<void> {
  await provider[Symbol.asyncDispose]();
  provider = await fakeProvider(options);
}

beforeEach(async () => {
  leaks = await leakCheck();
  provider = await fakeProvider();
});

afterEach(async () => {
  await provider[Symbol.asyncDispose]();
  await leaks.verify();
});

function ask(name: Name, changes: JsonObject = {}): Promise<Response> {
  const paths: Record<Name, string> = {
    anthropic: "/v1/messages",
    chat: "/v1/chat/completions",
    responses: "/v1/responses",
    gemini: "/v1beta/models/g:streamGenerateContent?alt=sse",
  };
  const stream = name === "gemini" ? {} : { stream: true };
  return fetch(`${provider.origin}${paths[name]}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...KEYS },
    body: JSON.stringify({ ...BODIES[name], ...stream, ...changes }),
  });
}

async function events(response: Response): Promise<JsonObject[]> {
  const text = await response.text();
  return text
    .split(/\r?\n\r?\n/)
    .flatMap((event) => event.split(/\r?\n/).filter((line) => line.startsWith("data: ")))
    .flatMap((line) => {
      const data = parseJson(line.slice("data: ".length));
      return data.ok && isJsonObject(data.value) ? [data.value] : [];
    });
}

const ANSWER: Answer = {
  kind: "answer",
  parts: [
    { kind: "thought", text: "hm", chunks: 2 },
    { kind: "text", text: "hé🙂", splitAt: [1, 2] },
    { kind: "tool_call", name: "one", arguments: { x: 1 }, splitAt: [3] },
  ],
  usage: { inputTokens: 100, outputTokens: 7, cachedInputTokens: 60, cacheWriteTokens: 30, thoughtTokens: 2 },
};

const shape = (list: readonly JsonObject[]) => list.map((event) => event["type"]);

describe("a whole answer", () => {
  test("of Anthropic: blocks with their deltas, the signature last, usage at both ends", async () => {
    provider.reply(ANSWER);
    const seen = await events(await ask("anthropic"));
    const block = (...deltas: string[]) => ["content_block_start", ...deltas, "content_block_stop"];
    const deltas = (count: number) => Array.from({ length: count }, () => "content_block_delta");
    expect(shape(seen)).toEqual([
      "message_start",
      ...["content_block_start", "ping", ...deltas(3), "content_block_stop"],
      ...block(...deltas(3)),
      ...block(...deltas(3)),
      "message_delta",
      "message_stop",
    ]);
    expect(seen[0]).toMatchObject({
      message: { usage: { input_tokens: 10, cache_read_input_tokens: 60, cache_creation_input_tokens: 30 } },
    });
    expect(seen.map((event) => event["delta"]).filter((delta) => delta !== undefined)).toMatchObject([
      { type: "thinking_delta", thinking: "h" },
      { type: "thinking_delta", thinking: "m" },
      { type: "signature_delta" },
      { type: "text_delta", text: "h" },
      { type: "text_delta", text: "é" },
      { type: "text_delta", text: "🙂" },
      { type: "input_json_delta", partial_json: "" },
      { type: "input_json_delta", partial_json: '{"x' },
      { type: "input_json_delta", partial_json: '":1}' },
      { stop_reason: "tool_use" },
    ]);
  });

  test("of Chat Completions: deltas by index, usage in a chunk of its own, then the end mark", async () => {
    provider.reply(ANSWER);
    const response = await ask("chat");
    const text = await response.clone().text();
    const seen = await events(response);
    const deltas = seen.flatMap(({ choices }) => (Array.isArray(choices) ? choices : []));
    expect(deltas).toMatchObject([
      { delta: { role: "assistant", content: "" } },
      { delta: { reasoning_content: "h" } },
      { delta: { reasoning_content: "m" } },
      { delta: { content: "h" } },
      { delta: { content: "é" } },
      { delta: { content: "🙂" } },
      { delta: { tool_calls: [{ index: 0, type: "function", function: { name: "one", arguments: "" } }] } },
      { delta: { tool_calls: [{ index: 0, function: { arguments: '{"x' } }] } },
      { delta: { tool_calls: [{ index: 0, function: { arguments: '":1}' } }] } },
      { delta: {}, finish_reason: "tool_calls" },
    ]);
    expect(seen.at(-1)).toMatchObject({
      usage: { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 60 }, total_tokens: 107 },
    });
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("of Responses: numbered events, items opened and closed, the whole response last", async () => {
    provider.reply(ANSWER);
    const seen = await events(await ask("responses"));
    expect(seen.map((event) => event["sequence_number"])).toEqual(seen.map((_, index) => index));
    const text = Array.from({ length: 3 }, () => "response.output_text.delta");
    expect(shape(seen)).toEqual([
      ...["response.created", "response.in_progress"],
      ...["response.output_item.added", "response.reasoning_summary_part.added"],
      ...["response.reasoning_summary_text.delta", "response.reasoning_summary_text.delta"],
      ...["response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done"],
      ...["response.output_item.added", "response.content_part.added", ...text],
      ...["response.output_text.done", "response.content_part.done", "response.output_item.done"],
      ...["response.output_item.added", "response.function_call_arguments.delta"],
      ...["response.function_call_arguments.delta", "response.function_call_arguments.done"],
      ...["response.output_item.done", "response.completed"],
    ]);
    expect(seen.at(-1)).toMatchObject({
      response: {
        status: "completed",
        output: [{ type: "reasoning" }, { type: "message" }, { type: "function_call", arguments: '{"x":1}' }],
        usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 60 } },
      },
    });
  });

  test("of Gemini: parts, the signature on the first call, the reason to finish last", async () => {
    provider.reply(ANSWER);
    const seen = await events(await ask("gemini"));
    const candidates = seen.flatMap(({ candidates: list }) => (Array.isArray(list) ? list : []));
    expect(candidates).toMatchObject([
      { content: { parts: [{ text: "h", thought: true }] } },
      { content: { parts: [{ text: "m", thought: true }] } },
      { content: { parts: [{ text: "h" }] } },
      { content: { parts: [{ text: "é" }] } },
      { content: { parts: [{ text: "🙂" }] } },
      { content: { parts: [{ functionCall: { name: "one", args: { x: 1 } }, thoughtSignature: expect.any(String) }] } },
      { finishReason: "STOP" },
    ]);
    expect(seen.at(-1)).toMatchObject({
      usageMetadata: { promptTokenCount: 100, cachedContentTokenCount: 60, thoughtsTokenCount: 2 },
    });
  });

  test.each<[Name, JsonObject]>([
    ["anthropic", { thinking: { type: "adaptive" } }],
    ["responses", { reasoning: { effort: "high" } }],
    ["gemini", { generationConfig: {} }],
  ])("keeps its thoughts to itself where %s was not asked for them", async (name, changes) => {
    provider.reply(ANSWER);
    const text = await (await ask(name, changes)).text();
    expect(text).not.toMatch(/thinking_delta|summary_text|"thought":true/);
    expect(text).toContain("🙂");
  });
});

const FAULTS: readonly [Fault, Record<Name, readonly [number, RegExp]>][] = [
  [
    { kind: "unauthorized" },
    {
      anthropic: [401, /authentication_error/],
      chat: [401, /invalid_api_key/],
      responses: [401, /invalid_api_key/],
      gemini: [400, /API_KEY_INVALID/],
    },
  ],
  [
    { kind: "quota" },
    {
      anthropic: [400, /credit balance is too low/],
      chat: [429, /insufficient_quota/],
      responses: [429, /insufficient_quota/],
      gemini: [429, /PerDay/],
    },
  ],
  [
    { kind: "rate_limited", retryAfterS: 2 },
    {
      anthropic: [429, /rate_limit_error/],
      chat: [429, /rate_limit_exceeded/],
      responses: [429, /rate_limit_exceeded/],
      gemini: [429, /"retryDelay":"2s"/],
    },
  ],
  [
    { kind: "overloaded" },
    {
      anthropic: [529, /overloaded_error/],
      chat: [503, /overloaded/],
      responses: [503, /overloaded/],
      gemini: [503, /UNAVAILABLE/],
    },
  ],
  [
    { kind: "context_overflow", tokens: 9, limit: 8 },
    {
      anthropic: [400, /prompt is too long: 9 tokens > 8 maximum/],
      chat: [400, /context_length_exceeded/],
      responses: [400, /context_length_exceeded/],
      gemini: [400, /exceeds the maximum number of tokens/],
    },
  ],
  [
    { kind: "content_filter" },
    {
      anthropic: [400, /content filtering policy/],
      chat: [400, /invalid_prompt/],
      responses: [400, /invalid_prompt/],
      gemini: [200, /"blockReason":"PROHIBITED_CONTENT"/],
    },
  ],
  [
    { kind: "tool_schema", tool: "two" },
    {
      anthropic: [400, /tools\.1\.custom\.input_schema/],
      chat: [400, /function 'two'.*tools\[1\]\.function\.parameters/],
      responses: [400, /function 'two'.*tools\[1\]\.parameters/],
      gemini: [400, /function_declarations\[1\]/],
    },
  ],
  [
    { kind: "tool_schema" },
    {
      anthropic: [400, /^(?!.*tools\.\d)/],
      chat: [400, /^(?!.*tools\[)/],
      responses: [400, /^(?!.*tools\[)/],
      gemini: [400, /Request contains an invalid argument\./],
    },
  ],
];

describe.each<Name>(["anthropic", "chat", "responses", "gemini"])("a failure of %s", (name) => {
  test.each(FAULTS)("%o has its status and its words", async (fault, expected) => {
    provider.reply(failWith(fault));
    const response = await ask(name);
    const [status, words] = expected[name];
    expect(response.status).toBe(status);
    expect(await response.text()).toMatch(words);
    if (fault.kind === "rate_limited" && name !== "gemini") expect(response.headers.get("retry-after")).toBe("2");
  });

  test("inside a stream is an event of it, after which it ends", async () => {
    provider.reply({
      kind: "answer",
      parts: [
        { kind: "text", text: "so far" },
        { kind: "fault_inside", fault: { kind: "overloaded" } },
        { kind: "text", text: "never" },
      ],
    });
    const response = await ask(name);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toMatch(/so far[^]*overloaded/);
    expect(text).not.toContain("never");
  });

  test("that ends the stream early leaves out the end of the answer", async () => {
    provider.reply({
      kind: "answer",
      parts: [{ kind: "text", text: "one" }, { kind: "malformed" }, { kind: "ping" }, { kind: "end_early" }],
    });
    const text = await (await ask(name)).text();
    expect(text).toContain('{"this is": no JSON');
    expect(text).toMatch(/ping|keep-alive/);
    expect(text).not.toMatch(/message_stop|\[DONE\]|response\.completed|finishReason":"STOP/);
  });
});

test("arguments that are no JSON are what Gemini calls a malformed function call", async () => {
  provider.reply({ kind: "answer", parts: [{ kind: "tool_call", name: "one", arguments: "{x" }] });
  expect(await (await ask("gemini")).text()).toContain("MALFORMED_FUNCTION_CALL");
});

test("a torn stream holds the same bytes", async () => {
  await restart({ tearBytes: 3 });
  provider.reply(ANSWER);
  const seen = await events(await ask("chat"));
  expect(JSON.stringify(seen)).toContain("🙂");
});

test("what a request repeats of an earlier one counts as cached, where it is marked", async () => {
  provider.replyWith(() => ({ kind: "answer", parts: [{ kind: "text", text: "ok" }] }));
  const system = [{ type: "text", text: "s".repeat(400), cache_control: { type: "ephemeral" } }];
  const usage = async (changes: JsonObject) => {
    const [start] = await events(await ask("anthropic", changes));
    return start?.["message"];
  };
  expect(await usage({ system })).toMatchObject({ usage: { cache_read_input_tokens: 0 } });
  const second = await usage({ system, messages: [{ role: "user", content: "other" }] });
  expect(second).toMatchObject({ usage: { cache_creation_input_tokens: 0 } });
  expect(JSON.stringify(second)).toMatch(/"cache_read_input_tokens":[1-9]/);
  const changed = [{ ...system[0], text: "t".repeat(400) }];
  expect(await usage({ system: changed })).toMatchObject({ usage: { cache_read_input_tokens: 0 } });
  const unmarked = await usage({ system: "plain" });
  expect(unmarked).toMatchObject({ usage: { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 } });
});

test("models are listed in their maker's form", async () => {
  await restart({ models: [{ id: "m1", contextTokens: 1000, maxOutputTokens: 10 }] });
  const list = async (path: string, headers: Record<string, string> = {}) =>
    await (await fetch(`${provider.origin}${path}`, { headers })).json();
  expect(await list("/v1/models")).toMatchObject({ object: "list", data: [{ id: "m1", object: "model" }] });
  expect(await list("/v1/models", { "anthropic-version": "2023-06-01" })).toMatchObject({ data: [{ type: "model" }] });
  expect(await list("/v1beta/models")).toMatchObject({ models: [{ name: "models/m1", inputTokenLimit: 1000 }] });
});
