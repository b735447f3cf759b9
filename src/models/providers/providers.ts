// Which model is meant, and the model itself: its package loaded, what it can do found out.
import type { SharedV3ProviderOptions } from "@ai-sdk/provider";
import { orAborted } from "../../base/async/deadline.js";
import { messageOf, TenonError, toTenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { Fetch, World } from "../../base/ports/world.js";
import {
  type KnownAbilities,
  knownModel,
  type ModelAbilities,
  mergeAbilities,
  type ThinkingLevel,
  tableAbilities,
} from "../abilities.js";
import { MODEL_LIMITS } from "../limits.js";
import type { Model, ModelEvent, ModelRequest } from "../model.js";
import { type AiSdkLanguageModel, type AiSdkOptions, aiSdkModel } from "./ai-sdk.js";
import {
  baseUrlOf,
  type Connection,
  type ConnectionRules,
  connectionOf,
  type Environment,
  readVariable,
  shownUrl,
} from "./connection.js";
import type { ListFormat, ModelLists } from "./lists.js";

export interface Provider extends ConnectionRules {
  /** Used when only the key is set: the maker's all-round model. */
  readonly defaultModel?: string;
  /** What people choose among, the default first; the maker has more, and any name will do. */
  readonly usualModels?: readonly string[];
  readonly options: AiSdkOptions;
  readonly listFormat: ListFormat;
  load(connection: Connection): Promise<AiSdkLanguageModel>;
}

/** Nothing is stored with OpenAI; thoughts come back to it encrypted instead. */
const openaiOptions: SharedV3ProviderOptions = { openai: { store: false } };

const OPENAI_RULES = {
  keyVariable: "OPENAI_API_KEY",
  urlVariables: ["OPENAI_BASE_URL"],
  url: "https://api.openai.com/v1",
  listFormat: "openai",
} as const;

/**
 * In the order in which a key in the environment is looked for. Everything is given to a package, so that it does not look
 * into the process's environment by itself.
 */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: {
    keyVariable: "ANTHROPIC_API_KEY",
    urlVariables: ["ANTHROPIC_BASE_URL"],
    urlSuffix: "/v1",
    url: "https://api.anthropic.com/v1",
    defaultModel: "claude-sonnet-5-5",
    usualModels: ["claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-1", "claude-haiku-4-5"],
    options: { dialect: "anthropic" },
    listFormat: "anthropic",
    async load({ name, apiKey = "", baseURL, fetch }) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ apiKey, baseURL, fetch })(name);
    },
  },
  openai: {
    ...OPENAI_RULES,
    defaultModel: "gpt-6.1-sol",
    usualModels: ["gpt-6.1-sol", "gpt-6-astra", "gpt-5.4-mini"],
    options: { dialect: "openai-responses", providerOptions: openaiOptions },
    async load({ name, apiKey = "", baseURL, fetch }) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, fetch }).responses(name);
    },
  },
  "openai-chat": {
    ...OPENAI_RULES,
    // The chat protocol has text-only tool results; a picture would go out as base64 text.
    options: { dialect: "openai-chat", providerOptions: openaiOptions, toolMedia: "beside" },
    async load({ name, apiKey = "", baseURL, fetch }) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI({ apiKey, baseURL, fetch }).chat(name);
    },
  },
  google: {
    keyVariable: "GEMINI_API_KEY",
    urlVariables: ["GOOGLE_GEMINI_BASE_URL"],
    urlSuffix: "/v1beta",
    url: "https://generativelanguage.googleapis.com/v1beta",
    defaultModel: "gemini-pro-latest",
    usualModels: ["gemini-pro-latest", "gemini-3.7-flash"],
    options: { dialect: "gemini" },
    listFormat: "gemini",
    async load({ name, apiKey = "", baseURL, fetch }) {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI({ apiKey, baseURL, fetch })(name);
    },
  },
  "openai-compatible": {
    keyVariable: "TENON_API_KEY",
    urlVariables: ["TENON_BASE_URL", "OPENAI_BASE_URL"],
    options: { dialect: "openai-compatible", toolMedia: "beside" },
    listFormat: "openai",
    async load({ name, apiKey, baseURL, fetch }) {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const base = { name: "openaiCompatible", baseURL, fetch, includeUsage: true };
      return createOpenAICompatible({ ...base, ...defined({ apiKey }) })(name);
    },
  },
};

/** Other names people use. */
const ALIASES: Readonly<Record<string, string>> = { gemini: "google" };

export interface NamedProvider {
  /** Its own name, whatever it was called. */
  readonly providerName: string;
  readonly provider: Provider;
  /** The model's name at the provider. */
  readonly name: string;
}

/** Undefined when there is no such provider, or no name after it. */
export function providerOf(id: string): NamedProvider | undefined {
  const slash = id.indexOf("/");
  const said = slash < 0 ? "" : id.slice(0, slash);
  const providerName = Object.hasOwn(ALIASES, said) ? (ALIASES[said] ?? said) : said;
  const name = id.slice(slash + 1).trim();
  const provider = Object.hasOwn(PROVIDERS, providerName) ? PROVIDERS[providerName] : undefined;
  return provider === undefined || name === "" ? undefined : { providerName, provider, name };
}

/** The user's settings of one model; stronger than the table and the provider. `maxOutputTokens` is sent with every request. */
export interface ModelSettings extends Omit<KnownAbilities, "toolSearch"> {
  /** Whether found tools are sent in the provider's own way; unless given, at the provider's own address only. */
  readonly toolSearch?: boolean | undefined;
  /** How long it may send nothing. */
  readonly silenceMs?: number | undefined;
}

export interface LoadOptions {
  readonly env: Environment;
  readonly fetch: Fetch;
  readonly settings?: ModelSettings | undefined;
  /** How much it thinks where a request does not say. */
  readonly thinking?: ThinkingLevel | undefined;
  /** Asked about models that are not in the table. Without it no provider is asked. */
  readonly lists?: ModelLists | undefined;
  readonly now?: () => number;
  /** Times how long a provider is silent; without it there is no limit. */
  readonly clock?: Pick<World, "after" | "monotonicMs">;
}

export const OFFLINE_MODEL_ID = "offline/operator";

const FORM = `Models are written provider/name; providers: ${Object.keys(PROVIDERS).join(", ")}; or ${OFFLINE_MODEL_ID}.`;

/** Flag, then `TENON_MODEL`, then the first provider with a key, then the offline model. Says nothing of whether it works. */
export function resolveModelId({
  flag,
  env,
}: {
  readonly flag?: string | undefined;
  readonly env: Environment;
}): string {
  const said = flag?.trim() || env["TENON_MODEL"]?.trim();
  if (said) return said;
  for (const [provider, { keyVariable, defaultModel }] of Object.entries(PROVIDERS)) {
    const hasKey = readVariable(env, keyVariable) !== undefined;
    if (defaultModel !== undefined && hasKey) return `${provider}/${defaultModel}`;
  }
  return OFFLINE_MODEL_ID;
}

function unknownModel(id: string): TenonError {
  return new TenonError("model.unknown", `There is no model "${id}". ${FORM}`, { hint: FORM });
}

/** Loads the package of the model's provider. Fails with `model.unknown` or `model.unauthorized`, before any request. */
export async function loadModel(id: string, options: LoadOptions): Promise<Model> {
  if (id === OFFLINE_MODEL_ID) {
    const { offlineModel } = await import("../offline/operator.js");
    return offlineModel;
  }
  const named = providerOf(id);
  if (named === undefined) throw unknownModel(id);
  const { provider, name } = named;
  const silenceMs = options.settings?.silenceMs ?? MODEL_LIMITS.model.silenceMs;
  const silence = options.clock && { clock: options.clock, silenceMs };
  const connection = connectionOf(id, provider, { ...options, name, silence });
  const [languageModel, listed] = await Promise.all([provider.load(connection), listedAbilities(id, named, options)]);
  const { settings, thinking } = options;
  const secrets = connection.apiKey === undefined ? [] : [connection.apiKey];
  return aiSdkModel(id, languageModel, {
    ...provider.options,
    abilities: { ...listed, ...knownAbilities(id, options) },
    thinking,
    maxOutputTokens: settings?.maxOutputTokens,
    failure: {
      secrets,
      keyVariable: provider.keyVariable,
      baseUrl: shownUrl(connection.baseURL),
      ...defined({ now: options.now }),
    },
  });
}

/** The abilities of a model without a request: the user's settings, then the table. */
export function knownAbilities(
  id: string,
  given: { readonly env: Environment; readonly settings?: ModelSettings | undefined },
): KnownAbilities {
  const { toolSearch, silenceMs: _, ...said } = given.settings ?? {};
  const native = nativeSearch(id, given.env, toolSearch);
  return { ...tableAbilities(id), ...defined({ ...said, toolSearch: native }) };
}

/** Gateways take the maker's messages and often not this part of them, so it is used at the maker's own address only. */
function nativeSearch(id: string, env: Environment, isWanted: boolean | undefined): KnownAbilities["toolSearch"] {
  const named = providerOf(id);
  const form = named === undefined ? undefined : knownModel(named.name)?.toolSearch;
  const dialect = named?.provider.options.dialect;
  const speaks = form === "anthropic" ? dialect === "anthropic" : dialect === "openai-responses";
  if (named === undefined || form === undefined || !speaks) return undefined;
  const isOwnAddress = baseUrlOf(named.provider, env) === named.provider.url;
  return (isWanted ?? isOwnAddress) ? form : undefined;
}

/** The first prompt waits for this: only models that are not in the table are asked about, and failures are ignored. */
async function listedAbilities(id: string, named: NamedProvider, options: LoadOptions): Promise<KnownAbilities> {
  const isKnown = (options.settings?.contextTokens ?? tableAbilities(id).contextTokens) !== undefined;
  if (isKnown || options.lists === undefined) return {};
  return (await options.lists.find(named.providerName, named.name, options.env)) ?? {};
}

// The models one may change to: those that can be used here, opened by name.

export interface AskedModels {
  /** `provider/name`. */
  readonly ids: readonly string[];
  /** Providers that could not be asked, each in one sentence. */
  readonly problems: readonly string[];
}

export interface AvailableModels {
  /** The model sessions begin with, whether or not it can be used: its first request says what is wrong with it. */
  readonly first: Model;
  /** The usual ones that can be used here, the session's default first. No provider is asked. */
  readonly ids: readonly string[];
  /** Every model of the providers there is a key for. Asks them. */
  ask(): Promise<AskedModels>;
  /** Why a model cannot be used, as far as that is known without a request. */
  problemOf(id: string): TenonError | undefined;
  /** Loads nothing yet. Throws what `problemOf` says. */
  open(id: string): Model;
}

export interface AvailableModelsOptions {
  /** The model sessions begin with. */
  readonly first: string;
  /** Models the person has said something about. */
  readonly named?: readonly string[];
  /** Keys and addresses; a key that is fetched when it is needed may be any text here. */
  readonly env: Environment;
  readonly fetch: Fetch;
  readonly lists: ModelLists;
  /** The environment with the real keys, for asking providers; `env` unless given. */
  realEnv?(): Promise<Environment>;
  load(id: string): Promise<Model>;
  known(id: string): KnownAbilities;
}

export function availableModels(options: AvailableModelsOptions): AvailableModels {
  const problemOf = (id: string) => problem(id, options);
  const opened = (id: string) => lazyModel(id, () => options.load(id), options.known(id));
  return {
    first: opened(options.first),
    ids: usualIds(options),
    ask: () => askProviders(options),
    problemOf,
    open: (id) => {
      const found = problemOf(id);
      if (found) throw found;
      return opened(id);
    },
  };
}

function usualIds({ first, named = [], env, ...options }: AvailableModelsOptions): readonly string[] {
  const ofProviders = Object.entries(PROVIDERS).flatMap(([provider, { keyVariable, usualModels = [] }]) =>
    readVariable(env, keyVariable) === undefined ? [] : usualModels.map((name) => `${provider}/${name}`),
  );
  const usable = [...named, ...ofProviders].filter((id) => problem(id, { ...options, env }) === undefined);
  return [...new Set([first, ...usable, OFFLINE_MODEL_ID])];
}

function problem(id: string, { env, fetch }: Pick<AvailableModelsOptions, "env" | "fetch">): TenonError | undefined {
  if (id === OFFLINE_MODEL_ID) return undefined;
  const named = providerOf(id);
  if (!named) return unknownModel(id);
  try {
    connectionOf(id, named.provider, { env, fetch, name: named.name });
    return undefined;
  } catch (thrown) {
    return toTenonError(thrown, "model.unauthorized");
  }
}

async function askProviders(options: AvailableModelsOptions): Promise<AskedModels> {
  const { lists, env } = options;
  // Of two names for one provider the first: the models are the same.
  const asked = Object.entries(PROVIDERS).filter(
    ([name, { keyVariable, url, urlVariables }]) =>
      name !== "openai-chat" &&
      (url === undefined ? urlVariables : [keyVariable]).some((variable) => readVariable(env, variable) !== undefined),
  );
  if (asked.length === 0) return { ids: [], problems: [] };
  const keys = (await options.realEnv?.()) ?? env;
  const answers = await Promise.all(
    asked.map(async ([name]): Promise<AskedModels> => {
      try {
        return { ids: (await lists.list(name, keys)).map(({ id }) => id), problems: [] };
      } catch (thrown) {
        return { ids: [], problems: [`${name}: ${messageOf(thrown)}`] };
      }
    }),
  );
  return { ids: answers.flatMap(({ ids }) => ids), problems: answers.flatMap(({ problems }) => problems) };
}

// A model that a session can hold before its package is loaded.

/**
 * Loads on the first request; requests that come meanwhile join it, and a failed load is tried again by the next one.
 * Until then its abilities are those of the bundled table, under what `known` says.
 */
export function lazyModel(id: string, load: () => Promise<Model>, known: KnownAbilities = {}): Model {
  let loading: Promise<Model> | undefined;
  let last: Model | undefined;
  const loaded = async () => {
    loading ??= start(load);
    const current = loading;
    try {
      return await current;
    } catch (thrown) {
      if (loading === current) loading = undefined;
      throw toTenonError(thrown, "model.unavailable");
    }
  };
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    const model = await orAborted(loaded(), signal);
    last = model;
    yield* model.stream(request, signal);
  }
  const dialect = providerOf(id)?.provider.options.dialect;
  const early = dialect === undefined ? undefined : mergeAbilities([known, tableAbilities(id)]);
  // Asked about the results of calls that it made itself, so it has been loaded by then.
  const accepts = (mediaType: string) => last?.accepts?.(mediaType) ?? false;
  return {
    id,
    accepts,
    stream,
    // The dialect of the id, since tools are compiled before the first request; nothing for models without one.
    ...defined({ dialect }),
    get abilities(): ModelAbilities | undefined {
      return last?.abilities ?? early;
    },
  };
}

/** So that a load that throws before it returns a promise rejects like any other. */
async function start(load: () => Promise<Model>): Promise<Model> {
  return load();
}
