// Found tools: named with the result that found them, offered behind all others, and only where the model takes them so.
import { expect, test } from "vitest";
import { answers, callsWith, modelOf, run } from "../../test/scripted-turn.js";
import { testSource, testTool } from "../../test/tool-source.js";
import type { Model, ModelRequest } from "../models/index.js";
import { fakeWorld } from "../testing/index.js";
import { SessionCatalog } from "../tools/index.js";
import { Transcript } from "./transcript.js";
import { TokenMeter } from "./turn.js";

const ABILITIES = { contextTokens: 100_000, images: false, audio: false, pdf: false, thinking: [] } as const;

async function searching(abilities: NonNullable<Model["abilities"]>): Promise<readonly ModelRequest[]> {
  const filler = Array.from({ length: 150 }, (_, index) => `filler_${index}`);
  const source = testSource("s", [...filler, testTool("weather_forecast", { description: "Weather of a city." })]);
  const catalog = new SessionCatalog();
  catalog.add(source);
  await catalog.startPrompt("hello", new AbortController().signal);
  const script = [
    callsWith(["tenon_search_tools", '{"query":"weather forecast","limit":1}']),
    callsWith(["mcp__s__weather_forecast", "{}"]),
    answers("rain"),
  ];
  const model = modelOf((request, signal, index) => (script[index] ?? answers("more"))(request, signal), { abilities });
  const transcript = new Transcript();
  const shared = { transcript, meter: new TokenMeter(), world: fakeWorld(), offer: () => catalog.offer() };
  expect((await run(model, shared)).end.stopReason).toBe("end_turn");
  await run(model, { ...shared, number: 2 });
  expect(source.calls.map(({ tool }) => tool)).toEqual(["weather_forecast"]);
  return model.requests;
}

test("a tool found by search goes behind all others, and its result names it, turn after turn", async () => {
  const [before, ...after] = await searching({ ...ABILITIES, toolSearch: "anthropic" });
  expect(before?.tools.filter(({ isSearch }) => isSearch).map(({ name }) => name)).toEqual(["tenon_search_tools"]);
  expect(before?.tools.some(({ name }) => name.includes("weather"))).toBe(false);
  expect(after).toHaveLength(3);
  for (const { tools, messages } of after) {
    expect(tools.slice(0, -1)).toEqual(before?.tools);
    expect(tools.at(-1)).toMatchObject({ name: "mcp__s__weather_forecast", isDeferred: true });
    expect(messages.find(({ role }) => role === "tool")).toMatchObject({
      results: [{ name: "tenon_search_tools", found: ["mcp__s__weather_forecast"] }],
    });
  }
});

test("for a model that does not take them so, the offered tools stay as they are", async () => {
  const [before, ...after] = await searching(ABILITIES);
  for (const { tools } of after) expect(tools).toEqual(before?.tools);
  expect(after).toHaveLength(3);
});
