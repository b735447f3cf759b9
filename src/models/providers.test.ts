// Which model is chosen, what is needed to load it, and what each provider gets back of its own.
import { describe, expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import type { JsonObject } from "../base/json/json.js";
import type { Fetch } from "../base/ports/world.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelTool } from "./model.js";
import { type LoadOptions, loadModel, OFFLINE_MODEL_ID, resolveModelId } from "./providers/providers.js";

describe("the model that is meant", () => {
  const keys = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o", GEMINI_API_KEY: "g" };

  test("is the flag's, then the environment's, then that of the first provider with a key, then the offline one", () => {
    expect(resolveModelId({ flag: "a/b", env: { ...keys, TENON_MODEL: "c/d" } })).toBe("a/b");
    expect(resolveModelId({ env: { ...keys, TENON_MODEL: " c/d " } })).toBe("c/d");
    expect(resolveModelId({ env: keys })).toMatch(/^anthropic\//);
    expect(resolveModelId({ env: { ...keys, ANTHROPIC_API_KEY: undefined } })).toMatch(/^openai\//);
    expect(resolveModelId({ env: { GEMINI_API_KEY: "g" } })).toMatch(/^google\//);
    expect(resolveModelId({ env: {} })).toBe("offline/operator");
  });

  test("is not taken from what is empty, nor from a key that is for compatible servers only", () => {
    const env = { TENON_MODEL: "", ANTHROPIC_API_KEY: " ", TENON_API_KEY: "k", TENON_BASE_URL: "http://127.0.0.1:1" };
    expect(resolveModelId({ flag: "", env })).toBe(OFFLINE_MODEL_ID);
  });
});

const noFetch: Fetch = () => Promise.reject(new Error("nothing may be fetched"));

async function refusal(id: string, env: Record<string, string> = {}): Promise<TenonError> {
  const thrown = await loadModel(id, { env, fetch: noFetch }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof TenonError)) throw new Error(`expected a TenonError for ${id}, got ${String(thrown)}`);
  return thrown;
}

describe("loading", () => {
  test.each(["claude", "nobody/model", "anthropic/", "/model", "", "constructor/x", "offline/other"])(
    "refuses %j and says what there is",
    async (id) => {
      const error = await refusal(id);
      expect(error.code).toBe("model.unknown");
      expect(error.message).toContain(`There is no model "${id}"`);
      expect(error.message).toContain("anthropic, openai, openai-chat, google, openai-compatible; or offline/operator");
    },
  );

  test.each([
    ["anthropic/x", "ANTHROPIC_API_KEY"],
    ["openai/x", "OPENAI_API_KEY"],
    ["openai-chat/x", "OPENAI_API_KEY"],
    ["gemini/x", "GEMINI_API_KEY"],
    ["google/x", "GEMINI_API_KEY"],
  ])("refuses %s without its key, and says which", async (id, variable) => {
    const error = await refusal(id, { [variable]: " " });
    expect(error.code).toBe("model.unauthorized");
    expect(error.message).toBe(`${id} needs a key: ${variable} is not set.`);
    expect(error.hint).toContain(`Set ${variable}`);
  });

  test("refuses a compatible server without a URL, or with a wrong one", async () => {
    const missing = await refusal("openai-compatible/x");
    expect(missing).toMatchObject({ code: "model.unknown" });
    expect(missing.message).toContain("TENON_BASE_URL or OPENAI_BASE_URL is not set");
    const wrong = await refusal("openai-compatible/x", { TENON_BASE_URL: "localhost:11434" });
    expect(wrong.message).toContain("no http or https URL: localhost:11434");
  });

  test("asks nobody, and gives the model under the name that was asked for", async () => {
    const env = {
      ANTHROPIC_API_KEY: "a",
      OPENAI_API_KEY: "o",
      GEMINI_API_KEY: "g",
      OPENAI_BASE_URL: "http://127.0.0.1:1",
    };
    for (const id of ["anthropic/x", "openai/x", "google/x", "openai-compatible/org/x:latest", OFFLINE_MODEL_ID]) {
      expect((await loadModel(id, { env, fetch: noFetch })).id).toBe(id);
    }
  });
});

interface Asked {
  readonly url: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

/** A provider that streams the same events to everybody; what was asked is in `asked`. */
function streaming(events: readonly object[]): { fetch: Fetch; asked: Asked[] } {
  const asked: Asked[] = [];
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const fetch: Fetch = async (input, init) => {
    const sent: JsonObject = JSON.parse(typeof init?.body === "string" ? init.body : "{}");
    asked.push({
      url: input instanceof Request ? input.url : String(input),
      headers: new Headers(init?.headers),
      body: sent,
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  return { fetch, asked };
}

const user: ModelMessage = { role: "user", content: [{ type: "text", text: "Weather?" }] };
const tool: ModelTool = {
  name: "weather",
  description: "Weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
};

async function ask(model: Model, messages: readonly ModelMessage[]): Promise<ModelEvent[]> {
  return await read(model.stream({ system: "S", messages, tools: [tool] }, new AbortController().signal));
}

async function read(stream: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** The conversation after an answer with a call, the provider's data kept as a journal keeps it. */
function continued(events: readonly ModelEvent[]): ModelMessage[] {
  const toolCalls = events.flatMap((event) => (event.kind === "tool_call" ? [event.call] : []));
  const [providerData] = events.flatMap((event) => (event.kind === "finish" ? [event.providerData] : []));
  const kept: JsonObject = JSON.parse(JSON.stringify(providerData));
  const results = toolCalls.map((call) => ({
    ...call,
    isError: false,
    content: [{ type: "text", text: "sunny" } as const],
  }));
  return [user, { role: "assistant", text: "", toolCalls, providerData: kept }, { role: "tool", results }];
}

describe("OpenAI", () => {
  const reasoning = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Rome" }] };
  const called = {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "weather",
    arguments: '{"city":"Rome"}',
  };
  const events = [
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "m" } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "reasoning", id: "rs_1", encrypted_content: null },
    },
    { type: "response.reasoning_summary_text.delta", item_id: "rs_1", summary_index: 0, delta: "Rome" },
    { type: "response.output_item.done", output_index: 0, item: { ...reasoning, encrypted_content: "sealed" } },
    { type: "response.output_item.added", output_index: 1, item: { ...called, arguments: "" } },
    { type: "response.output_item.done", output_index: 1, item: { ...called, status: "completed" } },
    { type: "response.completed", response: { usage: { input_tokens: 7, output_tokens: 3 } } },
  ];

  test("keeps nothing stored, and gets its sealed thoughts back before the call they led to", async () => {
    const { fetch, asked } = streaming(events);
    const model = await loadModel("openai/gpt-6.1-sol", { env: { OPENAI_API_KEY: "o\n" }, fetch });
    const first = await ask(model, [user]);
    expect(first).toMatchObject([
      { kind: "thought", text: "Rome" },
      { kind: "tool_call", call: { callId: "call_1", name: "weather", argumentsJson: '{"city":"Rome"}' } },
      { kind: "finish", reason: "tool_calls", usage: { inputTokens: 7, outputTokens: 3 } },
    ]);
    await ask(model, continued(first));
    expect(asked[1]?.url).toBe("https://api.openai.com/v1/responses");
    expect(asked[1]?.headers.get("authorization")).toBe("Bearer o");
    expect(asked[1]?.body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    expect(asked[1]?.body["input"]).toMatchObject([
      { role: "developer", content: "S" },
      { role: "user" },
      { type: "reasoning", encrypted_content: "sealed", summary: [{ text: "Rome" }] },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Rome"}' },
      { type: "function_call_output", call_id: "call_1", output: "sunny" },
    ]);
  });

  test("that breaks off without a word about the end fails as a broken stream", async () => {
    const { fetch } = streaming(events.slice(0, -1));
    const model = await loadModel("openai/gpt-6.1-sol", { env: { OPENAI_API_KEY: "o" }, fetch });
    await expect(ask(model, [user])).rejects.toMatchObject({ code: "model.broken_stream" });
  });
});

describe("a request", () => {
  const chatEvents = [
    { id: "c", created: 1, model: "m", choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] },
  ];
  const env = { OPENAI_API_KEY: "o", TENON_BASE_URL: "http://127.0.0.1:9/v1" };
  const { signal } = new AbortController();

  async function sent(id: string, request: Partial<ModelRequest>, options: Partial<LoadOptions> = {}): Promise<Asked> {
    const { fetch, asked } = streaming(chatEvents);
    const model = await loadModel(id, { env, fetch, ...options });
    const whole: ModelRequest = { system: "S", messages: [user], tools: [], ...request };
    // Only what is asked is looked at here: the answer is of the chat protocol for all.
    await read(model.stream(whole, signal)).catch(() => []);
    const [first] = asked;
    if (first === undefined) throw new Error("nothing was asked");
    return first;
  }

  test("to OpenAI carries the key of its conversation for the cache, no longer than it takes", async () => {
    const long = await sent("openai/gpt-5", { cacheKey: "s".repeat(100) });
    expect(long.body["prompt_cache_key"]).toBe("s".repeat(64));
    expect((await sent("openai-chat/gpt-5", { cacheKey: "s" })).body["prompt_cache_key"]).toBe("s");
    expect((await sent("openai-compatible/x", { cacheKey: "s" })).body).not.toHaveProperty("prompt_cache_key");
  });

  test("of the chat protocol goes to its own address", async () => {
    expect((await sent("openai-chat/gpt-5", {})).url).toBe("https://api.openai.com/v1/chat/completions");
    expect((await sent("openai/gpt-5", {})).url).toBe("https://api.openai.com/v1/responses");
  });

  test("asks for no longer an answer than the model gives, and for the person's own limit else", async () => {
    const most = await sent("openai/gpt-5", { maxOutputTokens: 9_000_000 });
    expect(most.body["max_output_tokens"]).toBe(128_000);
    const settings = { maxOutputTokens: 500 };
    expect((await sent("openai/gpt-5", {}, { settings })).body["max_output_tokens"]).toBe(500);
    expect((await sent("openai/gpt-5", { maxOutputTokens: 7 }, { settings })).body["max_output_tokens"]).toBe(7);
    expect((await sent("openai/gpt-5", {})).body).not.toHaveProperty("max_output_tokens");
  });

  test("thinks as it says, else as the configuration says, else as the provider likes", async () => {
    const both = await sent("openai/gpt-5.4", { thinking: "low" }, { thinking: "high" });
    expect(both.body["reasoning"]).toEqual({ effort: "low", summary: "auto" });
    expect((await sent("openai/gpt-5.4", {}, { thinking: "high" })).body["reasoning"]).toMatchObject({
      effort: "high",
    });
    expect((await sent("openai/gpt-5.4", {})).body).not.toHaveProperty("reasoning");
  });

  test("names what the model does not take", async () => {
    const content = [
      { type: "image", data: "aGVsbG8=", mimeType: "image/png" },
      { type: "audio", data: "aGVsbG8=", mimeType: "audio/wav" },
      { type: "resource", uri: "file:///a.pdf", mimeType: "application/pdf", blob: "aGVsbG8=" },
    ] as const;
    const messages: ModelMessage[] = [{ role: "user", content }];
    const blind = JSON.stringify((await sent("openai-compatible/llama3.1", { messages })).body["messages"]);
    expect(blind).toContain("[image image/png, 5 bytes]");
    expect(blind).toContain("[audio audio/wav, 5 bytes]");
    expect(blind).toContain("[resource file:///a.pdf, 5 bytes]");
    expect(blind).not.toContain("aGVsbG8=");
    const settings = { images: true, audio: true, pdf: true };
    const seeing = await sent("openai-compatible/llama3.1", { messages }, { settings });
    expect(seeing.body["messages"]).toMatchObject([
      {},
      { content: [{ type: "image_url" }, { type: "input_audio" }, { type: "file", file: { filename: "a.pdf" } }] },
    ]);
  });

  test("that is sent on elsewhere ends there, and the key with it", async () => {
    const asked: string[] = [];
    const fetch: Fetch = async (input, init) => {
      asked.push(`${input instanceof Request ? input.url : String(input)} ${init?.redirect}`);
      return new Response(null, { status: 307, headers: { location: "https://u:p@elsewhere.example/v1?key=s" } });
    };
    const model = await loadModel("openai/gpt-5", { env, fetch });
    await expect(ask(model, [user])).rejects.toMatchObject({
      code: "model.unavailable",
      message: expect.stringMatching(/redirects \(307\) to https:\/\/elsewhere\.example\/v1\.$/),
    });
    expect(asked).toEqual(["https://api.openai.com/v1/responses manual"]);
  });
});

describe("Gemini", () => {
  const events = [
    { candidates: [{ content: { parts: [{ text: "Rome", thought: true }] } }] },
    {
      candidates: [
        {
          content: {
            parts: [{ functionCall: { name: "weather", args: { city: "Rome" } }, thoughtSignature: "signed" }],
          },
          finishReason: "STOP",
        },
      ],
      usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
    },
  ];

  test("gets its signature back on the call it belongs to", async () => {
    const { fetch, asked } = streaming(events);
    const model = await loadModel("google/gemini-pro-latest", { env: { GEMINI_API_KEY: "g" }, fetch });
    const first = await ask(model, [user]);
    expect(first).toMatchObject([
      { kind: "thought", text: "Rome" },
      { kind: "tool_input", name: "weather", delta: '{"city":"Rome"}' },
      { kind: "tool_call", call: { name: "weather", argumentsJson: '{"city":"Rome"}' } },
      { kind: "finish", reason: "tool_calls", usage: { inputTokens: 7, outputTokens: 3 } },
    ]);
    await ask(model, continued(first));
    expect(asked[1]?.url).toContain("/v1beta/models/gemini-pro-latest:streamGenerateContent");
    expect(asked[1]?.headers.get("x-goog-api-key")).toBe("g");
    expect(asked[1]?.body["contents"]).toMatchObject([
      { role: "user" },
      {
        role: "model",
        parts: [
          { text: "Rome", thought: true },
          { functionCall: { name: "weather", args: { city: "Rome" } }, thoughtSignature: "signed" },
        ],
      },
      { role: "user", parts: [{ functionResponse: { name: "weather", response: { content: "sunny" } } }] },
    ]);
  });

  test("that blocks a prompt refuses, and one that breaks off fails", async () => {
    const load = async (sent: readonly object[]) =>
      await loadModel("google/x", { env: { GEMINI_API_KEY: "g" }, fetch: streaming(sent).fetch });
    const blocked = await load([{ promptFeedback: { blockReason: "SAFETY" } }]);
    expect((await ask(blocked, [user])).at(-1)).toMatchObject({ kind: "finish", reason: "refusal", detail: "SAFETY" });
    await expect(ask(await load(events.slice(0, 1)), [user])).rejects.toMatchObject({ code: "model.broken_stream" });
  });
});
