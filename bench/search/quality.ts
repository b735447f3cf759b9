// How good results are: recall at 5 and 10, and nDCG at 10.
import type { LabelledQuery } from "./sets.js";

export interface Quality {
  readonly R5: number;
  readonly R10: number;
  readonly nDCG10: number;
}

/** Ids, best first, at most `limit`. */
export type Finder = (query: string, limit: number) => readonly string[];

/**
 * Recall at k is, for each query, the share of what it needs that is in the first k results, and then the mean over all
 * queries. Where a set has `groups` (tools that do the same), a group is found when any of its tools is. In nDCG each
 * group gains once, at its first tool, over the best order there could be. Recall at 5 is of a search for 5.
 */
export function judge(queries: readonly LabelledQuery[], find: Finder): Quality {
  let [recall5, recall10, gain10] = [0, 0, 0];
  for (const { query, groups } of queries) {
    recall5 += recall(groups, find(query, 5));
    const results = find(query, 10);
    recall10 += recall(groups, results);
    gain10 += gain(groups, results);
  }
  const percent = (sum: number) => Math.round((sum / queries.length) * 1_000) / 10;
  return { R5: percent(recall5), R10: percent(recall10), nDCG10: percent(gain10) };
}

function recall(groups: LabelledQuery["groups"], results: readonly string[]): number {
  return groups.filter((group) => group.some((id) => results.includes(id))).length / groups.length;
}

function gain(groups: LabelledQuery["groups"], results: readonly string[]): number {
  const open = new Set(groups);
  let found = 0;
  for (const [place, id] of results.entries()) {
    const group = [...open].find((ids) => ids.includes(id));
    if (group === undefined) continue;
    open.delete(group);
    found += discount(place);
  }
  let ideal = 0;
  for (let place = 0; place < Math.min(10, groups.length); place++) ideal += discount(place);
  return found / ideal;
}

function discount(place: number): number {
  return 1 / Math.log2(place + 2);
}
