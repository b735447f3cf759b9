// Search over a session's tools: keeps the index in step with the sources, and remembers why a tool was found.
import { defined } from "../../base/json/defined.js";
import type { SearchDocument, SearchHit, UsageScores } from "../search/index-of-tools.js";
import { ToolIndex } from "../search/index-of-tools.js";
import type { CatalogTool, ToolId } from "../tool.js";
import type { KnownTool, KnownTools } from "./known-tools.js";

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
