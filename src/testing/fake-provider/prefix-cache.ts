// What a provider's prompt cache would make of a request: which of its beginning it has seen before.
import { createHash } from "node:crypto";

export interface CacheBlock {
  readonly text: string;
  /** Where the client asked for a cache entry to end. */
  readonly isMarked: boolean;
}

export interface Measured {
  readonly total: number;
  readonly read: number;
  readonly written: number;
}

const CHARS_PER_TOKEN = 4;

/** From a marker Anthropic looks this many blocks back for an entry (docs: "Prompt caching", 20-block lookback). */
const LOOKBACK_BLOCKS = 20;

export function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

export class PrefixCache {
  readonly #entries = new Set<string>();

  /** `explicit`: only what is marked is kept. Else every prefix is, as with providers that cache by themselves. */
  measure(blocks: readonly CacheBlock[], explicit: boolean): Measured {
    const hash = createHash("sha256");
    const prefixes: { readonly id: string; readonly tokens: number; readonly isMarked: boolean }[] = [];
    let total = 0;
    for (const { text, isMarked } of blocks) {
      hash.update(`${text.length}:`).update(text);
      total += tokensOf(text);
      prefixes.push({ id: hash.copy().digest("hex"), tokens: total, isMarked: isMarked || !explicit });
    }
    const marks = prefixes.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
    let read = 0;
    for (const mark of marks) {
      for (let index = mark; index >= Math.max(0, mark - LOOKBACK_BLOCKS); index--) {
        const prefix = prefixes[index];
        if (prefix && this.#entries.has(prefix.id)) read = Math.max(read, prefix.tokens);
      }
    }
    const last = prefixes[marks.at(-1) ?? -1]?.tokens ?? 0;
    for (const mark of marks) {
      const id = prefixes[mark]?.id;
      if (id !== undefined) this.#entries.add(id);
    }
    return { total, read, written: explicit ? last - read : 0 };
  }
}
