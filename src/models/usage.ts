// What an answer used, as the provider counts it, and what that costs by the list price.

import type { LanguageModelV3Usage } from "@ai-sdk/provider";
import { defined } from "../base/json/defined.js";
import type { ModelPrice } from "./abilities.js";
import type { ModelUsage } from "./model.js";

/** Undefined where the provider said nothing. */
export function toUsage(usage: LanguageModelV3Usage, price: ModelPrice | undefined): ModelUsage | undefined {
  const { inputTokens: input, outputTokens: output } = usage;
  if (input.total === undefined && output.total === undefined) return undefined;
  const counted: ModelUsage = {
    inputTokens: input.total ?? 0,
    outputTokens: output.total ?? 0,
    ...defined({ cachedInputTokens: input.cacheRead, cacheWriteTokens: input.cacheWrite }),
  };
  return price === undefined ? counted : { ...counted, costUsd: costOf(counted, price) };
}

export function costOf(usage: ModelUsage, price: ModelPrice): number {
  const { inputTokens, outputTokens, cachedInputTokens: read = 0, cacheWriteTokens: written = 0 } = usage;
  const { longContext, inputPerMTok } = price;
  const isLong = longContext !== undefined && inputTokens > longContext.aboveTokens;
  const fresh = Math.max(0, inputTokens - read - written);
  const input =
    fresh * inputPerMTok +
    read * (price.cacheReadPerMTok ?? inputPerMTok) +
    written * (price.cacheWritePerMTok ?? inputPerMTok);
  const output = outputTokens * price.outputPerMTok;
  return (input * (isLong ? longContext.inputFactor : 1) + output * (isLong ? longContext.outputFactor : 1)) / 1e6;
}
