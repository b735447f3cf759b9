// The tools of one request as they go to the adapter, with the names that a refusal by place refers to.
import type {
  JSONObject,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3ProviderTool,
  LanguageModelV3ToolResultOutput,
} from "@ai-sdk/provider";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseObject } from "../../base/json/json.js";
import type { ModelAbilities } from "../abilities.js";
import type { DialectName, ModelMessage, ModelRequest, ModelTool, ModelToolCall, ModelToolResult } from "../model.js";

type ToolSchema = LanguageModelV3FunctionTool["inputSchema"];

/** `names` are those of the tools, in their order. */
export function toolsToSend(
  tools: readonly ModelTool[],
  found: FoundTools | undefined,
  dialect: DialectName,
): { readonly tools: SentTool[]; readonly names: readonly string[] } {
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

// Where Anthropic may cut a prompt for its cache: after the tools, after the system prompt, and where this request and the last one end.

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
function markTools(tools: readonly SentTool[]): SentTool[] {
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

// Tools that a search of ours found, in the form of providers that take them beside the result, so that nothing before it changes.

type SearchForm = NonNullable<ModelAbilities["toolSearch"]>;

/** How the found tools of one request are sent. */
export interface FoundTools {
  readonly form: SearchForm;
  /** The name of the search tool. */
  readonly search: string;
  /** Named by a result of this conversation: they are not at the beginning of the prompt. */
  readonly referenced: ReadonlyMap<string, ModelTool>;
}

/** Undefined when they are to be sent like any other tool. */
export function foundTools(
  request: Pick<ModelRequest, "messages" | "tools">,
  model: { readonly id: string; readonly toolSearch: SearchForm | undefined },
): FoundTools | undefined {
  const { messages, tools } = request;
  const search = tools.find((tool) => tool.isSearch === true)?.name;
  if (model.toolSearch === undefined || search === undefined) return undefined;
  // OpenAI wants its own ids back with a search; those of another model's searches are refused.
  if (model.toolSearch === "openai" && !messages.every((message) => isOwnSearch(message, search, model.id))) {
    return undefined;
  }
  const deferred = new Map(tools.filter((tool) => tool.isDeferred === true).map((tool) => [tool.name, tool]));
  const named = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const names = named.flatMap((result) => (result.name === search ? namesIn(result) : []));
  const referenced = new Map<string, ModelTool>();
  for (const name of names) {
    const tool = deferred.get(name);
    if (tool !== undefined) referenced.set(name, tool);
  }
  return { form: model.toolSearch, search, referenced };
}

/** The result as the provider takes it; undefined when it is an ordinary one. */
export function foundOutput(found: FoundTools, result: ModelToolResult): LanguageModelV3ToolResultOutput | undefined {
  if (result.name !== found.search) return undefined;
  const tools = namesIn(result).flatMap((name) => found.referenced.get(name) ?? []);
  if (found.form === "openai") return { type: "json", value: { tools: tools.map(definition) } };
  if (tools.length === 0) return undefined;
  return {
    type: "content",
    value: tools.map(({ name }) => ({
      type: "custom",
      providerOptions: { anthropic: { type: "tool-reference", toolName: name } },
    })),
  };
}

/** OpenAI has no room for words in the result of a search: what one that found nothing says goes beside it. */
export function hasWordsBeside(found: FoundTools | undefined, result: ModelToolResult): boolean {
  if (found?.form !== "openai" || result.name !== found.search) return false;
  return !namesIn(result).some((name) => found.referenced.has(name));
}

/** OpenAI's search call holds its arguments inside an object of its own. */
export function wrapSearch(call: ModelToolCall, input: JsonObject): JsonObject {
  return { arguments: input, call_id: call.callId };
}

export function unwrapSearch(input: string): string {
  const given = parseObject(input)?.["arguments"];
  if (given === undefined || given === null) return "{}";
  return typeof given === "string" ? given : JSON.stringify(given);
}

function namesIn(result: ModelToolResult): readonly string[] {
  return result.isError ? [] : (result.found ?? []);
}

function isOwnSearch(message: ModelMessage, search: string, modelId: string): boolean {
  if (message.role !== "assistant" || !message.toolCalls.some(({ name }) => name === search)) return true;
  return message.providerData?.["model"] === modelId;
}

function definition(tool: ModelTool): JSONObject {
  const { name, description, inputSchema, strict } = tool;
  return {
    type: "function",
    name,
    description,
    parameters: asJson(inputSchema),
    defer_loading: true,
    ...defined({ strict }),
  };
}

/** Without the holes our own type allows. */
function asJson(schema: JsonObject): JSONObject {
  const copy: JSONObject = JSON.parse(JSON.stringify(schema));
  return copy;
}
