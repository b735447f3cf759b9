// Searching a session's tools: for the model that asks, and for the head start of the first prompt.
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import { TOOL_LIMITS } from "../limits.js";
import { type SearchDocument, type SearchHit, ToolIndex, type UsageScores } from "../search/index-of-tools.js";
import type { CatalogTool, ToolId } from "../tool.js";
import type { Offering, Plan } from "./offering.js";
import type { IncludeModes, KnownTool, KnownTools, SourceBook } from "./sources.js";
import type { FoundTool } from "./why.js";

export interface SearchRequest {
  readonly query: string;
  readonly server?: string;
  readonly limit?: number;
}

export type SearchAnswer =
  | { readonly kind: "found"; readonly tools: readonly FoundTool[] }
  | { readonly kind: "no_server"; readonly servers: readonly string[] };

export interface ToolSearchOptions {
  readonly book: SourceBook;
  readonly modes: IncludeModes;
  readonly finder: ToolFinder;
  readonly offering: Offering;
}

export class ToolSearch {
  readonly #options: ToolSearchOptions;

  constructor(options: ToolSearchOptions) {
    this.#options = options;
  }

  /** Takes the index to where the sources and their modes are. */
  sync(): void {
    const { book, modes, finder } = this.#options;
    finder.sync(book.active, (source, known) => modes.of(source, known.raw.name).mode === "manual");
  }

  async search({ query, server, limit }: SearchRequest, signal: AbortSignal): Promise<SearchAnswer> {
    const { book, offering } = this.#options;
    const servers = book.active.filter(({ source }) => source.origin !== "builtin").map(({ source }) => source.name);
    const meant = server === undefined ? undefined : nameLike(server, servers);
    if (server !== undefined && meant === undefined) return { kind: "no_server", servers };
    const count = Math.min(Math.max(1, limit ?? LIMITS.toolSearchResults.usual), LIMITS.toolSearchResults.most);
    const ranked = await this.#rank({ query, limit: count, ...defined({ server: meant }) }, signal);
    for (const { known, score } of ranked) offering.pick(known, { how: "found", query, score });
    const tools = ranked.map(({ known: { tool }, score }) => ({
      tool,
      score,
      isOffered: offering.list.how.has(tool.id),
    }));
    return { kind: "found", tools };
  }

  /** What a first prompt chooses from the tools behind search. */
  async headStart(plan: Plan, prompt: string, signal: AbortSignal): Promise<readonly Ranked[]> {
    const { offering } = this.#options;
    const { headStart, maxAlwaysTools } = offering.limits;
    const places = Math.min(headStart, maxAlwaysTools - offering.list.entries.length);
    if (places <= 0 || plan.behind.size === 0) return [];
    const limit = places + offering.list.entries.length; // what is offered already is found too
    const ranked = await this.#rank({ query: prompt, limit }, signal);
    return chooseHeadStart(
      ranked.filter(({ known: { tool } }) => plan.behind.has(tool.id) && !offering.list.how.has(tool.id)),
      places,
    );
  }

  async #rank(query: FinderQuery, signal: AbortSignal): Promise<readonly Ranked[]> {
    const { finder, offering } = this.#options;
    this.sync();
    const hits = await finder.search(query, signal);
    return hits.flatMap(({ id, score }) => {
      const known = offering.find(id); // what went away meanwhile is not found
      const isUsable = known && offering.whySetAside(known) === undefined && offering.whyHeld(known) === undefined;
      return isUsable ? [{ known, score }] : [];
    });
  }
}

function nameLike(name: string, names: readonly string[]): string | undefined {
  return names.find((one) => one === name) ?? names.find((one) => one.toLowerCase() === name.toLowerCase());
}

// Search over a session's tools: keeps the index in step with the sources, and remembers why a tool was found.
/** Which prompts led to which tool. */
export interface UsagePort {
  scores(query: string): UsageScores;
  /** The tool was called with success while this prompt was worked on. */
  add(prompt: string, toolId: ToolId): void;
}

/** Embeddings, for those who bring an embedder: how close each tool is to the query. Failing costs only the hint. */
export type DenseScores = (
  query: string,
  tools: readonly CatalogTool[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, number>>;

export interface FinderOptions {
  readonly usage?: UsagePort;
  readonly dense?: DenseScores;
}

export interface FinderQuery {
  readonly query: string;
  readonly limit: number;
  readonly server?: string;
  readonly maxPerServer?: number;
}

export class ToolFinder {
  readonly #options: FinderOptions;
  readonly #index = new ToolIndex();
  /** What the index has of each server. */
  readonly #indexed = new Map<string, readonly KnownTool[]>();

  constructor(options: FinderOptions) {
    this.#options = options;
  }

  /** Only servers whose lists changed cost anything. */
  sync(active: readonly KnownTools[], isHidden: (source: KnownTools, known: KnownTool) => boolean): void {
    const names = new Set<string>();
    for (const source of active) {
      const { name, origin } = source.source;
      if (origin === "builtin") continue;
      names.add(name);
      const tools = source.tools.filter((known) => !isHidden(source, known));
      const before = this.#indexed.get(name);
      if (before && before.length === tools.length && before.every((known, index) => known === tools[index])) continue;
      this.#indexed.set(name, tools);
      this.#index.setServer(
        name,
        tools.map((known) => documentOf(known)),
      );
    }
    for (const name of this.#indexed.keys()) {
      if (names.has(name)) continue;
      this.#indexed.delete(name);
      this.#index.dropServer(name);
    }
  }

  async search(request: FinderQuery, signal: AbortSignal): Promise<readonly SearchHit[]> {
    const { query, ...options } = request;
    return this.#index.search(query, { ...options, ...(await this.#extras(query, signal)) });
  }

  /** Where a tool stands for a query, whether it was among the results or not. */
  explain(request: FinderQuery, id: ToolId): ReturnType<ToolIndex["explain"]> {
    const { query, ...options } = request;
    const usage = this.#options.usage?.scores(query);
    return this.#index.explain(query, id, { ...options, ...defined({ usage }) });
  }

  async #extras(
    query: string,
    signal: AbortSignal,
  ): Promise<{ usage?: UsageScores; dense?: ReadonlyMap<string, number> }> {
    const usage = this.#options.usage?.scores(query);
    const tools = [...this.#indexed.values()].flat().map(({ tool }) => tool);
    const dense = await this.#options.dense?.(query, tools, signal).catch(() => undefined);
    return defined({ usage, dense });
  }
}

function documentOf({ tool, source }: KnownTool): SearchDocument {
  const { name, title, description, inputSchema } = tool.definition;
  return {
    id: tool.id,
    server: source.name,
    name,
    ...defined({ title }),
    description,
    schema: inputSchema,
  };
}

// The tools the first prompt chooses from those behind search: the best that fit into a small budget, not all of one server.
const FIRST_FACTOR = 4;

export interface Ranked {
  readonly known: KnownTool;
  readonly score: number;
}

/** Best first. One server gets at most half of the places while others have something that fits. */
export function chooseHeadStart(ranked: readonly Ranked[], places: number): readonly Ranked[] {
  const share = Math.max(1, Math.ceil(places / 2));
  const perServer = new Map<string, number>();
  const chosen = new Set<Ranked>();
  const waiting: Ranked[] = [];
  let tokens: number = TOOL_LIMITS.headStart.tokens;
  const take = (one: Ranked) => {
    const cost = tokensOf(one.known.tool);
    // The best one may cost more: a head start without it is none.
    const allowed = chosen.size === 0 ? tokens * FIRST_FACTOR : tokens;
    if (chosen.size >= places || cost > allowed) return;
    tokens -= cost;
    chosen.add(one);
  };
  for (const one of ranked) {
    const count = perServer.get(one.known.source.name) ?? 0;
    perServer.set(one.known.source.name, count + 1);
    if (count < share) take(one);
    else waiting.push(one);
  }
  for (const one of waiting) take(one);
  return ranked.filter((one) => chosen.has(one));
}

/** About four characters a token, for English and JSON. */
export function tokensOf({ id, definition }: CatalogTool): number {
  const { title = "", description, inputSchema } = definition;
  return Math.ceil((id.length + title.length + description.length + JSON.stringify(inputSchema).length) / 4);
}
