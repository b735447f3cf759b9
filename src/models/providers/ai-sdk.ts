// Any AI SDK language model behind the model port.
import type { JSONObject, LanguageModelV3, SharedV3ProviderOptions } from "@ai-sdk/provider";
import { orAborted } from "../../base/async/deadline.js";
import { defined } from "../../base/json/defined.js";
import {
  type KnownAbilities,
  knownModel,
  type ModelAbilities,
  mergeAbilities,
  THINKING_LEVELS,
  type ThinkingLevel,
  type ThinkingStyle,
  tableAbilities,
} from "../abilities.js";
import { dialectOf, OPTION_KEYS } from "../dialect/rules.js";
import { type FailureContext, toModelError } from "../failures/provider-errors.js";
import type { DialectName, Model, ModelEvent, ModelMessage, ModelRequest } from "../model.js";
import { fromStream } from "./from-stream.js";
import { toPrompt } from "./to-prompt.js";
import { foundTools, markPrompt, toolsToSend } from "./tools.js";

/** A language model of the AI SDK (specification v3), by its structure: an embedder may have another copy of the SDK. */
export interface AiSdkLanguageModel {
  /** The one method that is used, called once per request: retries are the engine's. */
  doStream(options: never): PromiseLike<{ readonly stream: object }>;
}

type StreamingLanguageModel = Pick<LanguageModelV3, "doStream">;

function isStreaming(model: AiSdkLanguageModel): model is StreamingLanguageModel {
  return typeof model.doStream === "function";
}

type CallOptions = Parameters<StreamingLanguageModel["doStream"]>[0];

type OptionValue = null | string | number | boolean | OptionValue[] | { [key: string]: OptionValue | undefined };

/**
 * How a model of the AI SDK is used.
 *
 * @example
 * aiSdkModel("mistral/large", mistral("mistral-large-latest"), { dialect: "openai-compatible" });
 */
export interface AiSdkOptions {
  /** Sent with every request, under the provider's name. */
  readonly providerOptions?: Record<string, { [key: string]: OptionValue | undefined }>;
  /** Left out: what the abilities say. */
  readonly accepts?: (mediaType: string) => boolean;
  readonly toolMedia?: "inside" | "beside";
  /** Left out: as the id says, else the most careful one. */
  readonly dialect?: DialectName;
  /** What is known of the model; what is not given is taken from the bundled table, by the name in the id. */
  readonly abilities?: KnownAbilities;
  /** Where a request does not say. */
  readonly thinking?: ThinkingLevel | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** What errors may say and must not. */
  readonly failure?: Omit<FailureContext, "modelId" | "tools">;
}

/** What every provider with eyes takes; other pictures become labels. */
const COMMON_IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function isCommonImage(mediaType: string): boolean {
  return COMMON_IMAGES.includes(mediaType);
}

/** OpenAI takes no longer one. */
const CACHE_KEY_MAX_CHARS = 64;

/**
 * A model of the AI SDK as one of Tenon's.
 *
 * @example
 * const model = aiSdkModel("mistral/large", mistral("mistral-large-latest"));
 */
export function aiSdkModel(id: string, languageModel: AiSdkLanguageModel, options: AiSdkOptions = {}): Model {
  if (!isStreaming(languageModel))
    throw new TypeError(`${id} is no language model of the AI SDK: it has no doStream()`);
  const model: StreamingLanguageModel = languageModel;
  const abilities = mergeAbilities([options.abilities ?? {}, tableAbilities(id)]);
  const dialect = options.dialect ?? dialectOf(id) ?? "openai-compatible";
  const accepts = options.accepts ?? ((mediaType: string) => takes(abilities, dialect, mediaType));
  const toolMedia = options.toolMedia ?? "inside";
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    signal.throwIfAborted();
    const found = foundTools(request, { id, toolSearch: abilities.toolSearch });
    const sent = toolsToSend(request.tools, found, dialect);
    const prompt = toPrompt(request, { modelId: id, accepts, toolMedia, marksErrors: dialect !== "anthropic", found });
    const providerOptions = optionsFor(port, options, request);
    const wanted = request.maxOutputTokens ?? options.maxOutputTokens;
    const failure: FailureContext = { ...options.failure, modelId: id, tools: sent.names };
    const call: CallOptions = {
      prompt: dialect === "anthropic" ? markPrompt(prompt) : prompt,
      abortSignal: signal,
      ...defined({
        tools: sent.tools.length === 0 ? undefined : sent.tools,
        maxOutputTokens: wanted && Math.min(wanted, abilities.maxOutputTokens ?? Number.POSITIVE_INFINITY),
        providerOptions: Object.keys(providerOptions).length === 0 ? undefined : providerOptions,
      }),
    };
    // Inside an async function, so that a provider that throws before it returns a promise is caught as well.
    const ask = async () => model.doStream(call);
    const answer = await orAborted(ask(), signal).catch((thrown: unknown) => {
      if (signal.aborted) throw signal.reason;
      throw toModelError(failure, thrown, "asking");
    });
    const wrappedSearch = found?.form === "openai" ? found.search : undefined;
    yield* fromStream({ failure, price: abilities.price, wrappedSearch }, answer.stream, signal);
  }
  const port: Model = { id, dialect, abilities, accepts, stream };
  return port;
}

/** The options of the provider's adapter, by its name. */
function optionsFor(
  { id, dialect = "plain", abilities }: Model,
  { providerOptions: given = {}, thinking }: AiSdkOptions,
  request: ModelRequest,
): SharedV3ProviderOptions {
  if (dialect === "plain") return given;
  const key = OPTION_KEYS[dialect];
  const thinker = { id, dialect, levels: abilities?.thinking ?? [] };
  const promptCacheKey = key === "openai" ? request.cacheKey?.slice(0, CACHE_KEY_MAX_CHARS) : undefined;
  const own: JSONObject = {
    ...thinkingOptions(thinker, request.thinking ?? thinking, request.messages),
    ...defined({ promptCacheKey }),
    // What the embedder asks for is stronger than what we make of a level.
    ...given[key],
  };
  return Object.keys(own).length === 0 ? given : { ...given, [key]: own };
}

function takes(abilities: ModelAbilities, dialect: DialectName, mediaType: string): boolean {
  if (mediaType.startsWith("image/")) return abilities.images && isCommonImage(mediaType);
  if (mediaType === "application/pdf") return abilities.pdf;
  return abilities.audio && mediaType.startsWith("audio/") && takesAudio(dialect, mediaType);
}

const COMMON_AUDIO: readonly string[] = ["audio/wav", "audio/mp3", "audio/mpeg"];

/** What each adapter can put into a request. */
function takesAudio(dialect: DialectName, mediaType: string): boolean {
  if (dialect === "gemini") return true;
  return (dialect === "openai-chat" || dialect === "openai-compatible") && COMMON_AUDIO.includes(mediaType);
}

// How much a model is to think, in the words of its provider.

export interface Thinker {
  readonly id: string;
  readonly dialect: DialectName;
  /** The levels the model has; with none, nothing is ever said about thinking. */
  readonly levels: readonly ThinkingLevel[];
}

type Thoughtful = Exclude<ThinkingLevel, "off">;

/** Tokens of thought; the answer comes on top of them. */
const CLAUDE_BUDGET: Readonly<Record<Thoughtful, number>> = { low: 4_096, medium: 12_288, high: 32_000 };
const GEMINI_BUDGET: Readonly<Record<Thoughtful, number>> = { low: 2_048, medium: 8_192, high: 24_576 };

/** The level asked for, or the one nearest to it; of two as near, the lesser. */
export function nearestLevel(asked: ThinkingLevel, levels: readonly ThinkingLevel[]): ThinkingLevel | undefined {
  const rank = (level: ThinkingLevel) => THINKING_LEVELS.indexOf(level);
  const distance = (level: ThinkingLevel) =>
    Math.abs(rank(level) - rank(asked)) * 2 + Number(rank(level) > rank(asked));
  return [...levels].sort((one, other) => distance(one) - distance(other))[0];
}

/** Options for the provider's adapter, to go under the provider's name. Empty when the model has no such thing. */
export function thinkingOptions(
  thinker: Thinker,
  asked: ThinkingLevel | undefined,
  messages: readonly ModelMessage[],
): JSONObject {
  const level = asked === undefined ? undefined : nearestLevel(asked, thinker.levels);
  if (thinker.levels.length === 0) return {};
  switch (thinker.dialect) {
    case "anthropic":
      return claude(thinker, level, messages);
    case "openai-responses":
      return level === undefined ? {} : { reasoningEffort: effort(level), ...(level === "off" ? {} : SUMMARY) };
    case "openai-chat":
    case "openai-compatible":
      return level === undefined ? {} : { reasoningEffort: effort(level) };
    case "gemini":
      return { thinkingConfig: gemini(thinker, level) };
    case "plain":
      return {};
  }
}

/** Asked for with a level only: organisations that are not verified are refused summaries. */
const SUMMARY = { reasoningSummary: "auto" } as const;

function effort(level: ThinkingLevel): string {
  return level === "off" ? "none" : level;
}

function claude(thinker: Thinker, level: ThinkingLevel | undefined, messages: readonly ModelMessage[]): JSONObject {
  const style = styleOf(thinker, "adaptive");
  // Without `display` the newer models send their thoughts empty.
  const adaptive = { thinking: { type: "adaptive", display: "summarized" } };
  if (style === "always") return level === undefined ? adaptive : { ...adaptive, effort: effort(level) };
  if (level === undefined) return {};
  const isOff = level === "off" || (style === "budget" && hasForeignCalls(thinker.id, messages));
  if (isOff) return { thinking: { type: "disabled" } };
  if (style === "budget") return { thinking: { type: "enabled", budgetTokens: CLAUDE_BUDGET[level] } };
  return { ...adaptive, effort: level };
}

/** Calls since the last prompt that came without thoughts of this model's: it refuses to go on thinking after those. */
function hasForeignCalls(id: string, messages: readonly ModelMessage[]): boolean {
  const lastPrompt = messages.findLastIndex((message) => message.role === "user");
  return messages.slice(lastPrompt + 1).some((message) => {
    const isCall = message.role === "assistant" && message.toolCalls.length > 0;
    return isCall && message.providerData?.["model"] !== id;
  });
}

function gemini(thinker: Thinker, level: ThinkingLevel | undefined): JSONObject {
  if (level === undefined) return { includeThoughts: true };
  if (styleOf(thinker, "level") === "level") {
    return { includeThoughts: level !== "off", thinkingLevel: level === "off" ? "minimal" : level };
  }
  return level === "off" ? { thinkingBudget: 0 } : { includeThoughts: true, thinkingBudget: GEMINI_BUDGET[level] };
}

function styleOf({ id }: Thinker, otherwise: ThinkingStyle): ThinkingStyle {
  return knownModel(id.slice(id.indexOf("/") + 1))?.thinkingStyle ?? otherwise;
}
