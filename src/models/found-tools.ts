// Tools that a search of ours found, in the form of providers that take them beside the result, so that nothing before it changes.

import type { JSONObject, LanguageModelV3ToolResultOutput } from "@ai-sdk/provider";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../base/json/json.js";
import type { ModelAbilities } from "./abilities.js";
import type { ModelMessage, ModelRequest, ModelTool, ModelToolCall, ModelToolResult } from "./model.js";

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
  const parsed = parseJson(input);
  const given = parsed.ok && isJsonObject(parsed.value) ? parsed.value["arguments"] : undefined;
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
