// The best of many scores, best first, with no server having all the places while others fit too.
import type { IndexedTools } from "./indexed-tools.js";
import type { SparseScores } from "./sparse-scores.js";

export interface Selection {
  readonly slots: readonly number[];
  /** Slots that would be among them if their server did not have its places already. */
  readonly heldBack: readonly number[];
}

export interface SelectionBounds {
  readonly limit: number;
  /** Places of one server. They are filled up with more of it only when nothing else fits. */
  readonly maxPerServer: number;
  /** Slots that the bound does not hold back: the prompt named them. */
  readonly isNamed: (slot: number) => boolean;
}

export function select(scores: SparseScores, indexed: IndexedTools, bounds: SelectionBounds): Selection {
  const { limit, maxPerServer, isNamed } = bounds;
  const ranking = new Ranking(scores, indexed);
  const chosen: number[] = [];
  const heldBack: number[] = [];
  const perServer = new Map<string, number>();
  while (chosen.length < limit) {
    const slot = ranking.next();
    if (slot === undefined) break;
    const server = indexed.serverOf(slot);
    const taken = perServer.get(server) ?? 0;
    if (server !== "" && taken >= maxPerServer && !isNamed(slot)) {
      heldBack.push(slot);
      continue;
    }
    perServer.set(server, taken + 1);
    chosen.push(slot);
  }
  const filled = heldBack.splice(0, limit - chosen.length);
  return { slots: filled.length === 0 ? chosen : inOrder([...chosen, ...filled], scores, indexed), heldBack };
}

function inOrder(slots: readonly number[], scores: SparseScores, indexed: IndexedTools): readonly number[] {
  return [...slots].sort((a, b) => (isBetter(a, b, scores, indexed) ? -1 : 1));
}

/** Equal scores by id, so that the same question always has the same answer. */
export function isBetter(a: number, b: number, scores: SparseScores, indexed: IndexedTools): boolean {
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
