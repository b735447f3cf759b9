// Finds tools for a prompt. No rebuild when a server comes or goes, the same answer to the same question, and a reason for it.
import { TOOL_LIMITS } from "../limits.js";
import {
  DENSE_SHARE,
  EXACT_NAME_BONUS,
  IndexedTools,
  type ParsedQuery,
  parseQuery,
  type SearchDocument,
  type SearchField,
  strongestField,
  type Vocabulary,
} from "./indexed-tools.js";
import { type Scope, Scorer, SparseScores, type TermVisitor, type UsageScores, UsageView } from "./scorer.js";

export type { SearchDocument } from "./indexed-tools.js";
export type { UsageScores } from "./scorer.js";

export interface SearchMatch {
  /** The stem that was found in the tool. */
  readonly term: string;
  /** Where most of it is. */
  readonly field: SearchField | "usage" | "exact name" | "meaning";
  /** What it added to the score of the whole prompt, before clauses and embeddings; of a meaning, to the score. */
  readonly score: number;
}

export interface SearchHit {
  readonly id: string;
  /** Up to 1 for the words; an exact name comes on top. */
  readonly score: number;
  /** Best first. */
  readonly matches: readonly SearchMatch[];
}

export interface SearchOptions {
  readonly limit: number;
  /** Only tools of this server. */
  readonly server?: string;
  /** Places of one server while others fit. Most of the limit unless given. */
  readonly maxPerServer?: number;
  readonly usage?: UsageScores;
  /** By id, how close each tool is by an embedder's judgement. Those that are missing go by words alone. */
  readonly dense?: ReadonlyMap<string, number>;
}

export interface Explanation {
  /** From 1; undefined when nothing of the query fits the tool, or there is no such tool. */
  readonly rank: number | undefined;
  readonly hit: SearchHit | undefined;
  /** It would be among the results, but its server had its places already. */
  readonly isHeldBack: boolean;
}

interface Ranked {
  readonly query: ParsedQuery;
  readonly scope: Scope;
  readonly named: ReadonlySet<number>;
  readonly highest: number;
  /** What the embedder's judgement added to each score. */
  readonly meant: ReadonlyMap<number, number>;
  readonly selection: Selection;
}

const NO_SCORES: ReadonlyMap<string, number> = new Map();

export class ToolIndex {
  readonly #indexed = new IndexedTools();
  readonly #scorer = new Scorer(this.#indexed);
  /** Of the last query; used again, since a search must not cost memory. */
  readonly #scores = new SparseScores();

  /** How many tools there are. */
  get size(): number {
    return this.#indexed.size;
  }

  /** Replaces what there was of this server. Ids are unique: one that another server had moves to this one. */
  setServer(server: string, documents: readonly SearchDocument[]): void {
    this.#indexed.drop(server);
    this.#indexed.add(server, documents);
  }

  dropServer(server: string): void {
    this.#indexed.drop(server);
  }

  /** Best first; tools whose exact name the query says before all others. */
  search(query: string, options: SearchOptions): readonly SearchHit[] {
    const ranked = this.#rank(query, options);
    return this.#hits(ranked.selection.slots, ranked);
  }

  /** Where one tool stands, and why. */
  explain(query: string, id: string, options: SearchOptions): Explanation {
    const ranked = this.#rank(query, options);
    const { slots, heldBack } = ranked.selection;
    const slot = this.#indexed.slotOf(id);
    if (slot === undefined || this.#scores.of(slot) === 0)
      return { rank: undefined, hit: undefined, isHeldBack: false };
    const [hit] = this.#hits([slot], ranked);
    return { rank: this.#rankOf(slot, slots), hit, isHeldBack: heldBack.includes(slot) };
  }

  #rank(text: string, options: SearchOptions): Ranked {
    const indexed = this.#indexed;
    const usage = options.usage ? new UsageView(options.usage, indexed) : undefined;
    const vocabulary: Vocabulary = {
      size: indexed.size,
      countOf: (term) => indexed.countOf(term) + (usage?.countOf(term) ?? 0),
    };
    const scope: Scope = { server: options.server, usage };
    const query = parseQuery(text, vocabulary);
    const highest = this.#scorer.score(query, scope, this.#scores);
    const meant = this.#mixDense(options.dense ?? NO_SCORES, scope);
    const inScope = (slot: number) => scope.server === undefined || indexed.serverOf(slot) === scope.server;
    const named = new Set([...namedTools(text, indexed)].filter(inScope));
    for (const slot of named) this.#scores.add(slot, EXACT_NAME_BONUS);
    return { query, scope, named, highest, meant, selection: select(this.#scores, indexed, named, options) };
  }

  /** Returns what was added to each slot. A tool without any word of the query must stand out to be found. */
  #mixDense(dense: ReadonlyMap<string, number>, { server }: Scope): ReadonlyMap<number, number> {
    const meant = new Map<number, number>();
    const { lowest, highest, average } = rangeOf([...dense.values()]);
    if (!(highest > lowest)) return meant;
    const found = new Set<number>();
    this.#scores.scale(1 - DENSE_SHARE);
    for (let at = 0; at < this.#scores.count; at++) {
      const slot = this.#scores.slotAt(at);
      found.add(slot);
      const lost = (this.#scores.of(slot) * DENSE_SHARE) / (1 - DENSE_SHARE);
      if (!dense.has(this.#indexed.idOf(slot))) this.#scores.add(slot, lost);
    }
    for (const [id, value] of dense) {
      const slot = this.#indexed.slotOf(id);
      if (slot === undefined || !(value > lowest) || value > highest) continue;
      if (server !== undefined && this.#indexed.serverOf(slot) !== server) continue;
      if (!found.has(slot) && value < (average + highest) / 2) continue;
      const score = (DENSE_SHARE * (value - lowest)) / (highest - lowest);
      meant.set(slot, score);
      this.#scores.add(slot, score);
    }
    return meant;
  }

  /** Results keep their places; all others follow by score. */
  #rankOf(slot: number, slots: readonly number[]): number {
    const place = slots.indexOf(slot);
    if (place !== -1) return place + 1;
    let better = 0;
    for (let at = 0; at < this.#scores.count; at++) {
      const other = this.#scores.slotAt(at);
      if (isBetter(other, slot, this.#scores, this.#indexed) && !slots.includes(other)) better++;
    }
    return slots.length + better + 1;
  }

  #hits(slots: readonly number[], { query, scope, named, highest, meant }: Ranked): readonly SearchHit[] {
    const matches = new Map<number, SearchMatch[]>(slots.map((slot) => [slot, []]));
    const isHit = new Uint8Array(this.#indexed.capacity);
    for (const slot of slots) isHit[slot] = 1;
    for (const [concept, weight] of query.whole) {
      const best = new Map<number, SearchMatch>();
      for (const variant of query.concepts[concept]?.variants ?? []) {
        const visitor: TermVisitor = (slot, value, packed) => {
          const score = (weight * variant.weight * value) / highest;
          if (score <= (best.get(slot)?.score ?? 0)) return;
          best.set(slot, { term: variant.term, field: packed === 0 ? "usage" : strongestField(packed), score });
        };
        this.#scorer.visit(variant.term, scope, visitor, isHit);
      }
      for (const [slot, match] of best) matches.get(slot)?.push(match);
    }
    return slots.map((slot) => {
      const id = this.#indexed.idOf(slot);
      const score = meant.get(slot);
      if (score !== undefined) matches.get(slot)?.push({ term: "meaning", field: "meaning", score });
      const found = (matches.get(slot) ?? []).sort((a, b) => b.score - a.score || (a.term < b.term ? -1 : 1));
      if (named.has(slot)) found.unshift({ term: id, field: "exact name", score: EXACT_NAME_BONUS });
      return { id, score: this.#scores.of(slot), matches: found };
    });
  }
}

/**
 * Cosines of one model lie between 0 and 0.6, of another between 0.6 and 0.9: what counts is where a tool lies between two
 * deviations below the average and the closest tool.
 */
function rangeOf(values: readonly number[]): { lowest: number; highest: number; average: number } {
  const finite = values.filter((value) => Number.isFinite(value));
  const average = finite.reduce((sum, value) => sum + value, 0) / finite.length;
  const variance = finite.reduce((sum, value) => sum + (value - average) ** 2, 0) / finite.length;
  const highest = finite.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  return { lowest: average - 2 * Math.sqrt(variance), highest, average };
}

// Tools that a prompt names: those come first whatever their words are worth.
const RUN = /[\p{L}\p{N}_][\p{L}\p{N}_.:/-]*/gu;
/** `get_forecast`, `math.sum`, `getForecast`, `list-files`: nobody writes that by chance, as they do `search`. */
const IDENTIFIER = /[_.:/-]|\p{Ll}\p{Lu}/u;
const END_OF_SENTENCE = /[.:/-]+$/u;
const QUOTED = /`([^`\n]{1,256})`/gu;
const MAX_NAME_CHARS = 1_024;

/** The whole prompt as a name, what stands in backticks, and whatever looks like an identifier and is one. */
function namedTools(query: string, indexed: IndexedTools): ReadonlySet<number> {
  const { headChars, tailChars, names } = TOOL_LIMITS.toolSearchQuery;
  const found = new Set<number>();
  const trimmed = query.trim();
  if (trimmed.length <= MAX_NAME_CHARS) addNamed(trimmed, indexed, found);
  const bounded =
    query.length <= headChars + tailChars ? query : `${query.slice(0, headChars)}\n${query.slice(-tailChars)}`;
  for (const [, name = ""] of bounded.matchAll(QUOTED)) addNamed(name.trim(), indexed, found);
  for (const [run] of bounded.matchAll(RUN)) {
    if (found.size >= names) break;
    const name = run.replace(END_OF_SENTENCE, "");
    if (IDENTIFIER.test(name)) addNamed(name, indexed, found);
  }
  return found;
}

function addNamed(name: string, indexed: IndexedTools, found: Set<number>): void {
  const slot = indexed.slotOf(name);
  if (slot !== undefined) found.add(slot);
  for (const named of indexed.slotsNamed(name)) found.add(named);
}

interface Selection {
  readonly slots: readonly number[];
  /** Slots that would be among them if their server did not have its places already. */
  readonly heldBack: readonly number[];
}

/**
 * The best of many scores, best first. Places of one server are bounded, except for tools the prompt named, and filled up
 * with more of it only when nothing else fits.
 */
function select(
  scores: SparseScores,
  indexed: IndexedTools,
  named: ReadonlySet<number>,
  options: SearchOptions,
): Selection {
  const limit = Number.isFinite(options.limit) ? Math.max(0, Math.floor(options.limit)) : Number.MAX_SAFE_INTEGER;
  const { share, least } = TOOL_LIMITS.toolSearchServer;
  const most = Math.max(least, options.maxPerServer ?? Math.floor(limit * share));
  const maxPerServer = options.server === undefined ? most : Number.MAX_SAFE_INTEGER;
  const ranking = new Ranking(scores, indexed);
  const chosen: number[] = [];
  const heldBack: number[] = [];
  const perServer = new Map<string, number>();
  while (chosen.length < limit) {
    const slot = ranking.next();
    if (slot === undefined) break;
    const server = indexed.serverOf(slot);
    const taken = perServer.get(server) ?? 0;
    if (server !== "" && taken >= maxPerServer && !named.has(slot)) {
      heldBack.push(slot);
      continue;
    }
    perServer.set(server, taken + 1);
    chosen.push(slot);
  }
  const filled = heldBack.splice(0, limit - chosen.length);
  if (filled.length === 0) return { slots: chosen, heldBack };
  const slots = [...chosen, ...filled].sort((a, b) => (isBetter(a, b, scores, indexed) ? -1 : 1));
  return { slots, heldBack };
}

/** Equal scores by id, so that the same question always has the same answer. */
function isBetter(a: number, b: number, scores: SparseScores, indexed: IndexedTools): boolean {
  const [ofA, ofB] = [scores.of(a), scores.of(b)];
  return ofA === ofB ? indexed.idOf(a) < indexed.idOf(b) : ofA > ofB;
}

/** A heap: a few of thousands are wanted, and how many is not known before. */
class Ranking {
  readonly #heap: Int32Array;
  readonly #scores: SparseScores;
  readonly #indexed: IndexedTools;
  #size: number;

  constructor(scores: SparseScores, indexed: IndexedTools) {
    this.#scores = scores;
    this.#indexed = indexed;
    this.#size = scores.count;
    this.#heap = new Int32Array(this.#size);
    for (let at = 0; at < this.#size; at++) this.#heap[at] = scores.slotAt(at);
    for (let at = (this.#size >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  next(): number | undefined {
    if (this.#size === 0) return undefined;
    const best = this.#heap[0];
    this.#heap[0] = this.#heap[--this.#size] ?? 0;
    this.#sink(0);
    return best;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const slot = heap[from] ?? 0;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#isBetter(heap[child + 1] ?? 0, heap[child] ?? 0)) child++;
      if (!this.#isBetter(heap[child] ?? 0, slot)) break;
      heap[at] = heap[child] ?? 0;
      at = child;
    }
    heap[at] = slot;
  }

  #isBetter(a: number, b: number): boolean {
    return isBetter(a, b, this.#scores, this.#indexed);
  }
}
