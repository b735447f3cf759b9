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
  /** Infinite for a model without a window. */
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
  const none = { contextTokens: LIMITS.context.unknownTokens, images: false, audio: false, pdf: false, thinking: [] };
  return places.reduceRight<ModelAbilities>((known, place) => ({ ...known, ...defined(place) }), none);
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

const ALL: readonly ThinkingLevel[] = ["off", "low", "medium", "high"];
const ON: readonly ThinkingLevel[] = ["low", "medium", "high"];
const UPPER: readonly ThinkingLevel[] = ["medium", "high"];

const SEEING = { images: true, pdf: true, audio: false } as const;
const READING = { images: false, pdf: false, audio: false } as const;

function costs(input: number, output: number, cacheRead?: number, cacheWrite?: number): { price: ModelPrice } {
  const cache = defined({ cacheReadPerMTok: cacheRead, cacheWritePerMTok: cacheWrite });
  return { price: { inputPerMTok: input, outputPerMTok: output, ...cache } };
}

/** Above so many tokens of input: twice the input and half as much again for the output, of the whole request. */
function longCosts(aboveTokens: number, ...prices: Parameters<typeof costs>): { price: ModelPrice } {
  return { price: { ...costs(...prices).price, longContext: { aboveTokens, inputFactor: 2, outputFactor: 1.5 } } };
}

const CLAUDE_1M = { ...SEEING, contextTokens: 1_000_000, maxOutputTokens: 128_000, toolSearch: "anthropic" } as const;
const CLAUDE_200K = { ...SEEING, contextTokens: 200_000, maxOutputTokens: 64_000 } as const;
const BUDGET = { thinking: ALL, thinkingStyle: "budget" } as const;
const ADAPTIVE = { thinking: ALL, thinkingStyle: "adaptive" } as const;
const ALWAYS = { thinking: ON, thinkingStyle: "always" } as const;

const GPT_1M = { ...SEEING, contextTokens: 1_050_000, maxOutputTokens: 128_000, toolSearch: "openai" } as const;
const GPT_400K = { ...SEEING, contextTokens: 400_000, maxOutputTokens: 128_000 } as const;
const GPT_41 = { ...SEEING, contextTokens: 1_047_576, maxOutputTokens: 32_768, thinking: [] } as const;
const GPT_4O = { ...SEEING, contextTokens: 128_000, maxOutputTokens: 16_384, thinking: [] } as const;
const O_SERIES = { ...SEEING, contextTokens: 200_000, maxOutputTokens: 100_000 } as const;
const EFFORT = { thinking: ON, thinkingStyle: "effort" } as const;
const EFFORT_OR_NONE = { thinking: ALL, thinkingStyle: "effort" } as const;
const UPPER_EFFORT = { thinking: UPPER, thinkingStyle: "effort" } as const;

const GEMINI = { images: true, pdf: true, audio: true, contextTokens: 1_048_576, maxOutputTokens: 65_536 } as const;
const LEVEL = { thinking: ON, thinkingStyle: "level" } as const;

const LONG_GPT = 272_000;
const LONG_GEMINI = 200_000;

/** The first that fits counts, so the narrower ones come first. Prices that change soon, or that are not published, are left out. */
const FAMILIES: readonly (readonly [names: RegExp, ...KnownModel[]])[] = [
  [/claude-(?:sonnet-5[.-]5|5[.-]5-sonnet)/, CLAUDE_1M, ALWAYS, costs(2, 10, 0.1, 2.5)],
  [/claude-(?:opus-5[.-]5|5[.-]5-opus)/, CLAUDE_1M, ALWAYS, costs(4, 20, 0.2, 5)],
  [/claude-(?:haiku-5|5.*-haiku)/, CLAUDE_1M, ADAPTIVE],
  [/claude-fable-5[.-][1-9]/, CLAUDE_1M, ALWAYS],
  [/claude-fable-5/, CLAUDE_1M, ALWAYS, costs(10, 50, 1, 12.5)],
  [/claude-(?:sonnet-5|5-sonnet)/, CLAUDE_1M, ADAPTIVE, costs(2, 10, 0.2, 2.5)],
  [/claude-(?:opus-5|5-opus)/, CLAUDE_1M, ADAPTIVE, costs(5, 25, 0.5, 6.25)],
  [/claude-(?:opus-4[.-][678]|4[.-][678]-opus)/, CLAUDE_1M, ADAPTIVE, costs(5, 25, 0.5, 6.25)],
  [/claude-(?:sonnet-4[.-]6|4[.-]6-sonnet)/, CLAUDE_1M, ADAPTIVE, { maxOutputTokens: 64_000 }, costs(3, 15, 0.3, 3.75)],
  [/claude-(?:opus-4[.-]5|4[.-]5-opus)/, CLAUDE_200K, BUDGET, { toolSearch: "anthropic" }, costs(5, 25, 0.5, 6.25)],
  [/claude-(?:sonnet-4[.-]5|4[.-]5-sonnet)/, CLAUDE_200K, BUDGET, { toolSearch: "anthropic" }, costs(3, 15, 0.3, 3.75)],
  [/claude-(?:haiku-4[.-]5|4[.-]5-haiku)/, CLAUDE_200K, BUDGET, { toolSearch: "anthropic" }, costs(1, 5, 0.1, 1.25)],
  [/claude-(?:opus-4|4.*-opus)/, CLAUDE_200K, BUDGET, { maxOutputTokens: 32_000 }, costs(15, 75, 1.5, 18.75)],
  [/claude-(?:sonnet-4|4.*-sonnet|3[.-]7-sonnet)/, CLAUDE_200K, BUDGET, costs(3, 15, 0.3, 3.75)],
  [/claude-3[.-]5-/, SEEING, { contextTokens: 200_000, maxOutputTokens: 8_192, thinking: [] }],
  [/claude-3/, SEEING, { contextTokens: 200_000, maxOutputTokens: 4_096, thinking: [] }],
  /** Newer than this table: what all current ones have. */
  [/claude-/, CLAUDE_200K, ADAPTIVE],

  [/gpt-6[.]1-sol/, GPT_1M, EFFORT, longCosts(LONG_GPT, 2, 10, 0.1, 2.5)],
  [/gpt-6-sol/, GPT_1M, EFFORT_OR_NONE, longCosts(LONG_GPT, 2, 10, 0.2, 2.5)],
  [/gpt-6-astra/, GPT_1M, EFFORT, longCosts(LONG_GPT, 10, 50, 1, 12.5)],
  [/gpt-6/, GPT_1M, EFFORT],
  [/gpt-5[.]6-sol/, GPT_1M, EFFORT_OR_NONE, longCosts(LONG_GPT, 2, 10, 0.2, 2.5)],
  [/gpt-5[.]6/, GPT_1M, EFFORT_OR_NONE],
  [/gpt-5[.][45]-pro/, GPT_1M, UPPER_EFFORT, longCosts(LONG_GPT, 30, 180)],
  [/gpt-5[.]5/, GPT_1M, EFFORT_OR_NONE, longCosts(LONG_GPT, 5, 30, 0.5)],
  [/gpt-5[.]4-mini/, GPT_400K, EFFORT_OR_NONE, { toolSearch: "openai" }, costs(0.75, 4.5, 0.075)],
  [/gpt-5[.]4-nano/, GPT_400K, EFFORT_OR_NONE, costs(0.2, 1.25, 0.02)],
  [/gpt-5[.]4/, GPT_1M, EFFORT_OR_NONE, longCosts(LONG_GPT, 2.5, 15, 0.25)],
  [/gpt-5[.]3-codex-spark/, SEEING, EFFORT, { contextTokens: 128_000, maxOutputTokens: 32_000 }],
  [/gpt-5[.\d]*-chat/, SEEING, { contextTokens: 128_000, maxOutputTokens: 16_384, thinking: [] }],
  [/gpt-5[.]2-pro/, GPT_400K, UPPER_EFFORT, costs(21, 168)],
  [/gpt-5-pro/, GPT_400K, { thinking: ["high"], thinkingStyle: "effort" }, costs(15, 120)],
  [/gpt-5[.][23]-codex/, GPT_400K, EFFORT, costs(1.75, 14, 0.175)],
  [/gpt-5[.]2/, GPT_400K, EFFORT_OR_NONE, costs(1.75, 14, 0.175)],
  [/gpt-5[.]1-codex-mini/, GPT_400K, EFFORT, costs(0.25, 2, 0.025)],
  [/gpt-5(?:[.]1)?-codex/, GPT_400K, EFFORT, costs(1.25, 10, 0.125)],
  [/gpt-5[.]1/, GPT_400K, EFFORT_OR_NONE, costs(1.25, 10, 0.125)],
  [/gpt-5-mini/, GPT_400K, EFFORT, costs(0.25, 2, 0.025)],
  [/gpt-5-nano/, GPT_400K, EFFORT, costs(0.05, 0.4, 0.005)],
  [/gpt-5(?![.\d])/, GPT_400K, EFFORT, costs(1.25, 10, 0.125)],
  [/gpt-4[.]1-nano/, GPT_41, costs(0.1, 0.4, 0.025)],
  [/gpt-4[.]1-mini/, GPT_41, costs(0.4, 1.6, 0.1)],
  [/gpt-4[.]1/, GPT_41, costs(2, 8, 0.5)],
  [/gpt-(?:4o-)?audio/, READING, { audio: true, contextTokens: 128_000, maxOutputTokens: 16_384, thinking: [] }],
  [/gpt-4o-mini/, GPT_4O, costs(0.15, 0.6, 0.075)],
  [/gpt-4o/, GPT_4O, costs(2.5, 10, 1.25)],
  [/gpt-4-turbo/, { images: true, pdf: false, audio: false, contextTokens: 128_000, maxOutputTokens: 4_096 }],
  [/^o3-mini/, O_SERIES, READING, EFFORT, costs(1.1, 4.4, 0.55)],
  [/^o4-mini/, O_SERIES, EFFORT, costs(1.1, 4.4, 0.275)],
  [/^o3-pro/, O_SERIES, EFFORT, costs(20, 80)],
  [/^o3(?:-|$)/, O_SERIES, EFFORT, costs(2, 8, 0.5)],
  [/^o1(?:-|$)/, O_SERIES, EFFORT, costs(15, 60, 7.5)],
  [/gpt-oss/, READING, { contextTokens: 131_072, maxOutputTokens: 32_768 }],

  [/gemini-2[.]0/, GEMINI, { maxOutputTokens: 8_192, thinking: [] }],
  [/gemini-2[.]5-flash-lite/, GEMINI, BUDGET, costs(0.1, 0.4, 0.01)],
  [/gemini-2[.]5-flash/, GEMINI, BUDGET, costs(0.3, 2.5, 0.03)],
  [/gemini-2[.]5-pro/, GEMINI, { thinking: ON, thinkingStyle: "budget" }, longCosts(LONG_GEMINI, 1.25, 10, 0.125)],
  [
    /gemini-3(?:[.]1)?-pro/,
    GEMINI,
    { thinking: ["low", "high"], thinkingStyle: "level" },
    longCosts(LONG_GEMINI, 2, 12, 0.2),
  ],
  [/gemini-3-flash/, GEMINI, LEVEL, costs(0.5, 3, 0.05)],
  [/gemini-3[.]1-flash-lite/, GEMINI, LEVEL, costs(0.25, 1.5, 0.025)],
  [/gemini-3[.]5-flash/, GEMINI, LEVEL, costs(1.5, 9, 0.15)],
  [/gemini-3[.]7-flash/, GEMINI, LEVEL, costs(1.5, 7.5, 0.15)],
  [/gemini-(?:[3-9]|pro-latest|flash)/, GEMINI, { thinking: ["low", "high"], thinkingStyle: "level" }],

  /** Open models: what they see is in the name; their context window depends on the server that runs them. */
  [/-vl\b|vision|llava|pixtral|gemma-?[34]|llama-?4|qwen-?3[.]5|minicpm-v|internvl|molmo/, { images: true }],
];

/** By the model's bare name; what stands before it (`anthropic/claude-…`) does not matter. */
export function knownModel(name: string): KnownModel | undefined {
  const bare = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const [, ...parts] = FAMILIES.find(([names]) => names.test(bare)) ?? [];
  return parts.length === 0 ? undefined : parts.reduce((known, part) => ({ ...known, ...part }));
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
