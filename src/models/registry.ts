// The providers: what each needs, and its package, loaded when a model of it is first used.
import type { SharedV3ProviderOptions } from "@ai-sdk/provider";
import type { Fetch } from "../base/ports/world.js";
import type { AiSdkOptions, StreamingLanguageModel } from "./ai-sdk.js";
import type { Connection, ConnectionRules } from "./connection.js";
import type { ListFormat } from "./lists/read-list.js";

export interface Provider extends ConnectionRules {
  /** Its own address, as its package has it. */
  readonly url?: string;
  /** Used when only the key is set: the maker's all-round model. */
  readonly defaultModel?: string;
  /** What people choose among, the default first; the maker has more, and any name will do. */
  readonly usualModels?: readonly string[];
  readonly options: AiSdkOptions;
  readonly listFormat: ListFormat;
  load(connection: Connection): Promise<StreamingLanguageModel>;
}

/** Nothing is stored with OpenAI; thoughts come back to it encrypted instead. */
const openaiOptions: SharedV3ProviderOptions = { openai: { store: false } };

const ANTHROPIC_URL = "https://api.anthropic.com/v1";
const OPENAI_URL = "https://api.openai.com/v1";
const GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta";

const OPENAI_RULES = {
  keyVariable: "OPENAI_API_KEY",
  needsKey: true,
  urlVariables: ["OPENAI_BASE_URL"],
  urlSuffix: "",
  needsUrl: false,
  url: OPENAI_URL,
  listFormat: "openai",
} as const;

/** In the order in which a key in the environment is looked for. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: {
    keyVariable: "ANTHROPIC_API_KEY",
    needsKey: true,
    urlVariables: ["ANTHROPIC_BASE_URL"],
    urlSuffix: "/v1",
    needsUrl: false,
    url: ANTHROPIC_URL,
    defaultModel: "claude-sonnet-5-5",
    usualModels: ["claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-1", "claude-haiku-4-5"],
    options: { dialect: "anthropic" },
    listFormat: "anthropic",
    async load(connection) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic(settings(connection, ANTHROPIC_URL))(connection.name);
    },
  },
  openai: {
    ...OPENAI_RULES,
    defaultModel: "gpt-6.1-sol",
    usualModels: ["gpt-6.1-sol", "gpt-6-astra", "gpt-5.4-mini"],
    options: { dialect: "openai-responses", providerOptions: openaiOptions },
    async load(connection) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI(settings(connection, OPENAI_URL)).responses(connection.name);
    },
  },
  "openai-chat": {
    ...OPENAI_RULES,
    // The chat protocol has text-only tool results; a picture would go out as base64 text.
    options: { dialect: "openai-chat", providerOptions: openaiOptions, toolMedia: "beside" },
    async load(connection) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI(settings(connection, OPENAI_URL)).chat(connection.name);
    },
  },
  google: {
    keyVariable: "GEMINI_API_KEY",
    needsKey: true,
    urlVariables: ["GOOGLE_GEMINI_BASE_URL"],
    urlSuffix: "/v1beta",
    needsUrl: false,
    url: GOOGLE_URL,
    defaultModel: "gemini-pro-latest",
    usualModels: ["gemini-pro-latest", "gemini-3.7-flash"],
    options: { dialect: "gemini" },
    listFormat: "gemini",
    async load(connection) {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return createGoogleGenerativeAI(settings(connection, GOOGLE_URL))(connection.name);
    },
  },
  "openai-compatible": {
    keyVariable: "TENON_API_KEY",
    needsKey: false,
    urlVariables: ["TENON_BASE_URL", "OPENAI_BASE_URL"],
    urlSuffix: "",
    needsUrl: true,
    options: { dialect: "openai-compatible", toolMedia: "beside" },
    listFormat: "openai",
    async load({ name, apiKey, baseUrl = "", fetch }) {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const key = apiKey === undefined ? {} : { apiKey };
      const base = { name: "openaiCompatible", baseURL: baseUrl, fetch, includeUsage: true };
      return createOpenAICompatible({ ...base, ...key })(name);
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

/** Everything is given, so that no package looks into the process's environment by itself. */
function settings(connection: Connection, defaultUrl: string): { apiKey: string; baseURL: string; fetch: Fetch } {
  return { apiKey: connection.apiKey ?? "", baseURL: connection.baseUrl ?? defaultUrl, fetch: connection.fetch };
}
