// The tools of an index by slot: which server each is of, how long its texts are, what it is called.

import { type PostingList, Postings } from "./postings.js";
import { COUNT_BITS, FIELD_TENTHS, FIELDS, MAX_COUNT, type SearchField } from "./ranking.js";
import { countTerms, type SearchDocument } from "./tool-fields.js";

interface Shelved {
  readonly id: string;
  readonly server: string;
  /** As it is looked up: in lower case. */
  readonly name: string;
}

export class IndexedTools {
  readonly #postings = new Postings();
  readonly #tools: (Shelved | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #slotOfId = new Map<string, number>();
  readonly #slotsOfServer = new Map<string, Set<number>>();
  /** A lone number where only one tool has the name, as is usual. */
  readonly #slotsOfName = new Map<string, number | readonly number[]>();
  #lengthsTenths = new Float64Array(64);
  #totalTenths = 0;

  get size(): number {
    return this.#slotOfId.size;
  }

  /** Every slot is below this. */
  get capacity(): number {
    return this.#tools.length;
  }

  /** Weighted length of all tools. A whole number, so that it does not matter in which order they came. */
  get totalTenths(): number {
    return this.#totalTenths;
  }

  postingsOf(term: string): PostingList | undefined {
    return this.#postings.of(term);
  }

  /** How many tools have the term. */
  countOf(term: string): number {
    return (this.#postings.of(term)?.length ?? 0) / 2;
  }

  /** By slot, the weighted length of a tool. */
  get lengthsTenths(): Float64Array {
    return this.#lengthsTenths;
  }

  idOf(slot: number): string {
    return this.#tools[slot]?.id ?? "";
  }

  serverOf(slot: number): string {
    return this.#tools[slot]?.server ?? "";
  }

  slotOf(id: string): number | undefined {
    return this.#slotOfId.get(id);
  }

  /** Tools of this name, upper and lower case being the same. */
  slotsNamed(name: string): readonly number[] {
    const slots = this.#slotsOfName.get(name.toLowerCase());
    return slots === undefined ? [] : typeof slots === "number" ? [slots] : slots;
  }

  add(server: string, documents: readonly SearchDocument[]): void {
    const unique = new Map(documents.map((document) => [document.id, document]));
    this.#remove([...unique.keys()].flatMap((id) => this.#slotOfId.get(id) ?? []));
    for (const document of unique.values()) this.#put(server, document);
  }

  drop(server: string): void {
    this.#remove([...(this.#slotsOfServer.get(server) ?? [])]);
  }

  #put(server: string, document: SearchDocument): void {
    const slot = this.#freeSlots.pop() ?? this.#tools.length;
    const { counts, lengthTenths } = countTerms(document);
    const tool: Shelved = { id: document.id, server, name: document.name.toLowerCase() };
    this.#tools[slot] = tool;
    if (slot >= this.#lengthsTenths.length) {
      const longer = new Float64Array(slot * 2);
      longer.set(this.#lengthsTenths);
      this.#lengthsTenths = longer;
    }
    this.#lengthsTenths[slot] = lengthTenths;
    this.#totalTenths += lengthTenths;
    this.#slotOfId.set(tool.id, slot);
    const siblings = this.#slotsOfServer.get(server);
    if (siblings) siblings.add(slot);
    else this.#slotsOfServer.set(server, new Set([slot]));
    const namesakes = this.slotsNamed(tool.name);
    this.#slotsOfName.set(tool.name, namesakes.length === 0 ? slot : [...namesakes, slot]);
    for (const [term, packed] of counts) this.#postings.add(term, slot, packed);
  }

  #remove(slots: readonly number[]): void {
    if (slots.length === 0) return;
    this.#postings.remove(new Set(slots));
    for (const slot of slots) {
      const tool = this.#tools[slot];
      if (!tool) continue;
      this.#tools[slot] = undefined;
      this.#freeSlots.push(slot);
      this.#totalTenths -= this.#lengthsTenths[slot] ?? 0;
      this.#slotOfId.delete(tool.id);
      const siblings = this.#slotsOfServer.get(tool.server);
      siblings?.delete(slot);
      if (siblings?.size === 0) this.#slotsOfServer.delete(tool.server);
      const namesakes = this.slotsNamed(tool.name).filter((other) => other !== slot);
      if (namesakes.length === 0) this.#slotsOfName.delete(tool.name);
      else this.#slotsOfName.set(tool.name, namesakes);
    }
  }
}

/** How often a term occurs in a tool, each field by its weight. */
export function frequencyOf(packed: number): number {
  let tenths = 0;
  for (let rest = packed, field = 0; rest !== 0; rest >>>= COUNT_BITS, field++) {
    tenths += (rest & MAX_COUNT) * (FIELD_TENTHS[field] ?? 0);
  }
  return tenths / 10;
}

/** The field that most of it comes from. */
export function strongestField(packed: number): SearchField {
  let best: SearchField = FIELDS[0];
  let most = 0;
  for (const [field, name] of FIELDS.entries()) {
    const tenths = ((packed >>> (field * COUNT_BITS)) & MAX_COUNT) * (FIELD_TENTHS[field] ?? 0);
    if (tenths > most) [best, most] = [name, tenths];
  }
  return best;
}
