// Asks providers which models they have: once per address and key, within a deadline, kept in memory.
import { orAborted } from "../../base/async/deadline.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import {
  type KnownAbilities,
  type ModelAbilities,
  type ModelPrice,
  mergeAbilities,
  THINKING_LEVELS,
  tableAbilities,
} from "../abilities.js";
import { toModelError } from "../failures/provider-errors.js";
import { MODEL_LIMITS } from "../limits.js";
import { type Connection, connectionOf, type Environment } from "./connection.js";
import { PROVIDERS, type Provider } from "./providers.js";

/** A model that can be chosen. */
export interface AvailableModel {
  /** `provider/name`, as it is written after `--model`. */
  readonly id: string;
  readonly title?: string;
  readonly abilities: ModelAbilities;
}

export class ModelLists {
  readonly #world: Pick<World, "fetch" | "deadline">;
  readonly #lists = new Map<string, Promise<readonly ListedModel[]>>();

  constructor(world: Pick<World, "fetch" | "deadline">) {
    this.#world = world;
  }

  /** All models of one provider, in its order. Fails with a `model.*` code. */
  async list(providerName: string, env: Environment): Promise<readonly AvailableModel[]> {
    const models = await this.#listed(providerName, env);
    return models.map(({ name, title, abilities }) => {
      const id = `${providerName}/${name}`;
      const known = mergeAbilities([abilities, tableAbilities(id)]);
      return { id, ...defined({ title }), abilities: known };
    });
  }

  /** What the provider says about one model. Undefined when it says nothing, or cannot be asked. Never rejects. */
  async find(providerName: string, name: string, env: Environment): Promise<KnownAbilities | undefined> {
    const models = await this.#listed(providerName, env).catch(() => []);
    return models.find((model) => model.name === name)?.abilities;
  }

  async #listed(providerName: string, env: Environment): Promise<readonly ListedModel[]> {
    const provider = Object.hasOwn(PROVIDERS, providerName) ? PROVIDERS[providerName] : undefined;
    if (provider === undefined) {
      const names = Object.keys(PROVIDERS).join(", ");
      throw new TenonError("model.unknown", `There is no provider "${providerName}"; there are: ${names}.`);
    }
    const connection = connectionOf(providerName, provider, { env, fetch: this.#world.fetch, name: "" });
    const key = JSON.stringify([providerName, connection.baseURL, connection.apiKey]);
    const asked = this.#lists.get(key) ?? this.#ask(providerName, provider, connection);
    this.#lists.set(key, asked);
    try {
      return await asked;
    } catch (thrown) {
      // The next one who wants to know asks again.
      if (this.#lists.get(key) === asked) this.#lists.delete(key);
      throw thrown;
    }
  }

  async #ask(providerName: string, provider: Provider, connection: Connection): Promise<readonly ListedModel[]> {
    using deadline = this.#world.deadline(MODEL_LIMITS.model.listTimeoutMs);
    const secrets = connection.apiKey === undefined ? [] : [connection.apiKey];
    const failure = { modelId: providerName, keyVariable: provider.keyVariable, secrets };
    const models: ListedModel[] = [];
    try {
      let next: Readonly<Record<string, string>> | undefined = {};
      for (let page = 0; next !== undefined && page < MODEL_LIMITS.model.listMaxPages; page++) {
        const body: JsonValue = await orAborted(
          fetchPage(provider, connection, next, deadline.signal),
          deadline.signal,
        );
        const { entries, modelOf, nextOf } = FORMATS[provider.listFormat];
        models.push(...listIn(body, entries).flatMap((entry) => modelOf(entry) ?? []));
        next = isJsonObject(body) ? nextOf?.(body) : undefined;
      }
      return models;
    } catch (thrown) {
      throw toModelError(failure, thrown, "asking");
    }
  }
}

async function fetchPage(
  provider: Provider,
  connection: Connection,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<JsonValue> {
  const url = new URL(`${connection.baseURL}/models`);
  const { pageSize, headers } = FORMATS[provider.listFormat];
  for (const [name, value] of Object.entries({ ...pageSize, ...query })) url.searchParams.set(name, value);
  const { apiKey } = connection;
  const response = await connection.fetch(url, { headers: apiKey === undefined ? {} : headers(apiKey), signal });
  const body = await readBounded(response, MODEL_LIMITS.model.listMaxBytes, "The list of models");
  if (!response.ok) {
    const failed = { statusCode: response.status, responseBody: body };
    throw Object.assign(new Error(response.statusText), failed);
  }
  const parsed = parseJson(body);
  if (!parsed.ok) throw new TenonError("model.broken_stream", `The list of models is no JSON: ${parsed.reason}`);
  return parsed.value;
}

/** `what` is the subject of the error for an answer that is too long. */
export async function readBounded({ body }: Response, maxBytes: number, what: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new TenonError("model.broken_stream", `${what} is too long to be one.`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

// The model lists of providers, read leniently: each server adds to the same few fields in its own way.

/** `openai` is what compatible servers speak too, and add to. */
export type ListFormat = "anthropic" | "openai" | "gemini";

interface ListedModel {
  /** At the provider. */
  readonly name: string;
  readonly title: string | undefined;
  readonly abilities: KnownAbilities;
}

interface ListReader {
  readonly pageSize?: Readonly<Record<string, string>>;
  readonly headers: (apiKey: string) => Record<string, string>;
  /** The field of the answer that holds the list. */
  readonly entries: string;
  readonly modelOf: (entry: JsonObject) => ListedModel | undefined;
  /** What to add to the address for the rest; undefined when there is none. */
  readonly nextOf?: (body: JsonObject) => Readonly<Record<string, string>> | undefined;
}

const FORMATS: Readonly<Record<ListFormat, ListReader>> = {
  anthropic: {
    pageSize: { limit: "1000" },
    headers: (apiKey) => ({ "x-api-key": apiKey, "anthropic-version": "2023-06-01" }),
    entries: "data",
    modelOf: anthropicModel,
    nextOf: ({ has_more: hasMore, last_id: last }) =>
      hasMore === true && typeof last === "string" && last !== "" ? { after_id: last } : undefined,
  },
  gemini: {
    pageSize: { pageSize: "1000" },
    headers: (apiKey) => ({ "x-goog-api-key": apiKey }),
    entries: "models",
    modelOf: geminiModel,
    nextOf: ({ nextPageToken: token }) =>
      typeof token === "string" && token !== "" ? { pageToken: token } : undefined,
  },
  openai: {
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    entries: "data",
    modelOf: openaiModel,
  },
};

function anthropicModel(entry: JsonObject): ListedModel | undefined {
  const can = object(entry["capabilities"]);
  const thinks = flag(object(can["thinking"])["supported"]);
  return named(text(entry["id"]), text(entry["display_name"]), {
    contextTokens: count(entry["max_input_tokens"]),
    maxOutputTokens: count(entry["max_tokens"]),
    images: flag(object(can["image_input"])["supported"]),
    pdf: flag(object(can["pdf_input"])["supported"]),
    thinking: thinks === undefined ? undefined : thinks ? THINKING_LEVELS : [],
  });
}

function geminiModel(entry: JsonObject): ListedModel | undefined {
  const methods = entry["supportedGenerationMethods"];
  if (Array.isArray(methods) && !methods.includes("generateContent")) return undefined;
  const thinks = flag(entry["thinking"]);
  return named(text(entry["name"])?.replace(/^models\//, ""), text(entry["displayName"]), {
    contextTokens: count(entry["inputTokenLimit"]),
    maxOutputTokens: count(entry["outputTokenLimit"]),
    thinking: thinks === undefined ? undefined : thinks ? ["low", "high"] : [],
  });
}

/** OpenRouter, vLLM, Groq, Mistral, LM Studio, llama.cpp, Together: what they add, by the names they add it under. */
function openaiModel(entry: JsonObject): ListedModel | undefined {
  const name = text(entry["id"]) ?? text(entry["name"]);
  const top = object(entry["top_provider"]);
  const can = object(entry["capabilities"]);
  const inputs = object(entry["architecture"])["input_modalities"];
  const takes = (kind: string): boolean | undefined => (Array.isArray(inputs) ? inputs.includes(kind) : undefined);
  const parameters = entry["supported_parameters"];
  const context = [
    entry["loaded_context_length"],
    top["context_length"],
    entry["context_length"],
    entry["context_window"],
    entry["max_model_len"],
    entry["max_context_length"],
    object(entry["meta"])["n_ctx"],
  ];
  return named(name, name === text(entry["name"]) ? undefined : text(entry["name"]), {
    contextTokens: context.flatMap((value) => count(value) ?? [])[0],
    maxOutputTokens: count(top["max_completion_tokens"]) ?? count(entry["max_completion_tokens"]),
    images: takes("image") ?? flag(can["vision"]),
    audio: takes("audio"),
    pdf: takes("file"),
    thinking: Array.isArray(parameters) && parameters.includes("reasoning") ? THINKING_LEVELS.slice(1) : undefined,
    price: priceOf(object(entry["pricing"])),
  });
}

/** OpenRouter's: dollars per token, as texts. */
function priceOf(pricing: JsonObject): ModelPrice | undefined {
  const perMTok = (value: JsonValue | undefined): number | undefined => {
    const amount = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
    return amount >= 0 && Number.isFinite(amount) ? Math.round(amount * 1e12) / 1e6 : undefined;
  };
  const input = perMTok(pricing["prompt"]);
  const output = perMTok(pricing["completion"]);
  if (input === undefined || output === undefined) return undefined;
  const cacheReadPerMTok = perMTok(pricing["input_cache_read"]);
  const cacheWritePerMTok = perMTok(pricing["input_cache_write"]);
  return { inputPerMTok: input, outputPerMTok: output, ...defined({ cacheReadPerMTok, cacheWritePerMTok }) };
}

function named(
  name: string | undefined,
  title: string | undefined,
  abilities: KnownAbilities,
): ListedModel | undefined {
  return name === undefined ? undefined : { name, title, abilities };
}

/** Some servers answer with the bare list. */
function listIn(body: JsonValue, key: string): readonly JsonObject[] {
  const list: JsonValue | undefined = isJsonObject(body) ? body[key] : body;
  const values: readonly JsonValue[] = Array.isArray(list) ? list : [];
  return values.filter((entry) => isJsonObject(entry));
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function flag(value: JsonValue | undefined): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
