// `/cost`: what the session used.
import type { Command } from "./command.js";

export const costCommand: Command = {
  name: "cost",
  description: "Tokens this session used, and what they cost where the price is known",
  async run(_words, { usage }) {
    const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, costUsd } = usage;
    const cached = cachedInputTokens > 0 ? `, ${cachedInputTokens} of them from the provider's cache` : "";
    const written = cacheWriteTokens > 0 ? `, ${cacheWriteTokens} written to it` : "";
    const cost = costUsd === undefined ? "The price of this model is not known." : `About $${costUsd.toFixed(4)}.`;
    return `${inputTokens} tokens in${cached}${written}; ${outputTokens} out. ${cost}`;
  },
};
