// Prompts as concepts: clauses, related words, words written as one, and bounds for what is pasted.
import { expect, test } from "vitest";
import { TOOL_LIMITS } from "../limits.js";
import { parseQuery, type Vocabulary } from "./indexed-tools.js";

const vocabulary = (counts: Readonly<Record<string, number>>): Vocabulary => ({
  size: 1_000,
  countOf: (term) => counts[term] ?? 0,
});
const nothing = vocabulary({});

function termsIn(text: string, words = nothing): string[] {
  return parseQuery(text, words).concepts.map(({ variants }) => variants[0]?.term ?? "");
}

test("sentences and joined wishes are clauses, dots in names are not ends", () => {
  const { concepts, clauses } = parseQuery("Read config.json, and then mail Ann. Book flights!", nothing);
  const said = clauses.map((clause) => [...clause.keys()].map((place) => concepts[place]?.variants[0]?.term));
  expect(said).toEqual([
    ["read", "config", "json"],
    ["mail", "ann"],
    ["book", "flight"],
  ]);
});

test("a prompt of one clause has none apart", () => {
  expect(parseQuery("weather in Paris", nothing).clauses).toEqual([]);
  expect(parseQuery("", nothing)).toEqual({ concepts: [], whole: new Map(), clauses: [] });
});

test("what is said twice counts for more, but not for twice as much", () => {
  const { whole } = parseQuery("weather weather rain", nothing);
  const [twice = 0, once = 0] = whole.values();
  expect(twice).toBeGreaterThan(once);
  expect(twice).toBeLessThan(2 * once);
});

test("neighbours are also looked for as one word where a tool writes them so", () => {
  expect(termsIn("user info", vocabulary({ userinfo: 1 }))).toEqual(["user", "info", "userinfo"]);
  expect(termsIn("user info", vocabulary({ user: 9 }))).toEqual(["user", "info"]);
});

test("a related word counts where tools have it, more when none has the one that was said, and not when it is everywhere", () => {
  const weightOf = (counts: Readonly<Record<string, number>>) =>
    parseQuery("film", vocabulary(counts)).concepts[0]?.variants.find(({ term }) => term === "movi")?.weight;
  expect(weightOf({})).toBeUndefined();
  expect(weightOf({ movi: 3, film: 3 })).toBeLessThan(weightOf({ movi: 3 }) ?? 0);
  expect(weightOf({ movi: 500 })).toBeUndefined();
});

test("of a huge prompt the beginning and the end count, up to so many terms and clauses", () => {
  const { headTerms, tailTerms, headClauses, tailClauses } = TOOL_LIMITS.toolSearchQuery;
  const log = Array.from({ length: 50_000 }, (_, line) => `zz${(line * 7_919).toString(36)} failed.`).join("\n");
  const { concepts, clauses } = parseQuery(`Translate this.\n${log}\nThen draw a diagram.`, nothing);
  const terms = concepts.map(({ variants }) => variants[0]?.term);
  expect(terms.length).toBeLessThanOrEqual(headTerms + tailTerms);
  expect(clauses.length).toBeLessThanOrEqual(headClauses + tailClauses);
  expect(terms).toEqual(expect.arrayContaining(["translat", "diagram"]));
});
