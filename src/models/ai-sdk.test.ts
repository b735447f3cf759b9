// The adapter against real HTTP: the provider packages talk to a small server that speaks their streams.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import { isJsonObject, type JsonObject } from "../base/json.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelTool } from "./model.js";
import { loadModel } from "./providers.js";

interface Received {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: JsonObject;
}

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Serves one answer after another; what was asked is in `received`. */
async function serve(
  ...answers: ((response: ServerResponse) => void)[]
): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body: JsonObject = JSON.parse(text);
      received.push({ path: request.url ?? "", headers: request.headers, body });
      answers[received.length - 1]?.(response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return { url: `http://127.0.0.1:${address.port}`, received };
}

function sse(...events: readonly (JsonObject | string)[]): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(line(event));
    response.end();
  };
}

function line(event: JsonObject | string): string {
  if (typeof event === "string") return `data: ${event}\n\n`;
  const name = typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "";
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

function refuse(
  status: number,
  body: JsonObject,
  headers: Record<string, string> = {},
): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

const KEYS = {
  ANTHROPIC_API_KEY: "k-anthropic",
  OPENAI_API_KEY: "k-openai",
  GEMINI_API_KEY: "k-gemini",
  TENON_API_KEY: "k",
};

function load(id: string, url: string): Promise<Model> {
  const env = {
    ...KEYS,
    ANTHROPIC_BASE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
    TENON_BASE_URL: `${url}/v1`,
    GOOGLE_GEMINI_BASE_URL: url,
  };
  return loadModel(id, { env, fetch });
}

const user: ModelMessage = { role: "user", content: [{ type: "text", text: "Weather in Rome?" }] };
const tool: ModelTool = {
  name: "mcp__w__weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

async function collect(
  model: Model,
  messages: readonly ModelMessage[] = [user],
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const request: ModelRequest = { system: "Be brief.", messages, tools: [tool] };
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, signal)) events.push(event);
  return events;
}

/** The assistant and tool messages that an engine would make of an answer with one call. */
function afterCall(
  events: readonly ModelEvent[],
  content: Extract<ModelMessage, { role: "user" }>["content"],
): ModelMessage[] {
  const text = events.map((event) => (event.kind === "text" ? event.text : "")).join("");
  const toolCalls = events.flatMap((event) => (event.kind === "tool_call" ? [event.call] : []));
  const finish = events.at(-1);
  const data =
    finish?.kind === "finish" && finish.providerData !== undefined ? { providerData: finish.providerData } : {};
  const results = toolCalls.map(({ callId, name }) => ({ callId, name, isError: false, content }));
  // Through JSON, as a journal would keep it.
  const kept: typeof data = JSON.parse(JSON.stringify(data));
  return [
    { role: "assistant", text, toolCalls, ...kept },
    { role: "tool", results },
  ];
}

async function failure(promise: Promise<unknown>): Promise<TenonError> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof TenonError)) throw new Error(`expected a TenonError, got ${String(thrown)}`);
  return thrown;
}

function list(value: JsonObject["x"]): JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : [];
}

const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const chatUsage = {
  id: "c1",
  choices: [],
  usage: { prompt_tokens: 20, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 8 } },
};
const chatCall = [
  chunk({ role: "assistant", reasoning_content: "hm" }),
  chunk({ content: "Let me " }),
  chunk({ content: "look." }),
  chunk({
    tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: tool.name, arguments: '{"ci' } }],
  }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: 'ty":"Rome"}' } }] }),
  chunk({}, "tool_calls"),
  chatUsage,
  "[DONE]",
];

describe("an OpenAI-compatible server", () => {
  test("streams text, thoughts and a call, and is asked with key, system, prompt and tools", async () => {
    const { url, received } = await serve(sse(...chatCall));
    const events = await collect(await load("openai-compatible/some/model", url));
    expect(events).toMatchObject([
      { kind: "thought", text: "hm" },
      { kind: "text", text: "Let me " },
      { kind: "text", text: "look." },
      { kind: "tool_call", call: { callId: "call_1", name: tool.name, argumentsJson: '{"city":"Rome"}' } },
      {
        kind: "finish",
        reason: "tool_calls",
        usage: { inputTokens: 20, outputTokens: 5, cachedInputTokens: 8 },
      },
    ]);
    expect(received[0]).toMatchObject({
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
    });
  });

  test("gets its call and the result back, with a picture beside it and not as text", async () => {
    const { url, received } = await serve(
      sse(...chatCall),
      sse(chunk({ content: "Sunny." }), chunk({}, "stop"), "[DONE]"),
    );
    const model = await load("openai-compatible/m", url);
    const first = await collect(model);
    const picture = { type: "image", data: "aGVsbG8=", mimeType: "image/png" } as const;
    const second = await collect(model, [user, ...afterCall(first, [{ type: "text", text: "sunny" }, picture])]);
    expect(second.at(-1)).toEqual({ kind: "finish", reason: "stop" });
    expect(list(received[1]?.body["messages"]).slice(2)).toMatchObject([
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

  test("finishes with a call even where it says stop, and with length where it was cut short", async () => {
    const call = { index: 0, id: "", type: "function", function: { name: tool.name, arguments: "{}" } };
    const { url } = await serve(
      sse(chunk({ tool_calls: [call] }), chunk({}, "stop"), "[DONE]"),
      sse(chunk({ content: "Once" }), chunk({}, "length"), "[DONE]"),
      sse(chunk({ content: "" }), chunk({}, "content_filter"), "[DONE]"),
    );
    const model = await load("openai-compatible/m", url);
    const called = await collect(model);
    expect(called).toMatchObject([{ kind: "tool_call", call: { name: tool.name } }, { reason: "tool_calls" }]);
    expect(called.flatMap((event) => (event.kind === "tool_call" ? [event.call.callId] : []))).not.toContain("");
    expect((await collect(model)).at(-1)).toMatchObject({ kind: "finish", reason: "length" });
    expect((await collect(model)).at(-1)).toMatchObject({ kind: "finish", reason: "refusal" });
  });

  test.each([
    [400, "model.invalid_request"],
    [401, "model.unauthorized"],
    [403, "model.unauthorized"],
    [404, "model.unknown"],
    [413, "model.invalid_request"],
    [429, "model.rate_limited"],
    [500, "model.unavailable"],
    [503, "model.unavailable"],
  ])("that answers %i fails with %s and says what the provider said", async (status, code) => {
    const { url } = await serve(refuse(status, { error: { message: "because of this" } }, { "retry-after": "7" }));
    const error = await failure(collect(await load("openai-compatible/m", url)));
    expect(error.code).toBe(code);
    expect(error.message).toContain(`openai-compatible/m`);
    expect(error.message).toContain(`(${status}): because of this`);
    if (status === 429) expect(error.hint).toBe("Wait 7 s, then send the prompt again.");
  });

  test("that is not there fails as unavailable", async () => {
    const { url } = await serve();
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
    expect(await failure(collect(await load("openai-compatible/m", url)))).toMatchObject({ code: "model.unavailable" });
  });

  test.each([
    ["ends early", sse(chunk({ content: "Half" }))],
    ["sends no JSON", sse(chunk({ content: "Half" }), "{nonsense")],
    ["sends another protocol", sse(chunk({ content: "Half" }), { hello: "world" })],
    [
      "loses the connection",
      (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(line(chunk({ content: "Half" })), () => response.destroy());
      },
    ],
    [
      "is cut inside a call",
      sse(chunk({ tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "t", arguments: '{"a' } }] })),
    ],
  ])("that %s fails as a broken stream, and never with a call", async (_, answer) => {
    const { url } = await serve(answer);
    const model = await load("openai-compatible/m", url);
    const seen: ModelEvent[] = [];
    const reading = async () => {
      const request = { system: "", messages: [user], tools: [tool] };
      for await (const event of model.stream(request, new AbortController().signal)) seen.push(event);
    };
    expect(await failure(reading())).toMatchObject({ code: "model.broken_stream" });
    expect(seen.filter(({ kind }) => kind !== "text")).toEqual([]);
  });

  test("is left at once when the signal aborts, before and within the answer, and sees its connection closed", async () => {
    const closed: Promise<void>[] = [];
    const hang = (isStarted: boolean) => (response: ServerResponse) => {
      closed.push(new Promise((resolve) => response.on("close", resolve)));
      if (!isStarted) return asked.abort(reason);
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write(line(chunk({ content: "Half" })));
    };
    const reason = new Error("enough");
    const asked = new AbortController();
    const { url } = await serve(hang(false), hang(true));
    const model = await load("openai-compatible/m", url);
    await expect(collect(model, [user], asked.signal)).rejects.toBe(reason);
    const reading = new AbortController();
    const read = async () => {
      const request = { system: "", messages: [user], tools: [] };
      for await (const event of model.stream(request, reading.signal)) if (event.kind === "text") reading.abort(reason);
    };
    await expect(read()).rejects.toBe(reason);
    expect(closed).toHaveLength(2);
    await Promise.all(closed);
  });

  test("sees its connection closed when the reader walks away", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const { url } = await serve((response) => {
      response.on("close", resolve);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(line(chunk({ content: "Half" })));
    });
    const model = await load("openai-compatible/m", url);
    const request = { system: "", messages: [user], tools: [] };
    for await (const event of model.stream(request, new AbortController().signal)) if (event.kind === "text") break;
    await closed;
  });
});

const started: JsonObject = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 30, output_tokens: 1, cache_read_input_tokens: 12, cache_creation_input_tokens: 0 },
  },
};
const block = (index: number, content: JsonObject, ...deltas: JsonObject[]): JsonObject[] => [
  { type: "content_block_start", index, content_block: content },
  ...deltas.map((delta): JsonObject => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];
const stopped = (reason: string): JsonObject[] => [
  { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];
const claudeCall = sse(
  started,
  ...block(
    0,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking: "Rome is " },
    { type: "thinking_delta", thinking: "a city." },
    { type: "signature_delta", signature: "signed" },
  ),
  ...block(1, { type: "text", text: "" }, { type: "text_delta", text: "Let me look." }),
  ...block(
    2,
    { type: "tool_use", id: "toolu_1", name: tool.name, input: {} },
    { type: "input_json_delta", partial_json: '{"city":' },
    { type: "input_json_delta", partial_json: '"Rome"}' },
  ),
  ...stopped("tool_use"),
);

describe("Anthropic", () => {
  test("streams thoughts, text and a call, and gets the signed thought back in its place", async () => {
    const { url, received } = await serve(
      claudeCall,
      sse(
        started,
        ...block(0, { type: "text", text: "" }, { type: "text_delta", text: "Sunny." }),
        ...stopped("end_turn"),
      ),
    );
    const model = await load("anthropic/claude-sonnet-5-5", url);
    const first = await collect(model);
    expect(first).toMatchObject([
      { kind: "thought", text: "Rome is " },
      { kind: "thought", text: "a city." },
      { kind: "text", text: "Let me look." },
      { kind: "tool_call", call: { callId: "toolu_1", name: tool.name, argumentsJson: '{"city":"Rome"}' } },
      { kind: "finish", reason: "tool_calls", usage: { outputTokens: 9, cachedInputTokens: 12 } },
    ]);
    const picture = { type: "image", data: "aGVsbG8=", mimeType: "image/png" } as const;
    const second = await collect(model, [user, ...afterCall(first, [{ type: "text", text: "sunny" }, picture])]);
    expect(second).toMatchObject([
      { kind: "text", text: "Sunny." },
      { kind: "finish", reason: "stop" },
    ]);
    expect(received[0]).toMatchObject({ path: "/v1/messages", headers: { "x-api-key": "k-anthropic" } });
    expect(received[1]?.body).toMatchObject({
      system: [{ type: "text", text: "Be brief." }],
      cache_control: { type: "ephemeral" },
      messages: [
        { role: "user" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Rome is a city.", signature: "signed" },
            { type: "text", text: "Let me look." },
            { type: "tool_use", id: "toolu_1", name: tool.name, input: { city: "Rome" } },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: [
                { type: "text", text: "sunny\n[image image/png, 5 bytes]" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "aGVsbG8=" } },
              ],
            },
          ],
        },
      ],
    });
  });

  test("is not sent the signed thoughts of another model", async () => {
    const { url, received } = await serve(claudeCall, sse(started, ...stopped("end_turn")));
    const first = await collect(await load("anthropic/claude-sonnet-5-5", url));
    await collect(await load("anthropic/claude-opus-5-5", url), [
      user,
      ...afterCall(first, [{ type: "text", text: "x" }]),
    ]);
    const [, assistant] = list(received[1]?.body["messages"]);
    expect(list(assistant?.["content"]).map((part) => part["type"])).toEqual(["text", "tool_use"]);
  });

  test("gets pictures and files of a prompt, and failed results marked as errors", async () => {
    const { url, received } = await serve(sse(started, ...stopped("refusal")));
    const prompt: ModelMessage = {
      role: "user",
      content: [
        { type: "text", text: "Look:" },
        { type: "image", data: "aGVsbG8=", mimeType: "image/jpeg" },
        { type: "image", data: "aGVsbG8=", mimeType: "image/tiff" },
        { type: "resource", uri: "file:///a.txt", text: "words" },
        { type: "resource", uri: "file:///a.pdf", mimeType: "application/pdf", blob: "aGVsbG8=" },
        { type: "resource_link", uri: "file:///b", name: "b" },
      ],
    };
    const call = { callId: "t1", name: tool.name, argumentsJson: '{"city":' };
    const messages: ModelMessage[] = [
      prompt,
      { role: "assistant", text: "", toolCalls: [call] },
      { role: "tool", results: [{ ...call, isError: true, content: [{ type: "text", text: "bad JSON" }] }] },
    ];
    const events = await collect(await load("anthropic/claude-sonnet-5-5", url), messages);
    expect(events).toMatchObject([{ kind: "finish", reason: "refusal" }]);
    expect(received[0]?.body["messages"]).toMatchObject([
      {
        content: [
          { type: "text", text: "Look:" },
          { type: "image", source: { media_type: "image/jpeg", data: "aGVsbG8=" } },
          { type: "text", text: "[image image/tiff, 5 bytes]" },
          { type: "text", text: '<resource uri="file:///a.txt">\nwords\n</resource>' },
          { type: "document", source: { media_type: "application/pdf" } },
          { type: "text", text: "[b](file:///b)" },
        ],
      },
      { content: [{ type: "tool_use", input: { invalid_json: '{"city":' } }] },
      { content: [{ type: "tool_result", tool_use_id: "t1", content: "bad JSON", is_error: true }] },
    ]);
  });

  test.each([
    ["overloaded_error", "model.unavailable"],
    ["rate_limit_error", "model.rate_limited"],
    ["invalid_request_error", "model.invalid_request"],
    ["something_new", "model.broken_stream"],
  ])("that reports %s within its stream fails with %s", async (type, code) => {
    const { url } = await serve(
      sse(started, ...block(0, { type: "text", text: "" }, { type: "text_delta", text: "Half" }), {
        type: "error",
        error: { type, message: "told within" },
      }),
    );
    const error = await failure(collect(await load("anthropic/claude-sonnet-5-5", url)));
    expect(error).toMatchObject({ code });
    expect(error.message).toContain("told within");
  });

  test("that ends without its last message fails as a broken stream", async () => {
    const { url } = await serve(
      sse(started, ...block(0, { type: "text", text: "" }, { type: "text_delta", text: "Half" })),
    );
    const error = await failure(collect(await load("anthropic/claude-sonnet-5-5", url)));
    expect(error).toMatchObject({ code: "model.broken_stream" });
    expect(error.message).toContain("broke off");
  });

  test("that refuses the key says so", async () => {
    const { url } = await serve(
      refuse(401, { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } }),
    );
    expect(await failure(collect(await load("anthropic/claude-sonnet-5-5", url)))).toMatchObject({
      code: "model.unauthorized",
      message: "anthropic/claude-sonnet-5-5 refused the key (401): invalid x-api-key",
    });
  });
});
