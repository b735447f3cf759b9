// How much a model is to think, in the words of its provider.
import type { JSONObject } from "@ai-sdk/provider";
import { unreachable } from "../base/brand.js";
import { THINKING_LEVELS, type ThinkingLevel } from "./abilities.js";
import type { DialectName } from "./dialect/dialect.js";
import { knownModel, type ThinkingStyle } from "./known-models.js";
import type { ModelMessage } from "./model.js";

export interface Thinker {
  readonly id: string;
  readonly dialect: DialectName;
  /** The levels the model has; with none, nothing is ever said about thinking. */
  readonly levels: readonly ThinkingLevel[];
}

type Thoughtful = Exclude<ThinkingLevel, "off">;

/** Tokens of thought; the answer comes on top of them. */
const CLAUDE_BUDGET: Readonly<Record<Thoughtful, number>> = { low: 4_096, medium: 12_288, high: 32_000 };
const GEMINI_BUDGET: Readonly<Record<Thoughtful, number>> = { low: 2_048, medium: 8_192, high: 24_576 };

/** The level asked for, or the one nearest to it; of two as near, the lesser. */
export function nearestLevel(asked: ThinkingLevel, levels: readonly ThinkingLevel[]): ThinkingLevel | undefined {
  const rank = (level: ThinkingLevel) => THINKING_LEVELS.indexOf(level);
  const distance = (level: ThinkingLevel) =>
    Math.abs(rank(level) - rank(asked)) * 2 + Number(rank(level) > rank(asked));
  return [...levels].sort((one, other) => distance(one) - distance(other))[0];
}

/** Options for the provider's adapter, to go under the provider's name. Empty when the model has no such thing. */
export function thinkingOptions(
  thinker: Thinker,
  asked: ThinkingLevel | undefined,
  messages: readonly ModelMessage[],
): JSONObject {
  const level = asked === undefined ? undefined : nearestLevel(asked, thinker.levels);
  if (thinker.levels.length === 0) return {};
  switch (thinker.dialect) {
    case "anthropic":
      return claude(thinker, level, messages);
    case "openai-responses":
      return level === undefined ? {} : { reasoningEffort: effort(level), ...(level === "off" ? {} : SUMMARY) };
    case "openai-chat":
    case "openai-compatible":
      return level === undefined ? {} : { reasoningEffort: effort(level) };
    case "gemini":
      return { thinkingConfig: gemini(thinker, level) };
    case "plain":
      return {};
    default:
      return unreachable(thinker.dialect);
  }
}

/** Asked for with a level only: organisations that are not verified are refused summaries. */
const SUMMARY = { reasoningSummary: "auto" } as const;

function effort(level: ThinkingLevel): string {
  return level === "off" ? "none" : level;
}

function claude(thinker: Thinker, level: ThinkingLevel | undefined, messages: readonly ModelMessage[]): JSONObject {
  const style = styleOf(thinker, "adaptive");
  // Without `display` the newer models send their thoughts empty.
  const adaptive = { thinking: { type: "adaptive", display: "summarized" } };
  if (style === "always") return level === undefined ? adaptive : { ...adaptive, effort: effort(level) };
  if (level === undefined) return {};
  const isOff = level === "off" || (style === "budget" && hasForeignCalls(thinker.id, messages));
  if (isOff) return { thinking: { type: "disabled" } };
  if (style === "budget") return { thinking: { type: "enabled", budgetTokens: CLAUDE_BUDGET[level] } };
  return { ...adaptive, effort: level };
}

/** Calls since the last prompt that came without thoughts of this model's: it refuses to go on thinking after those. */
function hasForeignCalls(id: string, messages: readonly ModelMessage[]): boolean {
  const lastPrompt = messages.findLastIndex((message) => message.role === "user");
  return messages
    .slice(lastPrompt + 1)
    .some(
      (message) =>
        message.role === "assistant" && message.toolCalls.length > 0 && message.providerData?.["model"] !== id,
    );
}

function gemini(thinker: Thinker, level: ThinkingLevel | undefined): JSONObject {
  if (level === undefined) return { includeThoughts: true };
  if (styleOf(thinker, "level") === "level") {
    return { includeThoughts: level !== "off", thinkingLevel: level === "off" ? "minimal" : level };
  }
  return level === "off" ? { thinkingBudget: 0 } : { includeThoughts: true, thinkingBudget: GEMINI_BUDGET[level] };
}

function styleOf({ id }: Thinker, otherwise: ThinkingStyle): ThinkingStyle {
  return knownModel(id.slice(id.indexOf("/") + 1))?.thinkingStyle ?? otherwise;
}
