// BM25F of a parsed query over the indexed tools: the whole prompt, mixed with the clause that fits each tool best.
import {
  B,
  CLAUSE_SHARE,
  type Concept,
  frequencyOf,
  type IndexedTools,
  K1,
  type ParsedQuery,
  USAGE_TENTHS,
  type WeightedConcepts,
} from "./indexed-tools.js";

export interface Scope {
  /** Only tools of this server. What is rare is still judged by all. */
  readonly server?: string | undefined;
  readonly usage?: UsageView | undefined;
}

/** `packed` is 0 where the term is only in remembered prompts. */
export type TermVisitor = (slot: number, score: number, packed: number) => void;

/** Taken with the first search: most sessions that lie idle never had one. */
const FIRST_ROOM = 1_024;

export class Scorer {
  readonly #indexed: IndexedTools;
  /** Slots and scores of all concepts, one after the other: concept n from `#starts[n]` to `#starts[n + 1]`. */
  #slots = new Int32Array(0);
  #scores = new Float64Array(0);
  #starts: number[] = [];
  #end = 0;
  /** Where the current concept has a slot. Not cleared: a place counts if the slot is really there. */
  #places = new Int32Array(0);
  readonly #part = new SparseScores();
  readonly #best = new SparseScores();

  constructor(indexed: IndexedTools) {
    this.#indexed = indexed;
  }

  /** Fills `into` with scores up to 1 and returns what the best score of the whole prompt was before it was made 1. */
  score(query: ParsedQuery, scope: Scope, into: SparseScores): number {
    const { capacity } = this.#indexed;
    if (this.#places.length < capacity) this.#places = new Int32Array(Math.ceil(capacity * 1.25));
    this.#starts = [0];
    this.#end = 0;
    for (const concept of query.concepts) {
      this.#scoreConcept(concept, scope);
      this.#starts.push(this.#end);
    }
    const highest = this.#sum(query.whole, into);
    if (highest === 0) return 0;
    if (query.clauses.length === 0) {
      into.scale(1 / highest);
      return highest;
    }
    into.scale((1 - CLAUSE_SHARE) / highest);
    this.#best.reset(capacity);
    for (const clause of query.clauses) {
      const most = this.#sum(clause, this.#part);
      if (most === 0) continue;
      for (let at = 0; at < this.#part.count; at++) {
        const slot = this.#part.slotAt(at);
        this.#best.raise(slot, this.#part.of(slot) / most);
      }
    }
    for (let at = 0; at < this.#best.count; at++) {
      const slot = this.#best.slotAt(at);
      into.add(slot, CLAUSE_SHARE * this.#best.of(slot));
    }
    return highest;
  }

  /** The tools in scope that have the term, with what it is worth there; of those in `among` if that is given. */
  visit(term: string, scope: Scope, visitor: TermVisitor, among?: Uint8Array): void {
    const indexed = this.#indexed;
    const { server, usage } = scope;
    const list = indexed.postingsOf(term) ?? [];
    const uses = usage && usage.countOf(term) > 0 ? usage.countsOf(term) : undefined;
    const having = documentFrequency(list, uses);
    const rarity = Math.log(1 + (indexed.size - having + 0.5) / (having + 0.5)) * (K1 + 1);
    const lengths = indexed.lengthsTenths;
    const slope = (K1 * B * indexed.size) / (indexed.totalTenths + (usage?.totalTenths ?? 0));
    for (let at = 0; at < list.length; at += 2) {
      const slot = list[at] ?? 0;
      const used = uses?.get(slot) ?? 0;
      if (used > 0) uses?.delete(slot);
      if (among !== undefined && among[slot] !== 1) continue;
      if (server !== undefined && indexed.serverOf(slot) !== server) continue;
      const packed = list[at + 1] ?? 0;
      const frequency = frequencyOf(packed) + (used * USAGE_TENTHS) / 10;
      const length = (lengths[slot] ?? 0) + (usage?.tenths.get(slot) ?? 0);
      visitor(slot, (rarity * frequency) / (frequency + K1 * (1 - B) + slope * length), packed);
    }
    for (const [slot, used] of uses ?? []) {
      if (among !== undefined && among[slot] !== 1) continue;
      if (server !== undefined && indexed.serverOf(slot) !== server) continue;
      const frequency = (used * USAGE_TENTHS) / 10;
      const length = (lengths[slot] ?? 0) + (usage?.tenths.get(slot) ?? 0);
      visitor(slot, (rarity * frequency) / (frequency + K1 * (1 - B) + slope * length), 0);
    }
  }

  #scoreConcept({ variants }: Concept, scope: Scope): void {
    const start = this.#end;
    for (const { term, weight } of variants) {
      this.visit(term, scope, (slot, score) => {
        const place = this.#places[slot] ?? 0;
        if (place >= start && place < this.#end && this.#slots[place] === slot) {
          if (weight * score > (this.#scores[place] ?? 0)) this.#scores[place] = weight * score;
        } else this.#append(slot, weight * score);
      });
    }
  }

  #append(slot: number, score: number): void {
    if (this.#end === this.#slots.length) {
      const room = Math.max(FIRST_ROOM, this.#end * 2);
      const slots = new Int32Array(room);
      const scores = new Float64Array(room);
      slots.set(this.#slots);
      scores.set(this.#scores);
      this.#slots = slots;
      this.#scores = scores;
    }
    this.#places[slot] = this.#end;
    this.#slots[this.#end] = slot;
    this.#scores[this.#end++] = score;
  }

  #sum(concepts: WeightedConcepts, into: SparseScores): number {
    into.reset(this.#indexed.capacity);
    for (const [concept, weight] of concepts) {
      const end = this.#starts[concept + 1] ?? 0;
      for (let at = this.#starts[concept] ?? 0; at < end; at++) {
        into.add(this.#slots[at] ?? 0, weight * (this.#scores[at] ?? 0));
      }
    }
    return into.highest();
  }
}

function documentFrequency(list: readonly number[], uses: ReadonlyMap<number, number> | undefined): number {
  const own = list.length / 2;
  if (!uses) return own;
  let both = 0;
  for (let at = 0; at < list.length; at += 2) if (uses.has(list[at] ?? 0)) both++;
  return own + uses.size - both;
}

// Scores of few slots among many, in memory that is used again for the next query.
export class SparseScores {
  #values = new Float64Array(0);
  #touched = new Int32Array(0);
  #count = 0;

  /** Forgets all scores; slots below `capacity` may follow. */
  reset(capacity: number): void {
    if (capacity > this.#values.length) {
      const room = Math.ceil(capacity * 1.25);
      this.#values = new Float64Array(room);
      this.#touched = new Int32Array(room);
    } else {
      for (let at = 0; at < this.#count; at++) this.#values[this.#touched[at] ?? 0] = 0;
    }
    this.#count = 0;
  }

  get count(): number {
    return this.#count;
  }

  /** The slot that was the `at`th to get a score. */
  slotAt(at: number): number {
    return this.#touched[at] ?? 0;
  }

  of(slot: number): number {
    return this.#values[slot] ?? 0;
  }

  /** Only values above zero count: a slot with a score of nothing has none. */
  add(slot: number, value: number): void {
    if (!(value > 0)) return;
    const before = this.#values[slot] ?? 0;
    if (before === 0) this.#touched[this.#count++] = slot;
    this.#values[slot] = before + value;
  }

  raise(slot: number, value: number): void {
    if (!(value > 0)) return;
    const before = this.#values[slot] ?? 0;
    if (before === 0) this.#touched[this.#count++] = slot;
    if (value > before) this.#values[slot] = value;
  }

  scale(factor: number): void {
    for (let at = 0; at < this.#count; at++) {
      const slot = this.#touched[at] ?? 0;
      this.#values[slot] = (this.#values[slot] ?? 0) * factor;
    }
  }

  highest(): number {
    let highest = 0;
    for (let at = 0; at < this.#count; at++) highest = Math.max(highest, this.#values[this.#touched[at] ?? 0] ?? 0);
    return highest;
  }
}

// What is remembered of earlier prompts, by slot instead of by id: one more field of the tools it is about.
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
  /** Weighted length of the field by slot. */
  readonly tenths: Map<number, number> = new Map();
  /** Weighted length of the field over all tools. */
  readonly totalTenths: number = 0;

  constructor(usage: UsageScores, indexed: IndexedTools) {
    this.#usage = usage;
    this.#indexed = indexed;
    for (const [id, length] of usage.lengths) {
      const slot = indexed.slotOfKey(id);
      if (slot === undefined) continue;
      this.tenths.set(slot, length * USAGE_TENTHS);
      this.totalTenths += length * USAGE_TENTHS;
    }
  }

  /** By slot, how often the term was in prompts; a map of the caller's own. */
  countsOf(term: string): Map<number, number> {
    const counts = new Map<number, number>();
    for (const [id, count] of this.#usage.counts.get(term) ?? []) {
      const slot = this.#indexed.slotOfKey(id);
      if (slot !== undefined) counts.set(slot, count);
    }
    return counts;
  }

  /** How many tools had it in their prompts, known ones or not. */
  countOf(term: string): number {
    return this.#usage.counts.get(term)?.size ?? 0;
  }
}
