// The tools of one request as they go to the adapter, with the names that a refusal by place refers to.

import type { LanguageModelV3FunctionTool } from "@ai-sdk/provider";
import { defined } from "../base/json/defined.js";
import { isJsonObject } from "../base/json/json.js";
import { markTools, type SentTool } from "./cache-marks.js";
import type { DialectName } from "./dialect/dialect.js";
import type { FoundTools } from "./found-tools.js";
import type { ModelTool } from "./model.js";

type ToolSchema = LanguageModelV3FunctionTool["inputSchema"];

export interface ToolsToSend {
  readonly tools: SentTool[];
  /** In the order of `tools`. */
  readonly names: readonly string[];
}

export function toolsToSend(
  tools: readonly ModelTool[],
  found: FoundTools | undefined,
  dialect: DialectName,
): ToolsToSend {
  // OpenAI gets them with the results that found them, and nowhere else.
  const listed = found?.form === "openai" ? tools.filter(({ name }) => !found.referenced.has(name)) : tools;
  const sent = listed.map((tool): SentTool => {
    if (found?.form === "openai" && tool.name === found.search) return searchTool(tool);
    return found?.form === "anthropic" && found.referenced.has(tool.name) ? deferred(tool) : toTool(tool);
  });
  return { tools: dialect === "anthropic" ? markTools(sent) : sent, names: sent.map(({ name }) => name) };
}

function searchTool(tool: ModelTool): SentTool {
  const args = { execution: "client", description: tool.description, parameters: tool.inputSchema };
  return { type: "provider", id: "openai.tool_search", name: tool.name, args };
}

function deferred(tool: ModelTool): SentTool {
  const plain = toTool(tool);
  const options = { ...plain.providerOptions?.["anthropic"], deferLoading: true };
  return { ...plain, providerOptions: { ...plain.providerOptions, anthropic: options } };
}

export function toTool(tool: ModelTool): LanguageModelV3FunctionTool {
  // A root without a type is legal JSON Schema and refused by every provider.
  const schema = tool.inputSchema["type"] === undefined ? { ...tool.inputSchema, type: "object" } : tool.inputSchema;
  const inputSchema: ToolSchema = isToolSchema(schema) ? schema : { type: "object" };
  return {
    type: "function",
    name: tool.name,
    description: tool.description,
    inputSchema,
    ...defined({
      strict: tool.strict,
      providerOptions: isToolOptions(tool.providerOptions) ? tool.providerOptions : undefined,
    }),
  };
}

/** They came as JSON; what a provider makes of them is its own to say. */
function isToolOptions(options: unknown): options is NonNullable<LanguageModelV3FunctionTool["providerOptions"]> {
  return isJsonObject(options) && Object.keys(options).length > 0;
}

/** Schemas travel as data: whether every keyword in them is meaningful is the provider's to say. */
function isToolSchema(schema: unknown): schema is Exclude<ToolSchema, boolean> {
  return isJsonObject(schema) && schema["type"] === "object";
}
