// The baseline: BM25 as it is in the book, over name and description, words as they stand.
import type { SearchDocument } from "../../src/tools/search/index-of-tools.js";

const K1 = 1.2;
const B = 0.75;

export class PlainBm25 {
  readonly #ids: readonly string[];
  readonly #lengths: readonly number[];
  readonly #averageLength: number;
  readonly #counts = new Map<string, Map<number, number>>();

  constructor(tools: readonly SearchDocument[]) {
    this.#ids = tools.map(({ id }) => id);
    const words = tools.map(({ name, description }) => split(`${name} ${description}`));
    this.#lengths = words.map(({ length }) => length);
    this.#averageLength = this.#lengths.reduce((sum, length) => sum + length, 0) / tools.length;
    for (const [tool, own] of words.entries()) {
      for (const word of own) {
        const counts = this.#counts.get(word) ?? new Map<number, number>();
        counts.set(tool, (counts.get(tool) ?? 0) + 1);
        this.#counts.set(word, counts);
      }
    }
  }

  search(query: string, limit: number): readonly string[] {
    const scores = new Map<number, number>();
    for (const word of new Set(split(query))) {
      const counts = this.#counts.get(word);
      if (!counts) continue;
      const rarity = Math.log(1 + (this.#ids.length - counts.size + 0.5) / (counts.size + 0.5));
      for (const [tool, count] of counts) {
        const norm = K1 * (1 - B + (B * (this.#lengths[tool] ?? 0)) / this.#averageLength);
        scores.set(tool, (scores.get(tool) ?? 0) + (rarity * count * (K1 + 1)) / (count + norm));
      }
    }
    return [...scores]
      .sort(([a, ofA], [b, ofB]) => ofB - ofA || ((this.#ids[a] ?? "") < (this.#ids[b] ?? "") ? -1 : 1))
      .slice(0, limit)
      .map(([tool]) => this.#ids[tool] ?? "");
  }
}

function split(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}
