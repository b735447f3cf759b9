// Tools that are not offered but can be searched for: how the offline model asks for them, and reads what was found.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";
import type { ModelMessage, ModelTool, ModelToolCall, ModelToolResult } from "../model.js";

/** The host's tools about tools. They are no choice for a request: one looks for tools, the other calls what was found. */
const SEARCH_TOOLS = "tenon_search_tools";
const CALL_TOOL = "tenon_call_tool";

/** What a request wants is said at its beginning. */
const QUERY_MAX_CHARS = 500;

export interface Searching {
  readonly isOffered: boolean;
  /** Found in this conversation and not offered: called through `tenon_call_tool`. */
  readonly found: readonly ModelTool[];
  /** What was searched for since the last prompt. */
  readonly searched: ReadonlySet<string>;
}

export const NO_SEARCH: Searching = { isOffered: false, found: [], searched: new Set() };

interface Toolbox {
  /** Offered, without the two tools about tools. */
  readonly own: readonly ModelTool[];
  readonly searching: Searching;
}

export function toolbox(messages: readonly ModelMessage[], tools: readonly ModelTool[], lastUser: number): Toolbox {
  const own = tools.filter(({ name }) => name !== SEARCH_TOOLS && name !== CALL_TOOL);
  const isOffered = tools.some(({ name }) => name === SEARCH_TOOLS);
  const offered = new Set(tools.map(({ name }) => name));
  const found = new Map<string, ModelTool>();
  for (const result of messages.flatMap((message) => (message.role === "tool" ? message.results : []))) {
    for (const tool of isSearch(result) ? foundIn(result) : []) if (!offered.has(tool.name)) found.set(tool.name, tool);
  }
  const calls = messages
    .slice(lastUser + 1)
    .flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const searched = new Set(calls.filter(isSearch).flatMap((call) => argumentOf(call, "query") ?? []));
  return { own, searching: { isOffered, found: [...found.values()], searched } };
}

export function isSearch({ name }: { readonly name: string }): boolean {
  return name === SEARCH_TOOLS;
}

export function queryOf(request: string): string {
  return request.slice(0, QUERY_MAX_CHARS).trim();
}

/** A call of a tool that is offered, or of one that was found. */
export function callOf(tool: ModelTool, given: JsonObject, callId: string, { found }: Searching): ModelToolCall {
  const isFound = found.some(({ name }) => name === tool.name);
  const call = isFound ? { name: tool.name, arguments: given } : given;
  return { callId, name: isFound ? CALL_TOOL : tool.name, argumentsJson: JSON.stringify(call) };
}

export function searchCall(query: string, callId: string): ModelToolCall {
  return { callId, name: SEARCH_TOOLS, argumentsJson: JSON.stringify({ query }) };
}

/** The result under the name of the tool that gave it, whichever way it was called. */
export function underOwnName(result: ModelToolResult, messages: readonly ModelMessage[]): ModelToolResult {
  if (result.name !== CALL_TOOL) return result;
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const call = calls.find(({ callId }) => callId === result.callId);
  const name = call && argumentOf(call, "name");
  return name === undefined ? result : { ...result, name };
}

function argumentOf({ argumentsJson }: ModelToolCall, name: string): string | undefined {
  const parsed = parseJson(argumentsJson);
  const value = parsed.ok && isJsonObject(parsed.value) ? parsed.value[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

/** One paragraph a tool, its facts on lines of their own. What cannot be read is passed over. */
export function foundIn({ content, isError }: ModelToolResult): ModelTool[] {
  if (isError) return [];
  const paragraphs = content.flatMap((block) => (block.type === "text" ? block.text.split(/\n{2,}/u) : []));
  return paragraphs.flatMap((paragraph) => {
    const fact = (key: string) => new RegExp(`^${key}: (.+)$`, "mu").exec(paragraph)?.[1];
    const [name] = fact("name")?.split(" ") ?? [];
    if (name === undefined || name === "") return [];
    const title = fact("title");
    const schema = parseJson(fact("arguments") ?? "");
    const inputSchema = schema.ok && isJsonObject(schema.value) ? schema.value : { type: "object" };
    const description = fact("description") ?? "";
    return [{ name, description, inputSchema, ...defined({ title }) }];
  });
}
