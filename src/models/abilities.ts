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
  /** The levels it has; empty when it does not think, or when nobody knows. */
  readonly thinking: readonly ThinkingLevel[];
  /** It takes tools that a search of ours found beside the result, in this provider's way. */
  readonly toolSearch?: "anthropic" | "openai";
  readonly price?: ModelPrice;
}

/** What one place knows; what it does not know is left out. */
export type KnownAbilities = { readonly [Key in keyof ModelAbilities]?: ModelAbilities[Key] | undefined };

/** The first place that knows something has the word; what nobody knows is taken to be little. */
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
