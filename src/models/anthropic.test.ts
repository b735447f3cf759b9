// The adapter and Anthropic's package against real HTTP: a small server that speaks their stream.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import type { JsonObject } from "../base/json/json.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelTool } from "./model.js";
import { loadModel } from "./providers/providers.js";

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

function sse(...events: readonly JsonObject[]): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(line(event));
    response.end();
  };
}

function line(event: JsonObject): string {
  return `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`;
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

async function load(url: string): Promise<Model> {
  return await loadModel(ID, { env: { ANTHROPIC_API_KEY: "k-anthropic", ANTHROPIC_BASE_URL: url }, fetch });
}

const ID = "anthropic/claude-sonnet-5-5";

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
    const model = await load(url);
    const first = await collect(model);
    expect(first).toMatchObject([
      { kind: "thought", text: "Rome is " },
      { kind: "thought", text: "a city." },
      { kind: "text", text: "Let me look." },
      { kind: "tool_input", callId: "toolu_1", name: tool.name, delta: '{"city":' },
      { kind: "tool_input", callId: "toolu_1", name: tool.name, delta: '"Rome"}' },
      { kind: "tool_call", call: { callId: "toolu_1", name: tool.name, argumentsJson: '{"city":"Rome"}' } },
      {
        kind: "finish",
        reason: "tool_calls",
        usage: {
          inputTokens: 42,
          outputTokens: 9,
          cachedInputTokens: 12,
          cacheWriteTokens: 0,
          costUsd: expect.closeTo((30 * 2 + 12 * 0.1 + 9 * 10) / 1e6, 12),
        },
      },
    ]);
    const picture = { type: "image", data: "aGVsbG8=", mimeType: "image/png" } as const;
    const second = await collect(model, [user, ...afterCall(first, [{ type: "text", text: "sunny" }, picture])]);
    expect(second).toMatchObject([
      { kind: "text", text: "Sunny." },
      { kind: "finish", reason: "stop" },
    ]);
    expect(received[0]).toMatchObject({ path: "/v1/messages", headers: { "x-api-key": "k-anthropic" } });
    expect(received[1]?.body).toMatchObject({
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      tools: [{ name: tool.name, cache_control: { type: "ephemeral" } }],
      thinking: { type: "adaptive", display: "summarized" },
      messages: [
        { role: "user", content: [{ type: "text", cache_control: { type: "ephemeral" } }] },
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
              cache_control: { type: "ephemeral" },
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

  test.each([
    ["overloaded_error", "model.overloaded"],
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
    const error = await failure(collect(await load(url)));
    expect(error).toMatchObject({ code });
    expect(error.message).toContain("told within");
  });

  test("that ends without its last message fails as a broken stream", async () => {
    const { url } = await serve(
      sse(started, ...block(0, { type: "text", text: "" }, { type: "text_delta", text: "Half" })),
    );
    const error = await failure(collect(await load(url)));
    expect(error).toMatchObject({ code: "model.broken_stream" });
    expect(error.message).toContain("broke off");
  });

  test("that refuses the key says so", async () => {
    const { url } = await serve(
      refuse(401, { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } }),
    );
    expect(await failure(collect(await load(url)))).toMatchObject({
      code: "model.unauthorized",
      message: "anthropic/claude-sonnet-5-5 refused the key (401): invalid x-api-key",
    });
  });
});
