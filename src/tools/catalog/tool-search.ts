// Searching a session's tools: for the model that asks, and for the head start of the first prompt.
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import { TOOL_LIMITS } from "../limits.js";
import { type Explanation, ToolIndex, type UsageScores } from "../search/index-of-tools.js";
import type { CatalogTool, ToolId } from "../tool.js";
import type { KnownTool } from "./offer.js";
import type { Offering, Plan, Ranked } from "./offered-tools.js";
import type { CatalogOptions } from "./session-catalog.js";

/** Which prompts led to which tool. */
export interface UsagePort {
  scores(query: string): UsageScores;
  /** The tool was called with success while this prompt was worked on. */
  add(prompt: string, toolId: ToolId): void;
}

/** How close each tool is to the query, by an embedder. A failure costs only this hint. */
export type DenseScores = (
  query: string,
  tools: readonly CatalogTool[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, number>>;

export interface SearchRequest {
  readonly query: string;
  readonly server?: string;
  readonly limit?: number;
}

/** A tool as a search found it. */
export interface FoundTool {
  readonly tool: CatalogTool;
  readonly score: number;
  /** It is in the offered list already, so it can be called by its own name in any case. */
  readonly isOffered: boolean;
}

export type SearchAnswer =
  | { readonly kind: "found"; readonly tools: readonly FoundTool[] }
  | { readonly kind: "no_server"; readonly servers: readonly string[] };

export class ToolSearch {
  readonly #offering: Offering;
  readonly #options: Pick<CatalogOptions, "usage" | "dense">;
  readonly #index = new ToolIndex();
  /** The tools of each server that are in the index. */
  readonly #indexed = new Map<string, readonly KnownTool[]>();

  constructor(offering: Offering, options: CatalogOptions) {
    this.#offering = offering;
    this.#options = options;
  }

  /** Brings the index to where the sources and their modes are. Only servers whose lists changed cost anything. */
  sync(): void {
    const { book, modes } = this.#offering;
    const servers = book.active.filter(({ source }) => source.origin !== "builtin");
    for (const known of servers) {
      const { name } = known.source;
      const tools = known.tools.filter(({ raw }) => modes.of(known, raw.name).mode !== "manual");
      const before = this.#indexed.get(name);
      if (before && before.length === tools.length && before.every((one, index) => one === tools[index])) continue;
      this.#indexed.set(name, tools);
      const documents = tools.map(({ tool: { id, definition } }) => {
        const { name: own, title, description, inputSchema: schema } = definition;
        return { id, server: name, name: own, ...defined({ title }), description, schema };
      });
      this.#index.setServer(name, documents);
    }
    const names = new Set(servers.map(({ source }) => source.name));
    for (const name of this.#indexed.keys()) {
      if (names.has(name)) continue;
      this.#indexed.delete(name);
      this.#index.dropServer(name);
    }
  }

  async search({ query, server, limit }: SearchRequest, signal: AbortSignal): Promise<SearchAnswer> {
    const offering = this.#offering;
    const servers = offering.book.active
      .filter(({ source }) => source.origin !== "builtin")
      .map(({ source }) => source.name);
    const isLike = (name: string) => name.toLowerCase() === server?.toLowerCase();
    const meant = servers.find((name) => name === server) ?? servers.find(isLike);
    if (server !== undefined && meant === undefined) return { kind: "no_server", servers };
    const count = Math.min(Math.max(1, limit ?? LIMITS.toolSearchResults.usual), LIMITS.toolSearchResults.most);
    const ranked = await this.#rank(query, count, meant, signal);
    for (const { known, score } of ranked) offering.pick(known, { how: "found", query, score });
    const { how } = offering.list;
    const tools = ranked.map(({ known: { tool }, score }) => ({ tool, score, isOffered: how.has(tool.id) }));
    return { kind: "found", tools };
  }

  /** The tools a first prompt chooses from those behind search. */
  async headStart({ behind }: Plan, prompt: string, signal: AbortSignal): Promise<readonly Ranked[]> {
    const { limits, list } = this.#offering;
    const places = Math.min(limits.headStart, limits.maxAlwaysTools - list.entries.length);
    if (places <= 0 || behind.size === 0) return [];
    const limit = places + list.entries.length; // tools that are offered already are found too
    const ranked = await this.#rank(prompt, limit, undefined, signal);
    const isFree = ({ known: { tool } }: Ranked) => behind.has(tool.id) && !list.how.has(tool.id);
    return chooseHeadStart(ranked.filter(isFree), places);
  }

  /** The rank of a tool for a query, whether it was among the results or not. */
  explain(query: string, id: ToolId, limit: number): Explanation {
    return this.#index.explain(query, id, { limit, ...defined({ usage: this.#options.usage?.scores(query) }) });
  }

  async #rank(query: string, limit: number, server: string | undefined, signal: AbortSignal) {
    const offering = this.#offering;
    const { usage, dense } = this.#options;
    this.sync();
    const tools = [...this.#indexed.values()].flat().map(({ tool }) => tool);
    const scores = { usage: usage?.scores(query), dense: await dense?.(query, tools, signal).catch(() => undefined) };
    const hits = this.#index.search(query, { limit, ...defined({ server, ...scores }) });
    return hits.flatMap(({ id, score }): Ranked[] => {
      const known = offering.find(id); // a tool that went away meanwhile is not found
      const isUsable = known && offering.whySetAside(known) === undefined && offering.whyHeld(known) === undefined;
      return isUsable ? [{ known, score }] : [];
    });
  }
}

const FIRST_FACTOR = 4;

/** The best tools that fit into a small budget. One server gets at most half of the places while others have something that fits. */
export function chooseHeadStart(ranked: readonly Ranked[], places: number): readonly Ranked[] {
  const share = Math.max(1, Math.ceil(places / 2));
  const perServer = new Map<string, number>();
  const chosen = new Set<Ranked>();
  let tokens: number = TOOL_LIMITS.headStart.tokens;
  const waiting = ranked.filter(({ known: { source } }) => {
    perServer.set(source.name, (perServer.get(source.name) ?? 0) + 1);
    return (perServer.get(source.name) ?? 0) > share;
  });
  for (const one of [...ranked.filter((other) => !waiting.includes(other)), ...waiting]) {
    const cost = tokensOf(one.known.tool);
    // The best one may cost more: a head start without it is none.
    const allowed = chosen.size === 0 ? tokens * FIRST_FACTOR : tokens;
    if (chosen.size >= places || cost > allowed) continue;
    tokens -= cost;
    chosen.add(one);
  }
  return ranked.filter((one) => chosen.has(one));
}

/** About four characters a token, for English and JSON. */
export function tokensOf({ id, definition }: CatalogTool): number {
  const { title = "", description, inputSchema } = definition;
  return Math.ceil((id.length + title.length + description.length + JSON.stringify(inputSchema).length) / 4);
}
