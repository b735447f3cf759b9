// Which model: chosen from flag and environment, and its provider's package loaded when it is first used.
import type { SharedV3ProviderOptions } from "@ai-sdk/provider";
import { TenonError } from "../base/errors.js";
import type { Fetch, World } from "../base/world.js";
import { type AiSdkOptions, aiSdkModel, isCommonImage, type StreamingLanguageModel } from "./ai-sdk.js";
import type { Model } from "./model.js";

type Environment = World["env"];

export interface ModelChoice {
  /** `--model`, above everything else. */
  readonly flag?: string | undefined;
  readonly env: Environment;
}

export interface LoadOptions {
  readonly env: Environment;
  readonly fetch: Fetch;
}

interface Connection {
  readonly name: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
  readonly fetch: Fetch;
}

interface Provider {
  readonly keyVariable: string;
  readonly needsKey: boolean;
  /** The first of these that is set is where requests go. */
  readonly urlVariables: readonly string[];
  /** What the maker's own tools append to a base URL and the package does not. */
  readonly urlSuffix: string;
  readonly needsUrl: boolean;
  /** Used when only the key is set: the maker's all-round model. */
  readonly defaultModel?: string;
  readonly options: AiSdkOptions;
  load(connection: Connection): Promise<StreamingLanguageModel>;
}

export const OFFLINE_MODEL_ID = "offline/operator";

const imageOrPdf = (mediaType: string) => isCommonImage(mediaType) || mediaType === "application/pdf";

/** Caches the unchanging beginning of the conversation: the long part of every request of a turn. */
const anthropicOptions: SharedV3ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };

/** Nothing is stored with OpenAI; thoughts come back to it encrypted instead. */
const openaiOptions: SharedV3ProviderOptions = { openai: { store: false } };

/** In the order in which a key in the environment is looked for. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: {
    keyVariable: "ANTHROPIC_API_KEY",
    needsKey: true,
    urlVariables: ["ANTHROPIC_BASE_URL"],
    urlSuffix: "/v1",
    needsUrl: false,
    defaultModel: "claude-sonnet-5-5",
    options: { accepts: imageOrPdf, providerOptions: anthropicOptions },
    async load(connection) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic(settings(connection, "https://api.anthropic.com/v1"))(connection.name);
    },
  },
  openai: {
    keyVariable: "OPENAI_API_KEY",
    needsKey: true,
    urlVariables: ["OPENAI_BASE_URL"],
    urlSuffix: "",
    needsUrl: false,
    defaultModel: "gpt-6.1-sol",
    options: { accepts: imageOrPdf, providerOptions: openaiOptions },
    async load(connection) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return createOpenAI(settings(connection, "https://api.openai.com/v1"))(connection.name);
    },
  },
  google: {
    keyVariable: "GEMINI_API_KEY",
    needsKey: true,
    urlVariables: ["GOOGLE_GEMINI_BASE_URL"],
    urlSuffix: "/v1beta",
    needsUrl: false,
    defaultModel: "gemini-pro-latest",
    options: { accepts: (mediaType) => imageOrPdf(mediaType) || mediaType.startsWith("audio/") },
    async load(connection) {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      const base = "https://generativelanguage.googleapis.com/v1beta";
      return createGoogleGenerativeAI(settings(connection, base))(connection.name);
    },
  },
  "openai-compatible": {
    keyVariable: "TENON_API_KEY",
    needsKey: false,
    urlVariables: ["TENON_BASE_URL", "OPENAI_BASE_URL"],
    urlSuffix: "",
    needsUrl: true,
    // The chat protocol has text-only tool results; a picture would go out as base64 text.
    options: { toolMedia: "beside" },
    async load({ name, apiKey, baseUrl = "", fetch }) {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const key = apiKey === undefined ? {} : { apiKey };
      const base = { name: "openaiCompatible", baseURL: baseUrl, fetch, includeUsage: true };
      return createOpenAICompatible({ ...base, ...key })(name);
    },
  },
};

const FORM = `Models are written provider/name; providers: ${Object.keys(PROVIDERS).join(", ")}; or ${OFFLINE_MODEL_ID}.`;

/** Flag, then `TENON_MODEL`, then the first provider with a key, then the offline model. Says nothing of whether it works. */
export function resolveModelId(choice: ModelChoice): string {
  const said = choice.flag?.trim() || choice.env["TENON_MODEL"]?.trim();
  if (said) return said;
  for (const [provider, { keyVariable, defaultModel }] of Object.entries(PROVIDERS)) {
    if (defaultModel !== undefined && read(choice.env, keyVariable) !== undefined) return `${provider}/${defaultModel}`;
  }
  return OFFLINE_MODEL_ID;
}

/** Loads the package of the model's provider. Fails with `model.unknown` or `model.unauthorized`, before any request. */
export async function loadModel(id: string, options: LoadOptions): Promise<Model> {
  if (id === OFFLINE_MODEL_ID) {
    const { offlineModel } = await import("./offline/operator.js");
    return offlineModel;
  }
  const slash = id.indexOf("/");
  const name = id.slice(slash + 1).trim();
  const providerName = slash < 0 ? "" : id.slice(0, slash);
  const provider = Object.hasOwn(PROVIDERS, providerName) ? PROVIDERS[providerName] : undefined;
  if (provider === undefined || name === "") {
    throw new TenonError("model.unknown", `There is no model "${id}". ${FORM}`, { hint: FORM });
  }
  const connection = connectionOf(id, provider, name, options);
  return aiSdkModel(id, await provider.load(connection), provider.options);
}

function connectionOf(id: string, provider: Provider, name: string, options: LoadOptions): Connection {
  const { keyVariable, urlVariables } = provider;
  const apiKey = read(options.env, keyVariable);
  if (provider.needsKey && apiKey === undefined) {
    const hint = `Set ${keyVariable} in the environment, or choose another model with --model provider/name.`;
    throw new TenonError("model.unauthorized", `${id} needs a key: ${keyVariable} is not set.`, { hint });
  }
  const [url] = urlVariables.flatMap((variable) => read(options.env, variable) ?? []);
  if (provider.needsUrl && url === undefined) {
    const hint = `Set ${urlVariables.join(" or ")}, for example to http://127.0.0.1:11434/v1 for Ollama.`;
    throw new TenonError("model.unknown", `${id} needs a base URL: ${urlVariables.join(" or ")} is not set.`, { hint });
  }
  if (url !== undefined && !isHttpUrl(url)) {
    throw new TenonError("model.unknown", `${id} has a base URL that is no http or https URL: ${url}`, {
      hint: `Correct ${urlVariables.join(" or ")}.`,
    });
  }
  return { name, apiKey, baseUrl: url && withSuffix(url, provider.urlSuffix), fetch: options.fetch };
}

function isHttpUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function withSuffix(url: string, suffix: string): string {
  const base = url.replace(/\/+$/, "");
  return base.endsWith(suffix) ? base : `${base}${suffix}`;
}

/** Everything is given, so that no package looks into the process's environment by itself. */
function settings(connection: Connection, defaultUrl: string): { apiKey: string; baseURL: string; fetch: Fetch } {
  return { apiKey: connection.apiKey ?? "", baseURL: connection.baseUrl ?? defaultUrl, fetch: connection.fetch };
}

/** An empty variable counts as unset, and a newline at the end of a pasted key would break the request. */
function read(env: Environment, variable: string): string | undefined {
  return env[variable]?.trim() || undefined;
}
