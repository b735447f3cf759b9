// The models one may change to: those there are keys for, by any name, and nothing is loaded by looking.
import { expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import { fakeWorld } from "../testing/index.js";
import { ModelLists } from "./providers/lists.js";
import { type AvailableModels, availableModels } from "./providers/providers.js";

function available(
  env: Record<string, string>,
  given: { first?: string; named?: readonly string[] } = {},
): {
  made: AvailableModels;
  loaded: string[];
} {
  const world = fakeWorld({ env });
  const loaded: string[] = [];
  const made = availableModels({
    first: "offline/operator",
    ...given,
    env,
    fetch: world.fetch,
    lists: new ModelLists(world),
    known: () => ({ thinking: ["low"] }),
    load: async (id) => {
      loaded.push(id);
      throw new TenonError("model.unavailable", "not here");
    },
  });
  return { made, loaded };
}

test("without a key there is the offline model", () => {
  expect(available({}).made.ids).toEqual(["offline/operator"]);
});

test("a key brings its provider's usual models; what was named comes first, if it can be used", () => {
  const named = ["openai/gpt-x", "anthropic/claude-of-mine", "nonsense"];
  const { made, loaded } = available({ ANTHROPIC_API_KEY: "sk" }, { first: "anthropic/claude-sonnet-5-5", named });
  expect(made.ids.slice(0, 3)).toEqual([
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-of-mine",
    "anthropic/claude-opus-5-5",
  ]);
  expect(made.ids.filter((id) => id.startsWith("openai/"))).toEqual([]);
  expect(made.ids.at(-1)).toBe("offline/operator");
  expect(loaded).toEqual([]);
});

test("any name of a provider with a key can be opened; others say what is wrong", async () => {
  const { made, loaded } = available({ ANTHROPIC_API_KEY: "sk" });
  const model = made.open("anthropic/claude-new");
  expect(model.abilities?.thinking).toEqual(["low"]);
  expect(loaded).toEqual([]);
  const request = { system: "", messages: [], tools: [] };
  await expect(async () => {
    for await (const _ of model.stream(request, new AbortController().signal));
  }).rejects.toThrow("not here");
  expect(loaded).toEqual(["anthropic/claude-new"]);
  expect(() => made.open("claude")).toThrow(/no model "claude".*provider\/name/u);
  expect(() => made.open("openai/gpt-x")).toThrow(/OPENAI_API_KEY is not set/u);
  expect(made.problemOf("openai/gpt-x")).toMatchObject({ code: "model.unauthorized" });
  expect(made.problemOf("offline/operator")).toBeUndefined();
});

test("providers without a key are not asked; one that cannot be reached is named", async () => {
  expect(await available({}).made.ask()).toEqual({ ids: [], problems: [] });
  const { problems } = await available({ TENON_BASE_URL: "http://127.0.0.1:9/v1" }).made.ask();
  expect(problems).toEqual([expect.stringMatching(/^openai-compatible: /u)]);
});
