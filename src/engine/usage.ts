// Sums of what model calls used and cost.
import { defined } from "../base/json/defined.js";
import type { ModelUsage } from "../models/index.js";

export const NO_USAGE: ModelUsage = { inputTokens: 0, outputTokens: 0 };

/** What neither side knows stays unknown; what only one knows is a lower bound. */
export function addUsage(sum: ModelUsage, more: ModelUsage): ModelUsage {
  const cachedInputTokens = added(sum.cachedInputTokens, more.cachedInputTokens);
  const cacheWriteTokens = added(sum.cacheWriteTokens, more.cacheWriteTokens);
  const costUsd = added(sum.costUsd, more.costUsd);
  return {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    ...defined({ cachedInputTokens, cacheWriteTokens, costUsd }),
  };
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}
