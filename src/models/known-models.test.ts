// The bundled table: names people really write lead to the right family.
import { describe, expect, test } from "vitest";
import { LIMITS } from "../base/limits.js";
import { knownModel, mergeAbilities, tableAbilities } from "./abilities.js";
import { costOf } from "./providers/from-stream.js";

describe("the table", () => {
  test.each<[string, number, number | undefined, number | undefined]>([
    ["claude-sonnet-5-5", 1_000_000, 128_000, 2],
    ["claude-opus-5-5-20261001", 1_000_000, 128_000, 4],
    ["claude-opus-5", 1_000_000, 128_000, 5],
    ["claude-sonnet-5", 1_000_000, 128_000, 2],
    ["claude-haiku-5-5", 1_000_000, 128_000, undefined],
    ["anthropic/claude-sonnet-4.5", 200_000, 64_000, 3],
    ["claude-sonnet-4-5-20250929", 200_000, 64_000, 3],
    ["claude-opus-4-1-20250805", 200_000, 32_000, 15],
    ["claude-3-7-sonnet-20250219", 200_000, 64_000, 3],
    ["claude-3-5-haiku-latest", 200_000, 8_192, undefined],
    ["claude-whatever-9", 200_000, 64_000, undefined],
    ["gpt-6.1-sol", 1_050_000, 128_000, 2],
    ["gpt-6-luna", 1_050_000, 128_000, undefined],
    ["gpt-5", 400_000, 128_000, 1.25],
    ["gpt-5-2025-08-07", 400_000, 128_000, 1.25],
    ["gpt-5-codex", 400_000, 128_000, 1.25],
    ["gpt-5.1-codex-mini", 400_000, 128_000, 0.25],
    ["gpt-5.4", 1_050_000, 128_000, 2.5],
    ["gpt-5.4-mini", 400_000, 128_000, 0.75],
    ["gpt-4.1-mini", 1_047_576, 32_768, 0.4],
    ["gpt-4o-mini", 128_000, 16_384, 0.15],
    ["o3", 200_000, 100_000, 2],
    ["o3-mini", 200_000, 100_000, 1.1],
    ["models/gemini-2.5-pro", 1_048_576, 65_536, 1.25],
    ["gemini-pro-latest", 1_048_576, 65_536, undefined],
    ["gemini-3.1-pro-preview", 1_048_576, 65_536, 2],
  ])("has %s with %i tokens of context, %j of output and $%j", (name, contextTokens, maxOutputTokens, input) => {
    const known = knownModel(name);
    expect(known).toMatchObject({ contextTokens, maxOutputTokens });
    expect(known?.price?.inputPerMTok).toBe(input);
  });

  test("has what open models see, and not how much they remember", () => {
    for (const name of ["qwen2.5-vl:7b", "llava", "gemma3:12b", "meta-llama/Llama-4-Scout", "llama3.2-vision"]) {
      expect([name, knownModel(name)]).toEqual([name, { images: true }]);
    }
    for (const name of ["llama3.1", "qwen3-coder", "deepseek-v4", "gpt-5.99x-nothing", ""]) {
      expect([name, knownModel(name)?.images === true && knownModel(name)?.contextTokens === undefined]).toEqual([
        name,
        false,
      ]);
    }
  });

  test("speaks of prices and thoughts at the maker's only, and of found tools never", () => {
    expect(tableAbilities("anthropic/claude-sonnet-4-5")).toMatchObject({ price: { inputPerMTok: 3 } });
    expect(tableAbilities("anthropic/claude-sonnet-4-5").thinking).toContain("high");
    const behind = tableAbilities("openai-compatible/anthropic/claude-sonnet-4.5");
    expect(behind).toMatchObject({ contextTokens: 200_000, images: true });
    expect(behind).not.toHaveProperty("price");
    expect(behind).not.toHaveProperty("thinking");
    expect(tableAbilities("anthropic/claude-sonnet-4-5")).not.toHaveProperty("toolSearch");
  });
});

describe("abilities from several places", () => {
  test("are those of the first that knows, and little where nobody does", () => {
    expect(
      mergeAbilities([
        { images: false, contextTokens: undefined },
        { images: true, contextTokens: 5 },
      ]),
    ).toEqual({
      contextTokens: 5,
      images: false,
      audio: false,
      pdf: false,
      thinking: [],
    });
    expect(mergeAbilities([]).contextTokens).toBe(LIMITS.context.unknownTokens);
  });
});

describe("the cost of an answer", () => {
  const price = { inputPerMTok: 2, outputPerMTok: 10, cacheReadPerMTok: 0.2, cacheWritePerMTok: 2.5 };

  test("counts what is fresh, read from the cache and written to it each at its own price", () => {
    const usage = {
      inputTokens: 1_000_000,
      outputTokens: 100_000,
      cachedInputTokens: 600_000,
      cacheWriteTokens: 300_000,
    };
    expect(costOf(usage, price)).toBeCloseTo(0.1 * 2 + 0.6 * 0.2 + 0.3 * 2.5 + 0.1 * 10, 10);
    expect(costOf({ ...usage, cachedInputTokens: 5_000_000 }, price)).toBeGreaterThan(0);
  });

  test("is that of fresh input where the cache has no price, and more for a long prompt", () => {
    const plain = { inputPerMTok: 2, outputPerMTok: 10 };
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cachedInputTokens: 1_000_000 };
    expect(costOf(usage, plain)).toBe(2);
    const long = { ...plain, longContext: { aboveTokens: 999_999, inputFactor: 2, outputFactor: 1.5 } };
    expect(costOf({ ...usage, outputTokens: 1_000_000 }, long)).toBe(4 + 15);
    expect(costOf({ ...usage, inputTokens: 999_999, cachedInputTokens: 0 }, long)).toBeCloseTo(2, 4);
  });
});
