// What a model can do and costs, and how what is known of it from several places comes together.
import { defined } from "../base/json/defined.js";
import { LIMITS } from "../base/limits.js";

/** From the least to the most. */
export const THINKING_LEVELS = ["off", "low", "medium", "high"] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

/** US dollars per million tokens. */
export interface ModelPrice {
  readonly inputPerMTok: number;
  readonly outputPerMTok: number;
  /** Left out: as any other input. */
  readonly cacheReadPerMTok?: number | undefined;
  /** Left out: as any other input. */
  readonly cacheWritePerMTok?: number | undefined;
  /** A request with more input than this is dearer as a whole. */
  readonly longContext?:
    | { readonly aboveTokens: number; readonly inputFactor: number; readonly outputFactor: number }
    | undefined;
}

export interface ModelAbilities {
  /** Prompt and answer together. */
  readonly contextTokens: number;
  readonly maxOutputTokens?: number;
  readonly images: boolean;
  readonly audio: boolean;
  readonly pdf: boolean;
  /** The levels it has; empty when it does not think, or when that is unknown. */
  readonly thinking: readonly ThinkingLevel[];
  /** It takes tools that a search of ours found beside the result, in this provider's way. */
  readonly toolSearch?: "anthropic" | "openai";
  readonly price?: ModelPrice;
}

/** What one place knows; what it does not know is left out. */
export type KnownAbilities = { readonly [Key in keyof ModelAbilities]?: ModelAbilities[Key] | undefined };

/** The first source that knows an ability decides; unknown abilities count as absent. */
export function mergeAbilities(places: readonly KnownAbilities[]): ModelAbilities {
  const first = <Key extends keyof ModelAbilities>(key: Key): ModelAbilities[Key] | undefined =>
    places.find((place) => place[key] !== undefined)?.[key];
  const maxOutputTokens = first("maxOutputTokens");
  const toolSearch = first("toolSearch");
  const price = first("price");
  return {
    contextTokens: first("contextTokens") ?? LIMITS.context.unknownTokens,
    images: first("images") ?? false,
    audio: first("audio") ?? false,
    pdf: first("pdf") ?? false,
    thinking: first("thinking") ?? [],
    ...defined({ maxOutputTokens, toolSearch, price }),
  };
}

// The bundled table of models: families by name, from the makers' pages of November 2026. Prices are list prices.

/**
 * How a request says how much to think. `budget`: a number of tokens. `adaptive`: an effort, and it can be switched off.
 * `always`: an effort, and it cannot. `effort`: OpenAI's word. `level`: Gemini's word.
 */
export type ThinkingStyle = "budget" | "adaptive" | "always" | "effort" | "level";

export interface KnownModel extends KnownAbilities {
  readonly thinkingStyle?: ThinkingStyle;
}

interface Family extends KnownModel {
  readonly names: RegExp;
}

const ALL: readonly ThinkingLevel[] = ["off", "low", "medium", "high"];
const ON: readonly ThinkingLevel[] = ["low", "medium", "high"];
const UPPER: readonly ThinkingLevel[] = ["medium", "high"];

const SEEING = { images: true, pdf: true, audio: false } as const;
const READING = { images: false, pdf: false, audio: false } as const;

function price(input: number, output: number, cacheRead?: number, cacheWrite?: number): ModelPrice {
  return {
    inputPerMTok: input,
    outputPerMTok: output,
    ...defined({ cacheReadPerMTok: cacheRead, cacheWritePerMTok: cacheWrite }),
  };
}

/** Twice the input and half as much again for the output, of the whole request. */
function dearerAbove(aboveTokens: number, base: ModelPrice): ModelPrice {
  return { ...base, longContext: { aboveTokens, inputFactor: 2, outputFactor: 1.5 } };
}

const CLAUDE_1M = { ...SEEING, contextTokens: 1_000_000, maxOutputTokens: 128_000, toolSearch: "anthropic" } as const;
const CLAUDE_200K = { ...SEEING, contextTokens: 200_000, maxOutputTokens: 64_000 } as const;
const BUDGET = { thinking: ALL, thinkingStyle: "budget" } as const;
const ADAPTIVE = { thinking: ALL, thinkingStyle: "adaptive" } as const;
const ALWAYS = { thinking: ON, thinkingStyle: "always" } as const;

const GPT_1M = { ...SEEING, contextTokens: 1_050_000, maxOutputTokens: 128_000, toolSearch: "openai" } as const;
const GPT_400K = { ...SEEING, contextTokens: 400_000, maxOutputTokens: 128_000 } as const;
const O_SERIES = { ...SEEING, contextTokens: 200_000, maxOutputTokens: 100_000 } as const;
const EFFORT = { thinking: ON, thinkingStyle: "effort" } as const;
const EFFORT_OR_NONE = { thinking: ALL, thinkingStyle: "effort" } as const;
const UPPER_EFFORT = { thinking: UPPER, thinkingStyle: "effort" } as const;

const GEMINI = { images: true, pdf: true, audio: true, contextTokens: 1_048_576, maxOutputTokens: 65_536 } as const;
const LEVEL = { thinking: ON, thinkingStyle: "level" } as const;

const LONG_GPT = 272_000;
const LONG_GEMINI = 200_000;

/** The first that fits counts, so the narrower ones come first. Prices that change soon, or that are not published, are left out. */
const FAMILIES: readonly Family[] = [
  { names: /claude-(?:sonnet-5[.-]5|5[.-]5-sonnet)/, ...CLAUDE_1M, ...ALWAYS, price: price(2, 10, 0.1, 2.5) },
  { names: /claude-(?:opus-5[.-]5|5[.-]5-opus)/, ...CLAUDE_1M, ...ALWAYS, price: price(4, 20, 0.2, 5) },
  { names: /claude-(?:haiku-5|5.*-haiku)/, ...CLAUDE_1M, ...ADAPTIVE },
  { names: /claude-fable-5[.-][1-9]/, ...CLAUDE_1M, ...ALWAYS },
  { names: /claude-fable-5/, ...CLAUDE_1M, ...ALWAYS, price: price(10, 50, 1, 12.5) },
  { names: /claude-(?:sonnet-5|5-sonnet)/, ...CLAUDE_1M, ...ADAPTIVE, price: price(2, 10, 0.2, 2.5) },
  { names: /claude-(?:opus-5|5-opus)/, ...CLAUDE_1M, ...ADAPTIVE, price: price(5, 25, 0.5, 6.25) },
  { names: /claude-(?:opus-4[.-][678]|4[.-][678]-opus)/, ...CLAUDE_1M, ...ADAPTIVE, price: price(5, 25, 0.5, 6.25) },
  {
    names: /claude-(?:sonnet-4[.-]6|4[.-]6-sonnet)/,
    ...CLAUDE_1M,
    ...ADAPTIVE,
    maxOutputTokens: 64_000,
    price: price(3, 15, 0.3, 3.75),
  },
  {
    names: /claude-(?:opus-4[.-]5|4[.-]5-opus)/,
    ...CLAUDE_200K,
    ...BUDGET,
    toolSearch: "anthropic",
    price: price(5, 25, 0.5, 6.25),
  },
  {
    names: /claude-(?:sonnet-4[.-]5|4[.-]5-sonnet)/,
    ...CLAUDE_200K,
    ...BUDGET,
    toolSearch: "anthropic",
    price: price(3, 15, 0.3, 3.75),
  },
  {
    names: /claude-(?:haiku-4[.-]5|4[.-]5-haiku)/,
    ...CLAUDE_200K,
    ...BUDGET,
    toolSearch: "anthropic",
    price: price(1, 5, 0.1, 1.25),
  },
  {
    names: /claude-(?:opus-4|4.*-opus)/,
    ...CLAUDE_200K,
    ...BUDGET,
    maxOutputTokens: 32_000,
    price: price(15, 75, 1.5, 18.75),
  },
  {
    names: /claude-(?:sonnet-4|4.*-sonnet|3[.-]7-sonnet)/,
    ...CLAUDE_200K,
    ...BUDGET,
    price: price(3, 15, 0.3, 3.75),
  },
  { names: /claude-3[.-]5-/, ...SEEING, contextTokens: 200_000, maxOutputTokens: 8_192, thinking: [] },
  { names: /claude-3/, ...SEEING, contextTokens: 200_000, maxOutputTokens: 4_096, thinking: [] },
  /** Newer than this table: what all current ones have. */
  { names: /claude-/, ...CLAUDE_200K, ...ADAPTIVE },

  { names: /gpt-6[.]1-sol/, ...GPT_1M, ...EFFORT, price: dearerAbove(LONG_GPT, price(2, 10, 0.1, 2.5)) },
  { names: /gpt-6-sol/, ...GPT_1M, ...EFFORT_OR_NONE, price: dearerAbove(LONG_GPT, price(2, 10, 0.2, 2.5)) },
  { names: /gpt-6-astra/, ...GPT_1M, ...EFFORT, price: dearerAbove(LONG_GPT, price(10, 50, 1, 12.5)) },
  { names: /gpt-6/, ...GPT_1M, ...EFFORT },
  { names: /gpt-5[.]6-sol/, ...GPT_1M, ...EFFORT_OR_NONE, price: dearerAbove(LONG_GPT, price(2, 10, 0.2, 2.5)) },
  { names: /gpt-5[.]6/, ...GPT_1M, ...EFFORT_OR_NONE },
  { names: /gpt-5[.][45]-pro/, ...GPT_1M, ...UPPER_EFFORT, price: dearerAbove(LONG_GPT, price(30, 180)) },
  { names: /gpt-5[.]5/, ...GPT_1M, ...EFFORT_OR_NONE, price: dearerAbove(LONG_GPT, price(5, 30, 0.5)) },
  {
    names: /gpt-5[.]4-mini/,
    ...GPT_400K,
    ...EFFORT_OR_NONE,
    toolSearch: "openai",
    price: price(0.75, 4.5, 0.075),
  },
  { names: /gpt-5[.]4-nano/, ...GPT_400K, ...EFFORT_OR_NONE, price: price(0.2, 1.25, 0.02) },
  { names: /gpt-5[.]4/, ...GPT_1M, ...EFFORT_OR_NONE, price: dearerAbove(LONG_GPT, price(2.5, 15, 0.25)) },
  { names: /gpt-5[.]3-codex-spark/, ...SEEING, contextTokens: 128_000, maxOutputTokens: 32_000, ...EFFORT },
  { names: /gpt-5[.\d]*-chat/, ...SEEING, contextTokens: 128_000, maxOutputTokens: 16_384, thinking: [] },
  { names: /gpt-5[.]2-pro/, ...GPT_400K, ...UPPER_EFFORT, price: price(21, 168) },
  { names: /gpt-5-pro/, ...GPT_400K, thinking: ["high"], thinkingStyle: "effort", price: price(15, 120) },
  { names: /gpt-5[.][23]-codex/, ...GPT_400K, ...EFFORT, price: price(1.75, 14, 0.175) },
  { names: /gpt-5[.]2/, ...GPT_400K, ...EFFORT_OR_NONE, price: price(1.75, 14, 0.175) },
  { names: /gpt-5[.]1-codex-mini/, ...GPT_400K, ...EFFORT, price: price(0.25, 2, 0.025) },
  { names: /gpt-5(?:[.]1)?-codex/, ...GPT_400K, ...EFFORT, price: price(1.25, 10, 0.125) },
  { names: /gpt-5[.]1/, ...GPT_400K, ...EFFORT_OR_NONE, price: price(1.25, 10, 0.125) },
  { names: /gpt-5-mini/, ...GPT_400K, ...EFFORT, price: price(0.25, 2, 0.025) },
  { names: /gpt-5-nano/, ...GPT_400K, ...EFFORT, price: price(0.05, 0.4, 0.005) },
  { names: /gpt-5(?![.\d])/, ...GPT_400K, ...EFFORT, price: price(1.25, 10, 0.125) },
  { names: /gpt-4[.]1-nano/, ...SEEING, ...gpt41(price(0.1, 0.4, 0.025)) },
  { names: /gpt-4[.]1-mini/, ...SEEING, ...gpt41(price(0.4, 1.6, 0.1)) },
  { names: /gpt-4[.]1/, ...SEEING, ...gpt41(price(2, 8, 0.5)) },
  {
    names: /gpt-(?:4o-)?audio/,
    ...READING,
    audio: true,
    contextTokens: 128_000,
    maxOutputTokens: 16_384,
    thinking: [],
  },
  { names: /gpt-4o-mini/, ...SEEING, ...gpt4o(price(0.15, 0.6, 0.075)) },
  { names: /gpt-4o/, ...SEEING, ...gpt4o(price(2.5, 10, 1.25)) },
  { names: /gpt-4-turbo/, images: true, pdf: false, audio: false, contextTokens: 128_000, maxOutputTokens: 4_096 },
  { names: /^o3-mini/, ...O_SERIES, ...READING, ...EFFORT, price: price(1.1, 4.4, 0.55) },
  { names: /^o4-mini/, ...O_SERIES, ...EFFORT, price: price(1.1, 4.4, 0.275) },
  { names: /^o3-pro/, ...O_SERIES, ...EFFORT, price: price(20, 80) },
  { names: /^o3(?:-|$)/, ...O_SERIES, ...EFFORT, price: price(2, 8, 0.5) },
  { names: /^o1(?:-|$)/, ...O_SERIES, ...EFFORT, price: price(15, 60, 7.5) },
  { names: /gpt-oss/, ...READING, contextTokens: 131_072, maxOutputTokens: 32_768 },

  { names: /gemini-2[.]0/, ...GEMINI, maxOutputTokens: 8_192, thinking: [] },
  { names: /gemini-2[.]5-flash-lite/, ...GEMINI, ...BUDGET, price: price(0.1, 0.4, 0.01) },
  { names: /gemini-2[.]5-flash/, ...GEMINI, ...BUDGET, price: price(0.3, 2.5, 0.03) },
  {
    names: /gemini-2[.]5-pro/,
    ...GEMINI,
    thinking: ON,
    thinkingStyle: "budget",
    price: dearerAbove(LONG_GEMINI, price(1.25, 10, 0.125)),
  },
  {
    names: /gemini-3(?:[.]1)?-pro/,
    ...GEMINI,
    thinking: ["low", "high"],
    thinkingStyle: "level",
    price: dearerAbove(LONG_GEMINI, price(2, 12, 0.2)),
  },
  { names: /gemini-3-flash/, ...GEMINI, ...LEVEL, price: price(0.5, 3, 0.05) },
  { names: /gemini-3[.]1-flash-lite/, ...GEMINI, ...LEVEL, price: price(0.25, 1.5, 0.025) },
  { names: /gemini-3[.]5-flash/, ...GEMINI, ...LEVEL, price: price(1.5, 9, 0.15) },
  { names: /gemini-3[.]7-flash/, ...GEMINI, ...LEVEL, price: price(1.5, 7.5, 0.15) },
  { names: /gemini-(?:[3-9]|pro-latest|flash)/, ...GEMINI, thinking: ["low", "high"], thinkingStyle: "level" },

  /** Open models: what they see is in the name; their context window depends on the server that runs them. */
  { names: /-vl\b|vision|llava|pixtral|gemma-?[34]|llama-?4|qwen-?3[.]5|minicpm-v|internvl|molmo/, images: true },
];

function gpt41(cost: ModelPrice): KnownModel {
  return { contextTokens: 1_047_576, maxOutputTokens: 32_768, thinking: [], price: cost };
}

function gpt4o(cost: ModelPrice): KnownModel {
  return { contextTokens: 128_000, maxOutputTokens: 16_384, thinking: [], price: cost };
}

/** By the model's bare name; what stands before it (`anthropic/claude-…`) does not matter. */
export function knownModel(name: string): KnownModel | undefined {
  const bare = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const family = FAMILIES.find(({ names }) => names.test(bare));
  if (family === undefined) return undefined;
  const { names: _names, ...known } = family;
  return known;
}

const MAKERS: readonly string[] = ["anthropic", "openai", "openai-chat", "google", "gemini"];

/**
 * What the table knows of a model by its id. Behind other providers than the maker the price is another, and how to ask
 * for thoughts is not known. Whether found tools may be sent natively depends on the address, so it is not said here.
 */
export function tableAbilities(id: string): KnownAbilities {
  const { thinkingStyle: _style, toolSearch: _search, price: cost, thinking, ...plain } = knownModel(id) ?? {};
  return MAKERS.includes(id.slice(0, id.indexOf("/"))) ? { ...plain, thinking, price: cost } : plain;
}
