// What a session has used, as the answer to a prompt tells it (of the unstable protocol).

import type { PromptResponse } from "@agentclientprotocol/sdk";
import { defined } from "../../base/json/defined.js";
import type { Session } from "../../session/index.js";

export interface TokenUsage {
  totalTokens: number;
  inputTokens: number;
  outputTokens: number;
  cachedReadTokens?: number;
  cachedWriteTokens?: number;
}

/** Of the whole session, as the protocol has it. */
export type PromptAnswer = PromptResponse & { usage: TokenUsage };

/** There the kinds of tokens are apart from each other, and the total is their sum; here input means all of it. */
export function usageOf(usage: Session["usage"]): TokenUsage {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = usage;
  const fresh = Math.max(0, inputTokens - (cachedInputTokens ?? 0) - (cacheWriteTokens ?? 0));
  return {
    totalTokens: fresh + (cachedInputTokens ?? 0) + (cacheWriteTokens ?? 0) + outputTokens,
    inputTokens: fresh,
    outputTokens,
    ...defined({ cachedReadTokens: cachedInputTokens, cachedWriteTokens: cacheWriteTokens }),
  };
}
