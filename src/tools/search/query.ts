// A prompt as concepts to look for, whole and clause by clause. Prompts may be megabytes of pasted logs: all is bounded.
import { relatedTerms, termOf, wordsOf } from "../../base/text/terms.js";
import { TOOL_LIMITS } from "../limits.js";
import {
  QUERY_SATURATION,
  RELATED_MAX_SHARE,
  RELATED_MAX_TOOLS,
  RELATED_WEIGHT,
  RELATED_WEIGHT_UNSEEN,
} from "./indexed-tools.js";

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
