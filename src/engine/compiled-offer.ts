// What a model call is offered, in the form its provider takes; what has no such form is named.
import { defined } from "../base/json/defined.js";
import { compileTools, type Model, type ModelMessage, type ModelTool, type ModelToolCall } from "../models/index.js";
import type { CatalogTool, Offer } from "../tools/index.js";
import { foundTools, isSearchTool } from "./found-tools.js";

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
