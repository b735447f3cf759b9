// What is remembered of earlier prompts, by slot instead of by id: one more field of the tools it is about.

import type { IndexedTools } from "./indexed-tools.js";
import { USAGE_TENTHS } from "./ranking.js";

/** Terms of prompts that led to a tool. */
export interface UsageScores {
  /** Term, then id of a tool, then how often. */
  readonly counts: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Terms in all the prompts of a tool. */
  readonly lengths: ReadonlyMap<string, number>;
}

export class UsageView {
  readonly #usage: UsageScores;
  readonly #indexed: IndexedTools;
  readonly #tenths = new Map<number, number>();
  /** Weighted length of the field over all tools. */
  readonly totalTenths: number;

  constructor(usage: UsageScores, indexed: IndexedTools) {
    this.#usage = usage;
    this.#indexed = indexed;
    let total = 0;
    for (const [id, length] of usage.lengths) {
      const slot = indexed.slotOf(id);
      if (slot === undefined) continue;
      this.#tenths.set(slot, length * USAGE_TENTHS);
      total += length * USAGE_TENTHS;
    }
    this.totalTenths = total;
  }

  lengthTenthsOf(slot: number): number {
    return this.#tenths.get(slot) ?? 0;
  }

  /** By slot, how often the term was in prompts; a map of the caller's own. */
  countsOf(term: string): Map<number, number> {
    const counts = new Map<number, number>();
    for (const [id, count] of this.#usage.counts.get(term) ?? []) {
      const slot = this.#indexed.slotOf(id);
      if (slot !== undefined) counts.set(slot, count);
    }
    return counts;
  }

  /** How many tools had it in their prompts, known ones or not. */
  countOf(term: string): number {
    return this.#usage.counts.get(term)?.size ?? 0;
  }
}
