// Searching a session's tools: for the model that asks, and for the head start of the first prompt.
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import type { FinderQuery, ToolFinder } from "./finder.js";
import { chooseHeadStart, type Ranked } from "./head-start.js";
import type { IncludeModes } from "./include-modes.js";
import type { Offering } from "./offering.js";
import type { Plan } from "./plan.js";
import type { SourceBook } from "./source-book.js";
import type { FoundTool } from "./state.js";

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
