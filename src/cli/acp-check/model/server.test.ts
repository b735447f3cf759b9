// The model over HTTP, in the protocol of each provider: a call, its result, the end of the turn.
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import { IMAGE_DATA } from "../test-servers.js";
import { instructionText } from "./conversation.js";
import { ModelServer } from "./server.js";

const INSTRUCTION = instructionText({ turn: "t1", words: ["echo1"] });
const NAME = "mcp__srv__echo1";
const SCHEMA = { type: "object", properties: {} };
const IMAGE_URL = `data:image/png;base64,${IMAGE_DATA}`;

interface Provider {
  readonly format: string;
  readonly path: string;
  readonly streamPath?: string;
  readonly ask: JsonObject;
  readonly after: JsonObject;
}

const chatTools = [{ type: "function", function: { name: NAME, parameters: SCHEMA } }];
const chatCall = { id: "c", type: "function", function: { name: NAME, arguments: "{}" } };
const anthropicTools = [{ name: NAME, input_schema: SCHEMA }];
const geminiTools = [{ functionDeclarations: [{ name: NAME, parameters: SCHEMA }] }];
const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: IMAGE_DATA } };

const PROVIDERS: readonly Provider[] = [
  {
    format: "openai chat",
    path: "/v1/chat/completions",
    ask: { model: "check", tools: chatTools, messages: [{ role: "user", content: INSTRUCTION }] },
    after: {
      tools: chatTools,
      messages: [
        { role: "user", content: [{ type: "text", text: INSTRUCTION }] },
        { role: "assistant", content: null, tool_calls: [chatCall] },
        { role: "tool", tool_call_id: "c", content: "ok" },
        { role: "user", content: [{ type: "image_url", image_url: { url: IMAGE_URL } }] },
      ],
    },
  },
  {
    format: "openai responses",
    path: "/v1/responses",
    ask: { tools: [{ type: "function", name: NAME, parameters: SCHEMA }], input: INSTRUCTION },
    after: {
      tools: [{ type: "function", name: NAME, parameters: SCHEMA }],
      input: [
        { role: "user", content: [{ type: "input_text", text: INSTRUCTION }] },
        { type: "function_call", call_id: "c", name: NAME, arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: [{ type: "input_image", image_url: IMAGE_URL }] },
      ],
    },
  },
  {
    format: "anthropic messages",
    path: "/v1/messages",
    ask: { tools: anthropicTools, messages: [{ role: "user", content: INSTRUCTION }] },
    after: {
      tools: anthropicTools,
      messages: [
        { role: "user", content: [{ type: "text", text: INSTRUCTION }] },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: NAME, input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: [picture] }] },
      ],
    },
  },
  {
    format: "gemini",
    path: "/v1beta/models/check:generateContent",
    streamPath: "/v1beta/models/check:streamGenerateContent?alt=sse",
    ask: { tools: geminiTools, contents: [{ role: "user", parts: [{ text: INSTRUCTION }] }] },
    after: {
      tools: geminiTools,
      contents: [
        { role: "user", parts: [{ text: INSTRUCTION }] },
        { role: "model", parts: [{ functionCall: { name: NAME, args: {} } }] },
        {
          role: "user",
          parts: [{ functionResponse: { name: NAME, response: {} } }, { inlineData: { data: IMAGE_DATA } }],
        },
      ],
    },
  },
];

async function post(url: string, body: JsonValue): Promise<string> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return await response.text();
}

test.each(PROVIDERS)("$format: calls the tool, whole and streamed, and ends after its result", async (provider) => {
  const { format, path, streamPath = path, ask, after } = provider;
  await using model = await ModelServer.open();
  const whole = await post(`${model.origin}${path}`, ask);
  expect(JSON.parse(whole)).toBeTypeOf("object");
  expect(whole).toContain(NAME);
  const streamed = await post(`${model.origin}${streamPath}`, { ...ask, stream: true });
  const events = streamed.split("\n").filter((line) => line.startsWith("data: {"));
  for (const event of events) expect(() => JSON.parse(event.slice("data: ".length))).not.toThrow();
  expect(streamed).toContain(NAME);
  const end = await post(`${model.origin}${path}`, after);
  expect(end).toContain("done with turn t1");
  expect(end).not.toContain(NAME);
  expect(model.requestsOf("t1")).toEqual([
    { format, turn: "t1", tools: [NAME], hasImage: false, called: NAME },
    { format, turn: "t1", tools: [NAME], hasImage: false, called: NAME },
    { format, turn: "t1", tools: [NAME], hasImage: true },
  ]);
});

test("lists its one model, and says what it does not know", async () => {
  await using model = await ModelServer.open();
  expect(await (await fetch(`${model.url}/models`)).json()).toMatchObject({ data: [{ id: "check" }] });
  const unknown = await fetch(`${model.url}/embeddings`, { method: "POST", body: "{}" });
  expect(unknown.status).toBe(404);
  expect(await unknown.text()).toContain("POST /v1/embeddings");
});
