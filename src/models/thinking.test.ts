// Levels of thinking in the words of each provider.
import { describe, expect, test } from "vitest";
import { type ThinkingLevel, tableAbilities } from "./abilities.js";
import type { DialectName, ModelMessage } from "./model.js";
import { nearestLevel, thinkingOptions } from "./providers/ai-sdk.js";

const user: ModelMessage = { role: "user", content: [{ type: "text", text: "Hi" }] };

function options(id: string, dialect: DialectName, level?: ThinkingLevel, messages: ModelMessage[] = [user]): unknown {
  return thinkingOptions({ id, dialect, levels: tableAbilities(id).thinking ?? [] }, level, messages);
}

describe("a level", () => {
  test.each<[ThinkingLevel, readonly ThinkingLevel[], ThinkingLevel | undefined]>([
    ["off", ["low", "high"], "low"],
    ["medium", ["low", "high"], "low"],
    ["high", ["low", "medium"], "medium"],
    ["low", ["off", "medium"], "off"],
    ["high", ["high"], "high"],
    ["low", [], undefined],
  ])("%s of %j is %s", (asked, levels, nearest) => {
    expect(nearestLevel(asked, levels)).toBe(nearest);
  });
});

describe("Claude", () => {
  const adaptive = { type: "adaptive", display: "summarized" };

  test("of an older kind gets a budget, and none when it is off", () => {
    const id = "anthropic/claude-sonnet-4-5";
    expect(options(id, "anthropic", "low")).toEqual({ thinking: { type: "enabled", budgetTokens: 4_096 } });
    expect(options(id, "anthropic", "off")).toEqual({ thinking: { type: "disabled" } });
    expect(options(id, "anthropic")).toEqual({});
  });

  test("of a newer kind gets an effort", () => {
    const id = "anthropic/claude-opus-4-7";
    expect(options(id, "anthropic", "high")).toEqual({ thinking: adaptive, effort: "high" });
    expect(options(id, "anthropic", "off")).toEqual({ thinking: { type: "disabled" } });
    expect(options(id, "anthropic")).toEqual({});
  });

  test("that always thinks is never told to stop, and shows its thoughts", () => {
    const id = "anthropic/claude-sonnet-5-5";
    expect(options(id, "anthropic", "off")).toEqual({ thinking: adaptive, effort: "low" });
    expect(options(id, "anthropic")).toEqual({ thinking: adaptive });
  });

  test("does not begin to think between calls that came without thoughts of its own", () => {
    const id = "anthropic/claude-sonnet-4-5";
    const call = { callId: "1", name: "t", argumentsJson: "{}" };
    const foreign: ModelMessage = { role: "assistant", text: "", toolCalls: [call] };
    const own: ModelMessage = { ...foreign, providerData: { model: id, parts: [] } };
    const result: ModelMessage = { role: "tool", results: [{ ...call, isError: false, content: [] }] };
    const off = { thinking: { type: "disabled" } };
    expect(options(id, "anthropic", "high", [user, foreign, result])).toEqual(off);
    expect(options(id, "anthropic", "high", [user, own, result])).not.toEqual(off);
    expect(options(id, "anthropic", "high", [user, foreign, result, user])).not.toEqual(off);
  });
});

describe("the others", () => {
  test("get their own words", () => {
    expect(options("openai/gpt-5.4", "openai-responses", "medium")).toEqual({
      reasoningEffort: "medium",
      reasoningSummary: "auto",
    });
    expect(options("openai/gpt-5.4", "openai-responses", "off")).toEqual({ reasoningEffort: "none" });
    expect(options("openai/gpt-6.1-sol", "openai-responses", "off")).toMatchObject({ reasoningEffort: "low" });
    expect(options("openai-chat/gpt-5.4", "openai-chat", "high")).toEqual({ reasoningEffort: "high" });
    expect(options("google/gemini-2.5-flash", "gemini", "off")).toEqual({ thinkingConfig: { thinkingBudget: 0 } });
    expect(options("google/gemini-2.5-pro", "gemini", "off")).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingBudget: 2_048 },
    });
    expect(options("google/gemini-3.5-flash", "gemini", "high")).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingLevel: "high" },
    });
    expect(options("google/gemini-3.5-flash", "gemini")).toEqual({ thinkingConfig: { includeThoughts: true } });
  });

  test.each<[string, DialectName]>([
    ["anthropic/claude-3-haiku-20240307", "anthropic"],
    ["openai/gpt-4o", "openai-responses"],
    ["openai/gpt-5.1-chat-latest", "openai-responses"],
    ["google/gemini-2.0-flash", "gemini"],
    ["openai-compatible/llama3.1", "openai-compatible"],
    ["openai-compatible/gpt-5", "openai-compatible"],
  ])("%s, which does not think or of which it is not known, is told nothing", (id, dialect) => {
    expect(options(id, dialect, "high")).toEqual({});
    expect(options(id, dialect)).toEqual({});
  });
});
