// A view of what is in front of the model: for the whole session, and what this conversation added to it.
import type { CatalogTool } from "../tool.js";
import type { BehindCause } from "./plan.js";
import type { CatalogState, Pick } from "./state.js";

export interface ViewedTool {
  readonly tool: CatalogTool;
  readonly how: "always" | "manual" | Pick["how"];
  /** For tools a search picked. */
  readonly score?: number;
  readonly query?: string;
}

export interface CatalogView {
  /** Always and manual, in the order they are offered. */
  readonly session: readonly ViewedTool[];
  /** The same, then what searches picked, with scores. */
  readonly request: readonly ViewedTool[];
  /** How many tools of each server wait behind search, and why. */
  readonly behindSearch: readonly { readonly server: string; readonly cause: BehindCause; readonly count: number }[];
  readonly shadowed: readonly { readonly server: string; readonly origin: string; readonly by: string }[];
}

export function inspectCatalog(state: CatalogState): CatalogView {
  const { list, picks, book } = state;
  const session = list.entries.flatMap(({ known: { tool }, how }): ViewedTool[] =>
    how === "head_start" ? [] : [{ tool, how }],
  );
  const picked = [...picks].flatMap(([id, pick]): ViewedTool[] => {
    const tool = list.seen.get(id)?.tool;
    return tool ? [{ tool, ...pick }] : [];
  });
  return {
    session,
    request: [...session, ...picked],
    behindSearch: behindOf(state),
    shadowed: book.shadowed.map(({ known: { source }, by }) => ({
      server: source.name,
      origin: source.origin,
      by: by.origin,
    })),
  };
}

function behindOf({ book, plan, list, picks }: CatalogState): CatalogView["behindSearch"] {
  return book.active.flatMap(({ source, tools }) => {
    const counts = new Map<BehindCause, number>();
    for (const { tool } of tools) {
      const cause = plan.behind.get(tool.id);
      if (cause === undefined || list.how.has(tool.id) || picks.has(tool.id)) continue;
      counts.set(cause, (counts.get(cause) ?? 0) + 1);
    }
    return [...counts].map(([cause, count]) => ({ server: source.name, cause, count }));
  });
}
