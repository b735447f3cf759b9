// Found tools in the providers' own way, through their real adapters: what stands before the search never changes.
import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import type { Fetch } from "../base/ports/world.js";
import type { Model, ModelEvent, ModelMessage, ModelTool } from "./model.js";
import { loadModel, type ModelSettings } from "./providers/providers.js";

/** Answers every request with the same events; what was asked is in `asked`. */
function provider(events: readonly JsonObject[]): { fetch: Fetch; asked: JsonObject[] } {
  const asked: JsonObject[] = [];
  const body = events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const fetch: Fetch = async (_, init) => {
    const sent: JsonObject = JSON.parse(typeof init?.body === "string" ? init.body : "{}");
    asked.push(sent);
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  return { fetch, asked };
}

const SEARCH = "tenon_search_tools";
const object = { type: "object", properties: { city: { type: "string" } } } as const;
const search: ModelTool = { name: SEARCH, description: "Finds tools", inputSchema: object, isSearch: true };
const always: ModelTool = { name: "always", description: "Always there", inputSchema: object };
const weather: ModelTool = { name: "weather", description: "Weather", inputSchema: object, isDeferred: true };
const other: ModelTool = { name: "other", description: "Another", inputSchema: object, isDeferred: true };

const user: ModelMessage = { role: "user", content: [{ type: "text", text: "Weather?" }] };

async function ask(
  model: Model,
  messages: readonly ModelMessage[],
  tools: readonly ModelTool[],
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  const { signal } = new AbortController();
  for await (const event of model.stream({ system: "S", messages, tools }, signal)) events.push(event);
  return events;
}

/** The conversation after an answer with a search, as an engine keeps it. */
function searched(events: readonly ModelEvent[], found: readonly string[] | undefined): ModelMessage[] {
  const toolCalls = events.flatMap((event) => (event.kind === "tool_call" ? [event.call] : []));
  const [data] = events.flatMap((event) => (event.kind === "finish" ? [event.providerData] : []));
  const kept: { providerData?: JsonObject } =
    data === undefined ? {} : JSON.parse(JSON.stringify({ providerData: data }));
  const results = toolCalls.map(({ callId, name }) => ({
    callId,
    name,
    isError: false,
    content: [{ type: "text", text: "1 tool found: weather" } as const],
    ...(found === undefined ? {} : { found }),
  }));
  return [user, { role: "assistant", text: "", toolCalls, ...kept }, { role: "tool", results }];
}

function list(body: JsonObject | undefined, key: string): readonly JsonObject[] {
  const value = body?.[key];
  const values: readonly JsonValue[] = Array.isArray(value) ? value : [];
  return values.filter((entry) => isJsonObject(entry));
}

describe("Anthropic", () => {
  const call = { type: "tool_use", id: "toolu_1", name: SEARCH, input: {} };
  const events: JsonObject[] = [
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "c",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: call },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"query":"weather"}' } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ];
  const load = async (fetch: Fetch, settings?: ModelSettings, url = "") =>
    await loadModel("anthropic/claude-sonnet-4-5", {
      env: { ANTHROPIC_API_KEY: "a", ANTHROPIC_BASE_URL: url },
      fetch,
      settings,
    });

  test("gets a reference in the result, and the tool behind the others, deferred", async () => {
    const { fetch, asked } = provider(events);
    const model = await load(fetch);
    expect(model.abilities?.toolSearch).toBe("anthropic");
    const first = await ask(model, [user], [search, always]);
    await ask(model, searched(first, ["weather", "stranger", "always"]), [search, always, weather]);
    const [before, after] = asked.map((body) => list(body, "tools"));
    expect(after?.slice(0, 2)).toEqual(before);
    expect(after?.[1]).toMatchObject({ name: "always", cache_control: { type: "ephemeral" } });
    expect(after?.[2]).toMatchObject({ name: "weather", defer_loading: true });
    expect(after?.[2]).not.toHaveProperty("cache_control");
    expect(list(asked[1], "messages").at(-1)?.["content"]).toMatchObject([
      { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "tool_reference", tool_name: "weather" }] },
    ]);
  });

  test("gets a tool that no result names like any other", async () => {
    const { fetch, asked } = provider(events);
    await ask(await load(fetch), [user], [search, weather]);
    expect(list(asked[0], "tools")[1]).not.toHaveProperty("defer_loading");
  });

  test.each<[string, ModelSettings | undefined, string]>([
    ["at another address", undefined, "http://127.0.0.1:9"],
    ["where the person says no", { toolSearch: false }, ""],
  ])("gets words and an ordinary tool %s", async (_, settings, url) => {
    const { fetch, asked } = provider(events);
    const model = await load(fetch, settings, url);
    expect(model.abilities?.toolSearch).toBeUndefined();
    await ask(model, searched(await ask(model, [user], [search]), ["weather"]), [search, weather]);
    expect(list(asked[1], "tools")[1]).not.toHaveProperty("defer_loading");
    expect(JSON.stringify(asked[1])).toContain("1 tool found: weather");
  });

  test("gets references at another address where the person says so", async () => {
    const model = await load(provider(events).fetch, { toolSearch: true }, "http://127.0.0.1:9");
    expect(model.abilities?.toolSearch).toBe("anthropic");
  });
});

describe("OpenAI", () => {
  const item = {
    type: "tool_search_call",
    id: "tsc_1",
    execution: "client",
    call_id: "call_1",
    status: "completed",
    arguments: { query: "weather" },
  };
  const events: JsonObject[] = [
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "m" } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", arguments: {} } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { usage: { input_tokens: 7, output_tokens: 3 } } },
  ];
  const load = async (fetch: Fetch) => await loadModel("openai/gpt-6.1-sol", { env: { OPENAI_API_KEY: "o" }, fetch });

  test("searches by a call of its own, and gets the definitions with the result only", async () => {
    const { fetch, asked } = provider(events);
    const model = await load(fetch);
    const first = await ask(model, [user], [search, always]);
    expect(first).toMatchObject([
      { kind: "tool_call", call: { callId: "call_1", name: SEARCH, argumentsJson: '{"query":"weather"}' } },
      { kind: "finish", reason: "tool_calls" },
    ]);
    await ask(model, searched(first, ["weather"]), [search, always, weather, other]);
    const [before, after] = asked.map((body) => list(body, "tools"));
    expect(before).toMatchObject([
      { type: "tool_search", execution: "client", description: "Finds tools", parameters: object },
      { type: "function", name: "always" },
    ]);
    // One that no result names has to be somewhere.
    expect(after).toEqual([...(before ?? []), expect.objectContaining({ name: "other" })]);
    expect(list(asked[1], "input").slice(-2)).toMatchObject([
      { type: "tool_search_call", id: "tsc_1", call_id: "call_1", arguments: { query: "weather" } },
      {
        type: "tool_search_output",
        execution: "client",
        call_id: "call_1",
        tools: [{ type: "function", name: "weather", description: "Weather", parameters: object, defer_loading: true }],
      },
    ]);
  });

  test("hears what a search that found nothing says", async () => {
    const { fetch, asked } = provider(events);
    const model = await load(fetch);
    await ask(model, searched(await ask(model, [user], [search]), undefined), [search]);
    expect(list(asked[1], "input").slice(-2)).toMatchObject([
      { type: "tool_search_output", tools: [] },
      { role: "user", content: [{ type: "input_text" }, { text: "1 tool found: weather" }] },
    ]);
  });

  test("gets functions only after a search that another model made", async () => {
    const { fetch, asked } = provider(events);
    const foreign = searched(
      [{ kind: "tool_call", call: { callId: "toolu_9", name: SEARCH, argumentsJson: "{}" } }],
      ["weather"],
    );
    await ask(await load(fetch), foreign, [search, weather]);
    expect(list(asked[0], "tools")).toMatchObject([
      { type: "function", name: SEARCH },
      { type: "function", name: "weather" },
    ]);
    expect(list(asked[0], "input").at(-1)).toMatchObject({ type: "function_call_output", call_id: "toolu_9" });
  });

  test("has no such search in the chat protocol, nor in models that came before it", async () => {
    const env = { OPENAI_API_KEY: "o" };
    const { fetch } = provider(events);
    expect((await loadModel("openai-chat/gpt-6.1-sol", { env, fetch })).abilities?.toolSearch).toBeUndefined();
    expect((await loadModel("openai/gpt-5.1", { env, fetch })).abilities?.toolSearch).toBeUndefined();
  });
});
