// Tools that a search of the conversation found, for models that take their definitions beside the result.
import { plainText } from "../base/text/content.js";
import type { ModelMessage, ModelToolResult } from "../models/index.js";
import { type CatalogTool, type Offer, SEARCH_TOOLS } from "../tools/index.js";

/** Tenon's own search, whatever other tools are called. */
export function isSearchTool({ origin, definition }: CatalogTool): boolean {
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
export function foundTools(messages: readonly ModelMessage[], offer: Offer): readonly CatalogTool[] {
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
