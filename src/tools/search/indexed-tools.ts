// The tools of an index by slot: which server each is of, how long its texts are, what it is called.
import { isJsonObject, type JsonSchema, type JsonValue } from "../../base/json/json.js";
import { relatedTerms, type TextBounds, termOf, termsOf, wordsOf } from "../../base/text/terms.js";
import { TOOL_LIMITS } from "../limits.js";

/** Its name as it is looked up: in lower case. */
type IndexedTool = Readonly<Record<"id" | "key" | "server" | "name", string>>;

export class IndexedTools {
  /** By term, which tools have it and how often in which field. One list of numbers a term: thousands of tools stay small. */
  readonly #postings = new Map<string, number[]>();
  readonly #tools: (IndexedTool | undefined)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #slotOfId = new Map<string, number>();
  /** Only of tools whose key is not their id. */
  readonly #slotOfKey = new Map<string, number>();
  readonly #slotsOfServer = new Map<string, Set<number>>();
  /** A single number where only one tool has the name, as is usual. */
  readonly #slotsOfName = new Map<string, number | readonly number[]>();
  /** By slot, the weighted length of a tool. */
  lengthsTenths: Float64Array = new Float64Array(64);
  /** Weighted length of all tools. A whole number, so that it does not matter in which order they came. */
  totalTenths = 0;

  get size(): number {
    return this.#slotOfId.size;
  }

  /** Every slot is below this. */
  get capacity(): number {
    return this.#tools.length;
  }

  postingsOf(term: string): PostingList | undefined {
    return this.#postings.get(term);
  }

  /** How many tools have the term. */
  countOf(term: string): number {
    return (this.#postings.get(term)?.length ?? 0) / 2;
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

  slotOfKey(key: string): number | undefined {
    return this.#slotOfKey.get(key) ?? this.#slotOfId.get(key);
  }

  /** Tools of this name, upper and lower case being the same. */
  slotsNamed(name: string): readonly number[] {
    const slots = this.#slotsOfName.get(name.toLowerCase()) ?? [];
    return typeof slots === "number" ? [slots] : slots;
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
    const { id, key = id } = document;
    const tool: IndexedTool = { id, key, server, name: document.name.toLowerCase() };
    this.#tools[slot] = tool;
    if (slot >= this.lengthsTenths.length) {
      const longer = new Float64Array(slot * 2);
      longer.set(this.lengthsTenths);
      this.lengthsTenths = longer;
    }
    this.lengthsTenths[slot] = lengthTenths;
    this.totalTenths += lengthTenths;
    this.#slotOfId.set(id, slot);
    if (key !== id) this.#slotOfKey.set(key, slot);
    const siblings = this.#slotsOfServer.get(server);
    if (siblings) siblings.add(slot);
    else this.#slotsOfServer.set(server, new Set([slot]));
    const namesakes = this.slotsNamed(tool.name);
    this.#slotsOfName.set(tool.name, namesakes.length === 0 ? slot : [...namesakes, slot]);
    for (const [term, packed] of counts) {
      const list = this.#postings.get(term);
      if (list) list.push(slot, packed);
      else this.#postings.set(term, [slot, packed]);
    }
  }

  #remove(slots: readonly number[]): void {
    if (slots.length === 0) return;
    this.#removePostings(slots);
    for (const slot of slots) {
      const tool = this.#tools[slot];
      if (!tool) continue;
      this.#tools[slot] = undefined;
      this.#freeSlots.push(slot);
      this.totalTenths -= this.lengthsTenths[slot] ?? 0;
      this.#slotOfId.delete(tool.id);
      this.#slotOfKey.delete(tool.key);
      const siblings = this.#slotsOfServer.get(tool.server);
      siblings?.delete(slot);
      if (siblings?.size === 0) this.#slotsOfServer.delete(tool.server);
      const namesakes = this.slotsNamed(tool.name).filter((other) => other !== slot);
      if (namesakes.length === 0) this.#slotsOfName.delete(tool.name);
      else this.#slotsOfName.set(tool.name, namesakes);
    }
  }

  /** One walk over everything (5 ms for 10,000 tools): keeping each tool's terms instead would double the memory. */
  #removePostings(slots: readonly number[]): void {
    const isGone = new Uint8Array(this.capacity);
    for (const slot of slots) isGone[slot] = 1;
    for (const [term, list] of this.#postings) {
      let kept = 0;
      for (let at = 0; at < list.length; at += 2) {
        const slot = list[at] ?? 0;
        if (isGone[slot] === 1) continue;
        if (kept !== at) {
          list[kept] = slot;
          list[kept + 1] = list[at + 1] ?? 0;
        }
        kept += 2;
      }
      if (kept === 0) this.#postings.delete(term);
      else if (kept < list.length) list.length = kept;
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

/** Slots and packed counts in turn. */
type PostingList = readonly number[];

// A tool as six lists of terms. Everything here was written by strangers: each field counts up to a limit.
export interface SearchDocument {
  /** What a hit is called; one tool of one server. */
  readonly id: string;
  /** By which remembered prompts know the tool; the id unless given. */
  readonly key?: string;
  /** Empty where there is none: then the tool stands for itself. */
  readonly server: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly schema?: JsonSchema;
}

const { nameChars, nameWords, textChars, textWords } = TOOL_LIMITS.toolSearchField;
const NAME_BOUNDS: TextBounds = { maxChars: nameChars, maxWords: nameWords };
const TEXT_BOUNDS: TextBounds = { maxChars: textChars, maxWords: textWords };

/** How often each term occurs, by field (packed, see `COUNT_BITS`), and the weighted length of all fields in tenths. */
function countTerms(document: SearchDocument) {
  const counts = new Map<string, number>();
  let lengthTenths = 0;
  for (const [field, terms] of fieldTerms(document).entries()) {
    lengthTenths += terms.length * (FIELD_TENTHS[field] ?? 0);
    const shift = field * COUNT_BITS;
    for (const term of terms) {
      const packed = counts.get(term) ?? 0;
      if (((packed >>> shift) & MAX_COUNT) < MAX_COUNT) counts.set(term, packed + (1 << shift));
    }
  }
  return { counts, lengthTenths };
}

/** In the order of `FIELDS`. */
function fieldTerms({ server, name, title, description, schema }: SearchDocument): readonly string[][] {
  const names = termsOf(name, NAME_BOUNDS);
  // Most titles say the name again, which would only make it longer.
  if (title !== undefined) names.push(...termsOf(title, NAME_BOUNDS).filter((term) => !names.includes(term)));
  const words = wordsOfSchema(schema);
  return [
    names,
    termsOf(description, TEXT_BOUNDS),
    termsOf(server, NAME_BOUNDS),
    termsOf(words.properties.join(" "), TEXT_BOUNDS),
    termsOf(words.descriptions.join(" "), TEXT_BOUNDS),
    termsOf(words.values.join(" "), TEXT_BOUNDS),
  ];
}

type SchemaWords = Readonly<Record<"properties" | "descriptions" | "values", string[]>>;

const NESTED = ["items", "anyOf", "oneOf", "allOf", "additionalProperties", "$defs", "definitions"] as const;

/** Breadth first, so that a deep corner cannot use up what the outer properties need. */
function wordsOfSchema(schema: JsonSchema = {}): SchemaWords {
  const words: SchemaWords = { properties: [], descriptions: [], values: [] };
  const waiting: JsonValue[] = [schema];
  for (let taken = 0; taken < waiting.length && taken < TOOL_LIMITS.toolSearchField.schemaNodes; taken++) {
    const node = waiting[taken];
    if (Array.isArray(node)) for (const part of node) waiting.push(part);
    else if (isJsonObject(node)) addNode(node, words, waiting);
  }
  return words;
}

function addNode(node: JsonSchema, words: SchemaWords, waiting: JsonValue[]): void {
  const { properties, enum: values } = node;
  if (isJsonObject(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      if (words.properties.length >= TOOL_LIMITS.toolSearchField.schemaNodes) break;
      words.properties.push(name);
      if (property === undefined || !isJsonObject(property)) continue;
      if (typeof property["description"] === "string") words.descriptions.push(property["description"]);
      waiting.push(property);
    }
  }
  if (Array.isArray(values)) {
    const room = TOOL_LIMITS.toolSearchField.schemaNodes - words.values.length;
    for (const value of values.slice(0, room)) if (typeof value === "string") words.values.push(value);
  }
  for (const key of NESTED) {
    const part = node[key];
    if (part === undefined || typeof part !== "object" || part === null) continue;
    // Named definitions are schemas under names that only the schema itself uses.
    if (key === "$defs" || key === "definitions") waiting.push(Object.values(part).filter((one) => one !== undefined));
    else waiting.push(part);
  }
}

// The numbers of the ranking: BM25F over six fields, and what may be added to it. Measured on public sets, tuned to none.
/** In the order in which a posting packs their counts. */
const FIELDS = ["name", "description", "server", "property", "property description", "enum"] as const;
export type SearchField = (typeof FIELDS)[number];

/** In tenths, so that lengths add up exactly: an index that had servers added and dropped equals one built at once. */
const FIELD_TENTHS: readonly number[] = [20, 10, 10, 5, 3, 2];
/** Terms of earlier prompts that led to the tool count as a seventh field. */
export const USAGE_TENTHS = 5;

/** BM25: how soon more of the same term adds nothing, and how much long texts are held against a tool. */
export const K1 = 1.2;
export const B = 0.6;
/** A word said twice in a prompt counts for more than one said once, but never for twice as much. */
const QUERY_SATURATION = 1;

/** Share of the best clause; the whole prompt has the rest. A tool often answers to one sentence of several. */
export const CLAUSE_SHARE = 0.3;
export const DENSE_SHARE = 0.3;
/** A related word instead of the one that was said; more when no tool has the one that was said. */
const RELATED_WEIGHT = 0.3;
const RELATED_WEIGHT_UNSEEN = 0.6;
/** A related word that more of the tools have (and more than a few) tells none apart, and costs the most time. */
const RELATED_MAX_SHARE = 0.05;
const RELATED_MAX_TOOLS = 50;
/** More than everything else together can add up to. */
export const EXACT_NAME_BONUS = 2;

/** Bits of a posting's count per field: six fields in a small integer. More of the same term adds next to nothing. */
const COUNT_BITS = 5;
const MAX_COUNT: number = 2 ** COUNT_BITS - 1;

/** One thing that was said, and the terms it may be found by. Of these the best match counts, not their sum. */
export interface Concept {
  readonly variants: readonly { readonly term: string; readonly weight: number }[];
}

/** Concepts by their place in `ParsedQuery.concepts`, with the weight of how often they were said. */
export type WeightedConcepts = ReadonlyMap<number, number>;

export interface ParsedQuery {
  readonly concepts: readonly Concept[];
  readonly whole: WeightedConcepts;
  /** Empty where there is only one. */
  readonly clauses: readonly WeightedConcepts[];
}

export interface Vocabulary {
  /** How many tools there are. */
  readonly size: number;
  /** How many of them have the term. */
  countOf(term: string): number;
}

/** Ends of sentences (not the dots in names and numbers), lines, and what people join several wishes with. */
const CLAUSE_END = /[.!?](?:\s|$)|[;\n。！？；]|,\s+(?:and|then|also|but|or)\s|\s(?:and then|and also|as well as)\s/iu;
const BETWEEN = "\n";

export function parseQuery(text: string, vocabulary: Vocabulary): ParsedQuery {
  const { headChars, tailChars, headTerms, tailTerms } = TOOL_LIMITS.toolSearchQuery;
  const isLong = text.length > headChars + tailChars;
  const bounded = isLong ? `${text.slice(0, headChars)}${BETWEEN}${text.slice(-tailChars)}` : text;
  const clauses = bounded.split(CLAUSE_END).map((clause) => saidTerms(clause, vocabulary));
  const said = new Map<string, number>();
  for (const clause of clauses) for (const [term, times] of clause) said.set(term, (said.get(term) ?? 0) + times);
  const terms = ends([...said.keys()], headTerms, tailTerms);
  const places = new Map(terms.map((term, place) => [term, place]));
  const weigh = (counts: ReadonlyMap<string, number>): WeightedConcepts => {
    const weights = new Map<number, number>();
    for (const [term, times] of counts) {
      const place = places.get(term);
      if (place !== undefined) weights.set(place, (times * (QUERY_SATURATION + 1)) / (times + QUERY_SATURATION));
    }
    return weights;
  };
  const weighed = clauses.map(weigh).filter(({ size }) => size > 0);
  return {
    concepts: terms.map((term) => conceptOf(term, vocabulary)),
    whole: weigh(said),
    clauses:
      weighed.length > 1
        ? ends(weighed, TOOL_LIMITS.toolSearchQuery.headClauses, TOOL_LIMITS.toolSearchQuery.tailClauses)
        : [],
  };
}

/** Terms and how often they were said; neighbours also as one word where a tool has that (`user info`, `userinfo`). */
function saidTerms(clause: string, vocabulary: Vocabulary): ReadonlyMap<string, number> {
  const { headChars, tailChars } = TOOL_LIMITS.toolSearchQuery;
  const words = wordsOf(clause, { maxChars: headChars + tailChars + 1, maxWords: headChars });
  const said = new Map<string, number>();
  for (const word of words) {
    const term = termOf(word);
    if (term !== undefined) said.set(term, (said.get(term) ?? 0) + 1);
  }
  for (const [index, word] of words.entries()) {
    const next = words[index + 1];
    if (next === undefined || word.length < 2 || next.length < 2) continue;
    if (termOf(word) === undefined && termOf(next) === undefined) continue;
    const joined = termOf(`${word}${next}`);
    if (joined !== undefined && !said.has(joined) && vocabulary.countOf(joined) > 0) said.set(joined, 1);
  }
  return said;
}

function conceptOf(term: string, vocabulary: Vocabulary): Concept {
  const weight = vocabulary.countOf(term) > 0 ? RELATED_WEIGHT : RELATED_WEIGHT_UNSEEN;
  const most = Math.max(RELATED_MAX_TOOLS, RELATED_MAX_SHARE * vocabulary.size);
  const related = relatedTerms(term).filter((other) => {
    const count = vocabulary.countOf(other);
    return count > 0 && count <= most;
  });
  return { variants: [{ term, weight: 1 }, ...related.map((other) => ({ term: other, weight }))] };
}

/** A request stands at the beginning of a long prompt or at its end. */
function ends<T>(all: T[], head: number, tail: number): T[] {
  return all.length <= head + tail ? all : [...all.slice(0, head), ...all.slice(-tail)];
}
