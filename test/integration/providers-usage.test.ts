// What turns use and cost, and what providers have cached of them, measured by the provider itself.
import { expect } from "vitest";
import {
  type AnswerUsage,
  answerText,
  answerToolCall,
  type FormatName,
  type ProviderReply,
  type ProviderRequest,
} from "../../src/testing/lab/index.js";
import { onStage, type Stage } from "../scenarios/providers/stage.js";
import { conversationIn, resultsIn, TARGETS, toolNamesIn, toolsIn, unmarked } from "../scenarios/providers/target.js";
import { scenario } from "../scenarios/scenario.js";

/** Of every model call, in order. */
function usages(
  stage: Stage,
): readonly { inputTokens: number; cachedInputTokens?: number; cacheWriteTokens?: number }[] {
  return stage.events.items.flatMap((event) =>
    event.kind === "turn" && event.event.kind === "usage" ? [event.event.usage] : [],
  );
}

/** What a request has in common with the one before it was not paid for again. */
function expectCacheHits(stage: Stage): void {
  const all = usages(stage);
  expect(all.length).toBeGreaterThan(2);
  for (const [index, usage] of all.entries()) {
    const previous = all[index - 1];
    if (!previous) continue;
    expect(usage.cachedInputTokens, `request ${index} of ${JSON.stringify(all)}`).toBeGreaterThanOrEqual(
      Math.floor(previous.inputTokens * 0.95),
    );
  }
}

/** How the providers that have a form of their own for found tools are told of them. */
const NATIVE_SEARCH: Partial<Record<FormatName, RegExp>> = {
  anthropic: /"defer_loading":true.*"type":"tool_reference"|"type":"tool_reference".*"defer_loading":true/,
  "openai-responses": /"type":"tool_search_output"/,
};

for (const target of TARGETS) {
  const { name, format } = target;

  scenario(
    ["L3"],
    `${name}: what a model call used is told as the provider counted it, for the call and for the turn`,
    () =>
      onStage(target, async (stage) => {
        const first: AnswerUsage = {
          inputTokens: 1_000,
          outputTokens: 50,
          cachedInputTokens: 600,
          cacheWriteTokens: 300,
        };
        const second: AnswerUsage = {
          inputTokens: 1_200,
          outputTokens: 20,
          cachedInputTokens: 900,
          cacheWriteTokens: 100,
        };
        stage.provider.reply(
          { ...answerToolCall("mcp__s__echo", { text: "x" }), usage: first },
          { ...answerText("done"), usage: second },
        );
        const told = await stage.prompt("count");
        // Only Anthropic has and names what was written to its cache.
        const written = (tokens: number) => (format === "anthropic" ? { cacheWriteTokens: tokens } : {});
        expect(usages(stage)).toMatchObject([
          { inputTokens: 1_000, outputTokens: 50, cachedInputTokens: 600, ...written(300) },
          { inputTokens: 1_200, outputTokens: 20, cachedInputTokens: 900, ...written(100) },
        ]);
        expect(told.result?.usage).toMatchObject({
          inputTokens: 2_200,
          outputTokens: 70,
          cachedInputTokens: 1_500,
          ...written(400),
        });
        const hasPrice = target.model !== "openai-compatible/qwen3-vl";
        if (hasPrice) expect(told.result?.usage.costUsd).toBeGreaterThan(0);
        else expect(told.result?.usage.costUsd).toBeUndefined();
        stage.provider.reply({ ...answerText("more"), usage: { inputTokens: 100, outputTokens: 5 } });
        await stage.prompt("once more");
        const cost = await stage.prompt("/cost");
        expect(cost.text).toMatch(/2300 tokens in.*75 out/);
      }),
  );

  scenario(
    ["L4", "L3"],
    `${name}: over several turns with tools the beginning stays the same and the cache is hit`,
    () =>
      onStage(target, async (stage) => {
        for (let turn = 0; turn < 4; turn++) {
          stage.provider.reply(
            answerToolCall("mcp__s__echo", { text: `number ${turn}` }),
            answerText(`That was number ${turn}.`),
          );
          const told = await stage.prompt(`do number ${turn}, please`);
          expect(told.result?.stopReason).toBe("end_turn");
        }
        expectCacheHits(stage);
        const { requests } = stage.provider;
        const tools = requests.map((request) => JSON.stringify(unmarked(toolsIn(request))));
        expect(new Set(tools).size).toBe(1);
        for (const [index, request] of requests.entries()) {
          const before = unmarked(conversationIn(requests[Math.max(0, index - 1)] ?? request));
          expect(unmarked(conversationIn(request)).slice(0, before.length)).toEqual(before);
        }
        if (format !== "anthropic") return;
        for (const request of requests)
          expect(JSON.stringify(request.body)).toContain('"cache_control":{"type":"ephemeral"}');
        const last = usages(stage).at(-1);
        expect(last?.cacheWriteTokens, "what is new is written for the next request").toBeGreaterThan(0);
      }),
  );

  scenario(["L4"], `${name}: an answer with many calls does not lose the cache`, () =>
    onStage(target, async (stage) => {
      const calls = Array.from({ length: 30 }, (_, index) => ({
        kind: "tool_call" as const,
        name: "mcp__s__echo",
        arguments: { text: `call ${index}` },
      }));
      stage.provider.reply({ kind: "answer", parts: calls }, answerText("All done."), answerText("Yes."));
      await stage.prompt("thirty at once");
      await stage.prompt("really?");
      expect(resultsIn(await stage.provider.awaitRequest(1))).toHaveLength(30);
      expectCacheHits(stage);
    }),
  );

  scenario(["L16", "L4"], `${name}: a tool that was found by search is called, and nothing before it changes`, () =>
    onStage(
      target,
      async (stage) => {
        const found = "mcp__s__weather_forecast";
        const call = (request: ProviderRequest): ProviderReply =>
          isKnown(request, found)
            ? answerToolCall(found, { city: "Rome" })
            : answerToolCall("tenon_call_tool", { name: found, arguments: { city: "Rome" } });
        stage.provider.reply(answerText("Hello."));
        await stage.prompt("hello");
        expect(stage.provider.requests.flatMap(toolNamesIn)).not.toContain(found);
        let step = 0;
        stage.provider.replyWith((request) => {
          step += 1;
          if (step === 1)
            return {
              kind: "answer",
              parts: [
                {
                  kind: "tool_call",
                  name: "tenon_search_tools",
                  arguments: { query: "weather forecast for a city" },
                  isSearch: true,
                },
              ],
            };
          return step === 2 ? call(request) : answerText("It will rain in Rome.");
        });
        const told = await stage.prompt("what will the weather be?");
        expect(told.text).toBe("It will rain in Rome.");
        expect(told.turn.find((event) => event.kind === "call_ended" && event.toolCallId.endsWith("-2"))).toMatchObject(
          {
            outcome: { kind: "done" },
          },
        );
        expectCacheHits(stage);
        const native = NATIVE_SEARCH[format];
        if (native) expect(native.test(stage.requestTexts.at(-1) ?? ""), `the last request has ${native}`).toBe(true);
      },
      {
        load: { settings: { toolSearch: true } },
        servers: {
          s: {
            fillerTools: 150,
            tools: [
              {
                name: "weather_forecast",
                description: "Weather forecast for a city.",
                inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
                reply: { kind: "echo" },
              },
            ],
          },
        },
      },
    ),
  );
}

/** Whether the model could call the tool by its own name: it is listed, or a search of the conversation returned it. */
function isKnown(request: ProviderRequest, name: string): boolean {
  const inSearches = conversationIn(request).filter(({ type }) => type === "tool_search_output");
  return toolNamesIn(request).includes(name) || JSON.stringify(inSearches).includes(`"name":"${name}"`);
}
