// Which tool a request means: by its name where it is said, otherwise by the words and values that fit it best.
import type { ModelTool } from "../model.js";
import { type Parameter, readParameters } from "./parameters.js";
import { blank, type Span, scan } from "./spans.js";
import { areSynonyms, contentStems, operatorStems, stem, stems, words } from "./words.js";

export interface Candidate {
  readonly tool: ModelTool;
  readonly parameters: readonly Parameter[];
  readonly score: number;
  /** How the request names the tool, where it does: people then mean it whatever else they say. */
  readonly isNamed: boolean;
}

/** Below this nothing fits: one strong word of a name and something beside it are needed. */
const THRESHOLD = 1.15;

const WEIGHTS = {
  name: 1,
  title: 0.7,
  source: 0.35,
  parameter: 0.35,
  description: 0.35,
  /** How much a synonym counts of the word itself. */
  synonym: 0.6,
  /** For every word of a name when all of them are said. */
  whole: 0.9,
  /** When the request begins with the name. */
  head: 2.5,
  /** For a word of the name that was not said. */
  unsaid: 0.2,
  deprecated: 0.6,
} as const;

/** Only the beginning of a description says what a tool does; the rest is advice, which matches anything. */
const DESCRIPTION_MAX_WORDS = 40;

interface Profile {
  readonly tool: ModelTool;
  readonly parameters: readonly Parameter[];
  readonly name: readonly string[];
  readonly title: ReadonlySet<string>;
  readonly source: ReadonlySet<string>;
  readonly description: ReadonlySet<string>;
  readonly parameterWords: ReadonlySet<string>;
  readonly isDeprecated: boolean;
}

/** All tools, the best first; tools that fit equally well keep the order they were offered in. */
export function rank(request: string, tools: readonly ModelTool[]): Candidate[] {
  const spans = scan(request);
  const bare = blank(request, spans);
  const query = contentStems(bare);
  query.push(...operatorStems(request));
  const profiles = tools.map((tool) => profileOf(tool));
  const rarity = rarityOf(profiles);
  return profiles
    .map((profile): Candidate => {
      const isNamed = isSaid(request, profile.tool.name) || isSaid(bare, bareName(profile.tool.name));
      const score = scoreOf(profile, query, rarity) + valueFit(profile.parameters, spans);
      return { tool: profile.tool, parameters: profile.parameters, score: score + (isNamed ? 100 : 0), isNamed };
    })
    .toSorted((one, other) => other.score - one.score);
}

/** The tool that is meant, if any fits. */
export function choose(request: string, tools: readonly ModelTool[]): Candidate | undefined {
  const [best] = rank(request, tools);
  return best !== undefined && best.score >= THRESHOLD ? best : undefined;
}

/** The part of a model's tool name that people say. A hint for matching only: tools are looked up by their whole name. */
export function bareName(name: string): string {
  const part = name.slice(name.lastIndexOf("__") + 1).replace(/^_+/, "");
  return part === "" ? name : part;
}

/**
 * A name of several words counts as said wherever it stands, since nobody writes `read_file` by chance; a name of one word
 * is an ordinary word too, and is left to the score.
 */
function isSaid(text: string, name: string): boolean {
  if (words(name).length < 2 && !/[_-]/.test(name)) return false;
  const at = text.toLowerCase().indexOf(name.toLowerCase());
  if (at < 0) return false;
  return !/[\w-]/.test(text[at - 1] ?? "") && !/[\w-]/.test(text[at + name.length] ?? "");
}

function profileOf(tool: ModelTool): Profile {
  const bare = bareName(tool.name);
  const parameters = readParameters(tool);
  const description = words(tool.description).slice(0, DESCRIPTION_MAX_WORDS);
  return {
    tool,
    parameters,
    name: words(bare).map((word) => stem(word)),
    title: stems(tool.title ?? ""),
    source: stems(tool.name.slice(0, tool.name.length - bare.length)),
    description: new Set(description.map((word) => stem(word))),
    parameterWords: new Set(parameters.flatMap((parameter) => parameter.stems)),
    isDeprecated: /\bdeprecated\b/i.test(`${tool.title ?? ""} ${tool.description}`),
  };
}

/** From 1 for a word in one tool's name towards 0 for a word in all of them, such as a server's own prefix. */
function rarityOf(profiles: readonly Profile[]): (word: string) => number {
  const counts = new Map<string, number>();
  for (const { name } of profiles) for (const word of new Set(name)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return (word) => 1 / (1 + Math.log(Math.max(1, counts.get(word) ?? 1)));
}

function scoreOf(profile: Profile, query: readonly string[], rarity: (word: string) => number): number {
  let score = profile.isDeprecated ? -WEIGHTS.deprecated : 0;
  for (const word of new Set(query)) score += rarity(word) * wordWeight(profile, word);
  const said = profile.name.map((word) => matchIn(query, word));
  score -= said.filter((match) => match === 0).length * WEIGHTS.unsaid;
  if (said.every((match) => match > 0)) score += said.reduce((sum, match) => sum + match, 0) * WEIGHTS.whole;
  if (profile.name.length > 0 && profile.name.every((word, index) => query[index] === word)) score += WEIGHTS.head;
  return score;
}

/** 1 when the word is said, less for a synonym, 0 when neither is. */
function matchIn(query: readonly string[], word: string): number {
  if (query.includes(word)) return 1;
  return query.some((said) => areSynonyms(said, word)) ? WEIGHTS.synonym : 0;
}

function wordWeight(profile: Profile, word: string): number {
  if (profile.name.includes(word)) return WEIGHTS.name;
  if (profile.title.has(word)) return WEIGHTS.title;
  if (profile.name.some((own) => areSynonyms(own, word))) return WEIGHTS.name * WEIGHTS.synonym;
  if (profile.source.has(word)) return WEIGHTS.source;
  if (profile.parameterWords.has(word)) return WEIGHTS.parameter;
  return profile.description.has(word) ? WEIGHTS.description : 0;
}

/** Whether the values in the request have a place in the tool, and its required ones a value in the request. */
function valueFit(parameters: readonly Parameter[], spans: readonly Span[]): number {
  const count = (kind: Span["kind"]) => spans.filter((span) => span.kind === kind).length;
  const required = parameters.filter((parameter) => parameter.isRequired);
  const numbersNeeded = required.filter(({ kind }) => kind === "number" || kind === "integer").length;
  let fit = 0;
  if (numbersNeeded > 0) fit += count("number") >= numbersNeeded ? 0.4 : -0.4;
  fit += placeFor(parameters, "path", count("path"));
  fit += placeFor(parameters, "url", count("url"));
  const takesJson = parameters.some(({ kind }) => kind === "array" || kind === "object");
  if (count("json") > 0 && takesJson) fit += 0.4;
  return fit;
}

function placeFor(parameters: readonly Parameter[], role: "path" | "url", count: number): number {
  const places = parameters.filter((parameter) => parameter.role === role);
  if (count === 0) return places.some((place) => place.isRequired) && role === "url" ? -0.3 : 0;
  if (places.some((place) => place.isRequired)) return 0.6;
  return places.length > 0 || parameters.some(({ kind }) => kind === "string") ? 0.2 : -0.6;
}
