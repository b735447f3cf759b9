// What a model call is offered, in the form its provider takes; what has no such form is named.
import { defined } from "../base/json/defined.js";
import { plainText } from "../base/text/content.js";
import {
  compileTools,
  type Model,
  type ModelMessage,
  type ModelTool,
  type ModelToolCall,
  type ModelToolResult,
} from "../models/index.js";
import { type CatalogTool, type Offer, SEARCH_TOOLS } from "../tools/index.js";

export interface CompiledOffer {
  readonly tools: readonly ModelTool[];
  readonly refused: readonly { readonly tool: CatalogTool; readonly reason: string }[];
  /** The call with the arguments its tool wants, whatever form the model was shown. */
  readonly restore: (call: ModelToolCall) => ModelToolCall;
  /** By the name the model knows. */
  readonly find: (name: string) => CatalogTool | undefined;
}

/** An offer does not change, and compiling a hundred schemas for every model call would be felt. */
const cache = new WeakMap<Offer, Map<string, CompiledOffer>>();

/** With what searches of the conversation found, for models that take it beside the result; others call it through the wrapper. */
export function compileOffer(offer: Offer, model: Model, messages: readonly ModelMessage[]): CompiledOffer {
  const found = model.abilities?.toolSearch === undefined ? [] : foundTools(messages, offer);
  const key = [model.dialect ?? "", model.id, ...found.map(({ id }) => id)].join(" ");
  let forms = cache.get(offer);
  if (!forms) {
    forms = new Map();
    cache.set(offer, forms);
  }
  let compiled = forms.get(key);
  if (!compiled) {
    compiled = compile(offer.tools, found, model);
    forms.set(key, compiled);
  }
  return compiled;
}

/** The search is named as such in any case: what a model can do may not be known before its first request. */
function compile(offered: readonly CatalogTool[], found: readonly CatalogTool[], model: Model): CompiledOffer {
  const tools = [
    ...offered.map((tool) => (isSearchTool(tool) ? { ...modelTool(tool), isSearch: true } : modelTool(tool))),
    ...found.map((tool) => ({ ...modelTool(tool), isDeferred: true })),
  ];
  const compiled = compileTools(tools, model);
  const byName = new Map<string, CatalogTool>([...offered, ...found].map((tool) => [tool.id, tool]));
  return {
    tools: compiled.tools,
    refused: compiled.refused.flatMap(({ name, reason }) => {
      const tool = byName.get(name);
      return tool ? [{ tool, reason }] : [];
    }),
    restore: (call) => compiled.restore(call),
    find: (name) => byName.get(name),
  };
}

function modelTool({ id, definition }: CatalogTool): ModelTool {
  const { title, description, inputSchema, providerOptions } = definition;
  return {
    name: id,
    ...defined({ title }),
    description,
    inputSchema,
    ...defined({ providerOptions }),
  };
}

/** Tenon's own search, whatever other tools are called. */
function isSearchTool({ origin, definition }: CatalogTool): boolean {
  return origin === "builtin" && definition.name === SEARCH_TOOLS;
}

/** The line with which the search begins each tool it found. */
const NAME_LINE = /^name: ([A-Za-z0-9_-]{1,64})/gm;

/** Results of searches with the tools they found; what is offered anyway is not among them. */
export function withFoundTools(results: readonly ModelToolResult[], offer: Offer): readonly ModelToolResult[] {
  return results.map((result) => {
    const tool = offer.find(result.name)?.tool;
    if (!tool || !isSearchTool(tool) || result.isError) return result;
    const offered = new Set<string>(offer.tools.map(({ id }) => id));
    const names = [...plainText(result.content).matchAll(NAME_LINE)].flatMap(([, name]) => name ?? []);
    // Titles and descriptions are words of servers, so a line may say anything: only tools that are there count.
    const found = [...new Set(names)].filter((name) => !offered.has(name) && offer.find(name) !== undefined);
    return found.length === 0 ? result : { ...result, found };
  });
}

/** Those that results of the conversation name and that can be called, in the order in which they were found. */
function foundTools(messages: readonly ModelMessage[], offer: Offer): readonly CatalogTool[] {
  const names = new Set<string>();
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const { found } of message.results) for (const name of found ?? []) names.add(name);
  }
  if (names.size === 0) return [];
  const offered = new Set<string>(offer.tools.map(({ id }) => id));
  return [...names].flatMap((name) => {
    const entry = offered.has(name) ? undefined : offer.find(name);
    return entry && entry.unavailable === undefined && entry.held === undefined ? [entry.tool] : [];
  });
}
