// The tools the first prompt chooses from those behind search: the best that fit into a small budget, not all of one server.
import { TOOL_LIMITS } from "../limits.js";
import type { CatalogTool } from "../tool.js";
import type { KnownTool } from "./known-tools.js";

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
