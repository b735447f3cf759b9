// The lists of providers: what each of them really answers, asked once, and never in the way.
import { describe, expect, test } from "vitest";
import { createDeadline } from "../../base/async/deadline.js";
import type { JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { Fetch } from "../../base/ports/world.js";
import { MODEL_LIMITS } from "../limits.js";
import { ModelLists } from "../providers/lists.js";
import { loadModel } from "../providers/providers.js";

interface Asked {
  readonly url: string;
  readonly headers: Headers;
}

/** A world whose clock stands still until `expire` is called. */
function world(answer: (url: URL) => Response | Promise<Response>) {
  const asked: Asked[] = [];
  const timers = new Map<() => void, number>();
  const fetch: Fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input));
    asked.push({ url: url.href, headers: new Headers(init?.headers) });
    return await answer(url);
  };
  const deadline = (timeoutMs: number, parent?: AbortSignal) =>
    createDeadline(
      (delayMs, run) => {
        timers.set(run, delayMs);
        return { clear: () => timers.delete(run) };
      },
      timeoutMs,
      parent,
    );
  const expire = () => {
    for (const run of [...timers.keys()]) run();
  };
  return { fetch, deadline, asked, timers, expire };
}

function json(body: JsonValue, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}

describe("a provider's list", () => {
  test("of Anthropic's is followed over its pages, with what each model can do", async () => {
    const pages: Record<string, JsonValue> = {
      "": {
        data: [
          {
            type: "model",
            id: "claude-next",
            display_name: "Claude Next",
            max_input_tokens: 2_000_000,
            max_tokens: 256_000,
            capabilities: {
              image_input: { supported: true },
              pdf_input: { supported: false },
              thinking: { supported: true },
            },
          },
        ],
        has_more: true,
        last_id: "claude-next",
      },
      "claude-next": {
        data: [{ id: "claude-sonnet-5-5", display_name: "Sonnet" }, { nonsense: 1 }, null],
        has_more: false,
      },
    };
    const { asked, ...given } = world((url) => json(pages[url.searchParams.get("after_id") ?? ""] ?? null));
    const models = await new ModelLists(given).list("anthropic", { ANTHROPIC_API_KEY: "k" });
    expect(models).toMatchObject([
      {
        id: "anthropic/claude-next",
        title: "Claude Next",
        abilities: { contextTokens: 2_000_000, maxOutputTokens: 256_000, images: true, pdf: false },
      },
      { id: "anthropic/claude-sonnet-5-5", abilities: { contextTokens: 1_000_000, price: { inputPerMTok: 2 } } },
    ]);
    expect(models[0]?.abilities.thinking).toContain("high");
    expect(asked[0]?.url).toBe("https://api.anthropic.com/v1/models?limit=1000");
    expect(asked[0]?.headers.get("x-api-key")).toBe("k");
  });

  test("of Gemini's has those that can answer", async () => {
    const { asked, ...given } = world(() =>
      json({
        models: [
          {
            name: "models/gemini-new",
            displayName: "New",
            inputTokenLimit: 500,
            outputTokenLimit: 50,
            supportedGenerationMethods: ["generateContent"],
            thinking: true,
          },
          { name: "models/embed", supportedGenerationMethods: ["embedContent"] },
        ],
      }),
    );
    const models = await new ModelLists(given).list("google", { GEMINI_API_KEY: "g" });
    expect(models).toMatchObject([
      { id: "google/gemini-new", abilities: { contextTokens: 500, maxOutputTokens: 50, thinking: ["low", "high"] } },
    ]);
    expect(asked[0]?.headers.get("x-goog-api-key")).toBe("g");
  });

  test.each<[string, JsonValue, object]>([
    [
      "OpenRouter",
      {
        id: "x",
        context_length: 1_000,
        top_provider: { context_length: 900, max_completion_tokens: 90 },
        architecture: { input_modalities: ["text", "image", "file"] },
        supported_parameters: ["tools", "reasoning"],
        pricing: { prompt: "0.000002", completion: "0.00001", input_cache_read: "0.0000002" },
      },
      {
        contextTokens: 900,
        maxOutputTokens: 90,
        images: true,
        pdf: true,
        audio: false,
        thinking: ["low", "medium", "high"],
        price: { inputPerMTok: 2, outputPerMTok: 10, cacheReadPerMTok: 0.2 },
      },
    ],
    ["vLLM", { id: "x", max_model_len: 4_096 }, { contextTokens: 4_096 }],
    [
      "Groq",
      { id: "x", context_window: 131_072, max_completion_tokens: 8_192 },
      { contextTokens: 131_072, maxOutputTokens: 8_192 },
    ],
    [
      "Mistral",
      { id: "x", max_context_length: 32_000, capabilities: { vision: true } },
      { contextTokens: 32_000, images: true },
    ],
    ["LM Studio", { id: "x", max_context_length: 32_000, loaded_context_length: 4_000 }, { contextTokens: 4_000 }],
    [
      "llama.cpp, which knows what it was trained on,",
      { id: "x", meta: { n_ctx_train: 99_999 } },
      { contextTokens: LIMITS.context.unknownTokens },
    ],
    [
      "one that lies",
      { id: "x", context_length: "many", pricing: { prompt: "-1", completion: "x" } },
      { contextTokens: LIMITS.context.unknownTokens },
    ],
  ])("of %s tells what it can", async (_, entry, abilities) => {
    const env = { TENON_BASE_URL: "http://127.0.0.1:9/v1" };
    const [model] = await new ModelLists(world(() => json({ data: [entry] }))).list("openai-compatible", env);
    expect(model).toMatchObject({ id: "openai-compatible/x", abilities });
  });

  test("is asked for once per key, and again after a failure", async () => {
    let status = 401;
    const given = world(() => json({ error: { message: "bad key sk-0123456789abcdef" }, data: [] }, status));
    const lists = new ModelLists(given);
    const failed = lists.list("openai", { OPENAI_API_KEY: "one" });
    await expect(failed).rejects.toMatchObject({ code: "model.unauthorized" });
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining("0123456789") });
    status = 200;
    await Promise.all([
      lists.list("openai", { OPENAI_API_KEY: "one" }),
      lists.list("openai", { OPENAI_API_KEY: "one" }),
    ]);
    await lists.list("openai", { OPENAI_API_KEY: "one" });
    expect(given.asked).toHaveLength(2);
    await lists.list("openai", { OPENAI_API_KEY: "two" });
    expect(given.asked).toHaveLength(3);
    expect(given.timers.size).toBe(0);
  });

  test("of nobody, without a key, or that is none, fails with words", async () => {
    const lists = new ModelLists(world(() => new Response("<html>")));
    await expect(lists.list("nobody", {})).rejects.toMatchObject({ code: "model.unknown" });
    await expect(lists.list("openai", {})).rejects.toMatchObject({ code: "model.unauthorized" });
    await expect(lists.list("openai", { OPENAI_API_KEY: "k" })).rejects.toMatchObject({ code: "model.broken_stream" });
  });

  test("whose pages never end is ended", async () => {
    const given = world(() => json({ models: [], nextPageToken: "again" }));
    await new ModelLists(given).list("google", { GEMINI_API_KEY: "g" });
    expect(given.asked).toHaveLength(MODEL_LIMITS.model.listMaxPages);
  });
});

describe("loading a model that the table does not know", () => {
  const env = { TENON_BASE_URL: "http://127.0.0.1:9/v1" };

  test("asks the provider what it can do, below what the person says", async () => {
    const given = world(() =>
      json({ data: [{ id: "mine", max_model_len: 4_096, architecture: { input_modalities: ["image"] } }] }),
    );
    const options = { env, fetch: given.fetch, lists: new ModelLists(given) };
    expect((await loadModel("openai-compatible/mine", options)).abilities).toMatchObject({
      contextTokens: 4_096,
      images: true,
    });
    const said = await loadModel("openai-compatible/mine", { ...options, settings: { images: false } });
    expect(said.abilities).toMatchObject({ contextTokens: 4_096, images: false });
    expect(said.accepts?.("image/png")).toBe(false);
    expect(given.asked).toHaveLength(1);
  });

  test("asks nobody where it is known, or where the person says it", async () => {
    const given = world(() => json({}));
    const options = { env: { ...env, OPENAI_API_KEY: "o" }, fetch: given.fetch, lists: new ModelLists(given) };
    await loadModel("openai/gpt-5", options);
    await loadModel("openai-compatible/mine", { ...options, settings: { contextTokens: 8_000 } });
    expect(given.asked).toEqual([]);
  });

  test("goes on with little where the provider cannot be asked, or does not answer in time", async () => {
    const down = world(() => Promise.reject(new TypeError("fetch failed")));
    const model = await loadModel("openai-compatible/mine", { env, fetch: down.fetch, lists: new ModelLists(down) });
    expect(model.abilities).toMatchObject({ contextTokens: LIMITS.context.unknownTokens, images: false });
    const silent = world(() => new Promise<Response>(() => {}));
    const loading = loadModel("openai-compatible/mine", { env, fetch: silent.fetch, lists: new ModelLists(silent) });
    while (silent.asked.length === 0) await Promise.resolve();
    expect([...silent.timers.values()]).toEqual([MODEL_LIMITS.model.listTimeoutMs]);
    silent.expire();
    expect((await loading).abilities?.contextTokens).toBe(LIMITS.context.unknownTokens);
  });
});
