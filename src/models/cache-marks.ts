// Where Anthropic may cut a prompt for its cache: after the tools, after the system prompt, and where this request and the last one end.
import type {
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3ProviderTool,
} from "@ai-sdk/provider";

const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } } as const;

export type SentTool = LanguageModelV3FunctionTool | LanguageModelV3ProviderTool;

/**
 * Up to three marks. The one where the last request ended makes sure that what it wrote is found: from a single mark
 * Anthropic looks back over 20 blocks only, and one answer with many calls has more.
 */
export function markPrompt(prompt: readonly LanguageModelV3Message[]): LanguageModelV3Message[] {
  const answered = prompt.findLastIndex(({ role }) => role === "assistant");
  const ends = new Set([prompt.length - 1, answered - 1]);
  return prompt.map((message, index) => {
    const isEnd = ends.has(index) && (message.role === "user" || message.role === "tool");
    return message.role === "system" || isEnd ? { ...message, providerOptions: MARK } : message;
  });
}

/** One mark, on the last tool that stands at the beginning of the prompt: found ones do not, and must not have it. */
export function markTools(tools: readonly SentTool[]): SentTool[] {
  const last = tools.findLastIndex((tool) => tool.type === "function" && !isDeferred(tool));
  return tools.map((tool, index) => {
    if (index !== last || tool.type !== "function") return tool;
    const { providerOptions } = tool;
    return {
      ...tool,
      providerOptions: { ...providerOptions, anthropic: { ...MARK.anthropic, ...providerOptions?.["anthropic"] } },
    };
  });
}

function isDeferred(tool: LanguageModelV3FunctionTool): boolean {
  return tool.providerOptions?.["anthropic"]?.["deferLoading"] === true;
}
