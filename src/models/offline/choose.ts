// Which tools a request may mean: by name where one is said, otherwise by the words and values that fit best.
import type { ModelTool } from "../model.js";
import { bareName, type Parameter, readParameters, whereSaid } from "./parameters.js";
import { blank, type Span, scan } from "./spans.js";
import { contentStems, isAction, isInvocation, likeness, operatorStems, stem, stems, words } from "./words.js";

export interface Candidate {
  readonly tool: ModelTool;
  readonly parameters: readonly Parameter[];
  readonly score: number;
  /** Whether the request says the tool's name: it is then meant whatever else is said. */
  readonly isNamed: boolean;
  /** Whether any word of the request is about what the tool does; values alone are not enough to call it. */
  readonly isMeant: boolean;
  /** Whether its whole name was said, or it understands every word of the request: nothing better need be looked for. */
  readonly isClear: boolean;
}

const WEIGHTS = {
  /** A word of the request, by where the tool has it. */
  name: 1,
  title: 0.7,
  /** The first word of a description is what the tool does. */
  deed: 0.7,
  source: 0.35,
  parameter: 0.35,
  description: 0.35,
  /** For how much of the name is said, and how much of the request is understood. */
  covered: 1,
  understood: 0.3,
  /** When the request begins with the name, and for each of its words. */
  head: 1.5,
  headWord: 0.5,
  /** When the first word of the request, mostly what is to be done, is in the name. */
  verb: 0.3,
  otherVerb: 0.8,
  /** When the name's last word is said in the same number: `users` is not `user`. */
  spelling: 0.15,
  /** For a word of the name that is not said. */
  unsaid: 0.2,
  deprecated: 0.9,
  named: 100,
} as const;

/** Only the beginning of a description says what a tool does; the rest is advice, which matches anything. */
const DESCRIPTION_MAX_CHARS = 250;

/** What a request wants is said at its beginning; the rest of a long one is a text for the tool. */
const QUERY_MAX_WORDS = 64;
/** Verbs that so many requests begin with that they say little. */
const COMMON_VERBS = new Set(["show", "display", "view", "see", "get", "give", "print"].map((word) => stem(word)));
const COMMON_VERB_RARITY = 0.8;

interface Profile {
  readonly tool: ModelTool;
  readonly parameters: readonly Parameter[];
  readonly name: readonly string[];
  /** The name without a first word that most tools of its server share. */
  readonly shortName: readonly string[];
  /** The last word of the name as it is written. */
  readonly spelling: string;
  readonly title: ReadonlySet<string>;
  readonly source: ReadonlySet<string>;
  readonly deed: string;
  readonly description: ReadonlySet<string>;
  readonly parameterWords: ReadonlySet<string>;
  readonly isDeprecated: boolean;
}

interface Query {
  /** All words as they are written. */
  readonly words: ReadonlySet<string>;
  /** Stems that carry meaning, in order. */
  readonly stems: readonly string[];
  /** What the request is about besides: a path with an extension is about a file. */
  readonly implied: readonly string[];
}

type Rarity = (word: string) => number;

/** All tools, the best first; tools that fit equally well keep the order they were offered in. */
export function rank(request: string, tools: readonly ModelTool[]): Candidate[] {
  const spans = scan(request);
  const bare = blank(request, spans);
  const isFile = spans.some(({ kind, text }) => kind === "path" && /[^./\\]\.\w+$/.test(text));
  const query: Query = {
    words: new Set(words(bare)),
    stems: [...contentStems(bare).slice(0, QUERY_MAX_WORDS), ...operatorStems(request)],
    implied: isFile ? [stem("file")] : [],
  };
  const profiles = withShortNames(tools.map((tool) => profileOf(tool)));
  const rarity = rarityOf(profiles);
  return profiles
    .map((profile): Candidate => {
      const { tool, parameters } = profile;
      const isNamed = (whereSaid(request, tool.name) ?? whereSaid(bare, bareName(tool.name))) !== undefined;
      const fit = scoreOf(profile, query, rarity, isNamed) + valueFit(parameters, spans);
      return {
        tool,
        parameters,
        score: fit + (isNamed ? WEIGHTS.named : 0),
        isNamed,
        isMeant: isMeant(profile, query),
        isClear: isNamed || isClear(profile, query),
      };
    })
    .toSorted((one, other) => other.score - one.score);
}

function profileOf(tool: ModelTool): Profile {
  const bare = bareName(tool.name);
  const parameters = readParameters(tool);
  return {
    tool,
    parameters,
    name: contentStems(bare),
    shortName: contentStems(bare),
    spelling: words(bare).at(-1) ?? "",
    title: stems(tool.title ?? ""),
    source: stems(tool.name.slice(0, tool.name.length - bare.length)),
    deed: stem(words(tool.description.slice(0, DESCRIPTION_MAX_CHARS))[0] ?? ""),
    description: new Set(beginningOf(tool.description)),
    parameterWords: new Set(parameters.flatMap((one) => [...one.stems, ...beginningOf(one.description)])),
    isDeprecated: /\bdeprecated\b/i.test(`${tool.title ?? ""} ${tool.description}`),
  };
}

function beginningOf(description: string): string[] {
  return contentStems(description.slice(0, DESCRIPTION_MAX_CHARS));
}

/** People leave out a first word that all tools of a server share, such as `browser` or `git`. */
function withShortNames(profiles: readonly Profile[]): Profile[] {
  const siblings = new Map<string, number>();
  const alike = new Map<string, number>();
  const sourceOf = ({ source }: Profile) => [...source].join(" ");
  const startOf = (profile: Profile) => JSON.stringify([sourceOf(profile), profile.name[0]]);
  for (const profile of profiles) {
    siblings.set(sourceOf(profile), (siblings.get(sourceOf(profile)) ?? 0) + 1);
    alike.set(startOf(profile), (alike.get(startOf(profile)) ?? 0) + 1);
  }
  return profiles.map((profile) => {
    const total = siblings.get(sourceOf(profile)) ?? 0;
    const isShared = total >= 4 && (alike.get(startOf(profile)) ?? 0) > total * 0.6;
    return isShared && profile.name.length > 1 ? { ...profile, shortName: profile.name.slice(1) } : profile;
  });
}

/** A word of the name, the title or the first word of the description; or two words of the rest. */
function isMeant(profile: Profile, query: Query): boolean {
  const weights = query.stems.map((word) => wordWeight(profile, word));
  const isStrong = query.stems.some((word, index) => (weights[index] ?? 0) > 0 && !isOnlyTold(profile, word));
  return isStrong || weights.filter((weight) => weight > 0).length > 1;
}

function isClear(profile: Profile, query: Query): boolean {
  const said = [...query.stems, ...query.implied];
  const name = profile.name.filter((own) => !COMMON_VERBS.has(own));
  if (name.length > 0 && name.every((own) => said.some((word) => likeness(word, own) > 0))) return true;
  const meant = query.stems.filter((word) => !isInvocation(word));
  return meant.length > 0 && meant.every((word) => wordWeight(profile, word) > 0);
}

function isOnlyTold(profile: Profile, word: string): boolean {
  const own = [...profile.name, ...profile.title, profile.deed];
  return !own.some((one) => likeness(word, one) > 0);
}

/** From 1 for a word in one tool's name towards 0 for a word in all of them. */
function rarityOf(profiles: readonly Profile[]): Rarity {
  const counts = new Map<string, number>();
  for (const { name } of profiles) for (const word of new Set(name)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return (word) => {
    const rarity = 1 / (1 + 0.5 * Math.log(Math.max(1, counts.get(word) ?? 1)));
    return COMMON_VERBS.has(word) ? rarity * COMMON_VERB_RARITY : rarity;
  };
}

function scoreOf(profile: Profile, query: Query, rarity: Rarity, isNamed: boolean): number {
  const { name } = profile;
  const said = [...new Set(query.stems)];
  const all = [...new Set([...said, ...query.implied])];
  let score = all.reduce((sum, word) => sum + rarity(word) * wordWeight(profile, word), 0);
  const matches = name.map((own) => ({
    weight: rarity(own),
    match: Math.max(0, ...all.map((word) => likeness(word, own))),
  }));
  const whole = matches.reduce((sum, { weight }) => sum + weight, 0);
  const covered = matches.reduce((sum, { weight, match }) => sum + weight * match, 0);
  if (whole > 0) score += (WEIGHTS.covered * covered) / whole;
  score -= WEIGHTS.unsaid * matches.reduce((sum, { weight, match }) => sum + (match === 0 ? weight : 0), 0);
  const meant = said.filter((word) => !isInvocation(word));
  const understood = meant.filter((word) => wordWeight(profile, word) > 0).length;
  if (meant.length > 0) score += (WEIGHTS.understood * understood) / meant.length;
  if (profile.isDeprecated && !isNamed) return score - WEIGHTS.deprecated;
  score += verbFit(profile, meant[0]);
  if (query.words.has(profile.spelling)) score += WEIGHTS.spelling;
  const isHead =
    beginsWith(query.stems, name) || (profile.shortName.length > 1 && beginsWith(query.stems, profile.shortName));
  return isHead ? score + WEIGHTS.head + name.length * WEIGHTS.headWord : score;
}

/** The first word of a request mostly says what is to be done: the tool does it, or it is the wrong one. */
function verbFit(profile: Profile, verb: string | undefined): number {
  if (verb === undefined || COMMON_VERBS.has(verb)) return 0;
  const isOther = wordWeight(profile, verb) === 0 && ![...profile.title].some((word) => likeness(verb, word) > 0);
  if (isAction(verb) && isOther) return -WEIGHTS.otherVerb;
  return WEIGHTS.verb * Math.max(0, ...profile.name.map((word) => likeness(verb, word)));
}

/** Whether the request begins with the tool's name, with or without a "use" or "run" before it. */
function beginsWith(said: readonly string[], name: readonly string[]): boolean {
  const start = said.findIndex((word) => !isInvocation(word));
  return (
    name.length > 0 && [0, start].some((from) => from >= 0 && name.every((own, index) => said[from + index] === own))
  );
}

function wordWeight(profile: Profile, word: string): number {
  const inName = WEIGHTS.name * Math.max(0, ...profile.name.map((own) => likeness(word, own)));
  const elsewhere = [
    profile.title.has(word) ? WEIGHTS.title : 0,
    WEIGHTS.deed * likeness(word, profile.deed),
    profile.source.has(word) ? WEIGHTS.source : 0,
    profile.parameterWords.has(word) ? WEIGHTS.parameter : 0,
    profile.description.has(word) ? WEIGHTS.description : 0,
  ];
  return Math.max(inName, ...elsewhere);
}

/** Whether the values in the request have a place in the tool, and its required ones a value in the request. */
function valueFit(parameters: readonly Parameter[], spans: readonly Span[]): number {
  const count = (kind: Span["kind"]) => spans.filter((span) => span.kind === kind).length;
  const isNumber = ({ kind }: Parameter) => kind === "number" || kind === "integer";
  const needed = parameters.filter((parameter) => parameter.isRequired && isNumber(parameter)).length;
  const takesText = parameters.some(({ kind, isRequired }) => isRequired && (kind === "string" || kind === "any"));
  let fit = placeFor(parameters, "path", count("path")) + placeFor(parameters, "url", count("url"));
  if (needed > 0) fit += count("number") >= needed ? 0.4 : -0.4;
  else if (count("number") > 0 && !parameters.some((parameter) => isNumber(parameter))) fit -= takesText ? 0.1 : 0.6;
  const takesJson = parameters.some(({ kind }) => kind === "array" || kind === "object");
  return count("json") > 0 && takesJson ? fit + 0.4 : fit;
}

function placeFor(parameters: readonly Parameter[], role: "path" | "url", count: number): number {
  const places = parameters.filter((parameter) => parameter.role === role);
  const isRequired = places.some((place) => place.isRequired);
  if (count === 0) return isRequired && role === "url" ? -0.3 : 0;
  const room = places.some(({ kind }) => kind === "array") ? count : places.length;
  if (room === 0) return parameters.some(({ kind }) => kind === "string") ? 0 : -0.6;
  return (isRequired ? 0.6 : 0.3) - (room < count ? 0.2 : 0);
}
