// Asks providers which models they have: once per address and key, within a deadline, kept in memory.

import { orAborted } from "../../base/async/deadline.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { type JsonValue, parseJson } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { type KnownAbilities, type ModelAbilities, mergeAbilities } from "../abilities.js";
import { type Connection, connectionOf, type Environment } from "../connection.js";
import { tableAbilities } from "../known-models.js";
import { MODEL_LIMITS } from "../limits.js";
import { toModelError } from "../provider-errors.js";
import { PROVIDERS, type Provider } from "../registry.js";
import { type ListedModel, readList } from "./read-list.js";

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

  #listed(providerName: string, env: Environment): Promise<readonly ListedModel[]> {
    const provider = Object.hasOwn(PROVIDERS, providerName) ? PROVIDERS[providerName] : undefined;
    if (provider === undefined) {
      const names = Object.keys(PROVIDERS).join(", ");
      return Promise.reject(
        new TenonError("model.unknown", `There is no provider "${providerName}"; there are: ${names}.`),
      );
    }
    return this.#kept(providerName, provider, env);
  }

  async #kept(providerName: string, provider: Provider, env: Environment): Promise<readonly ListedModel[]> {
    const connection = connectionOf(providerName, provider, { env, fetch: this.#world.fetch, name: "" });
    const key = JSON.stringify([providerName, connection.baseUrl, connection.apiKey]);
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
    const { apiKey } = connection;
    const failure = {
      modelId: providerName,
      keyVariable: provider.keyVariable,
      secrets: apiKey === undefined ? [] : [apiKey],
    };
    const models: ListedModel[] = [];
    try {
      let next: Readonly<Record<string, string>> | undefined = {};
      for (let page = 0; next !== undefined && page < MODEL_LIMITS.model.listMaxPages; page++) {
        const body = await orAborted(fetchPage(provider, connection, next, deadline.signal), deadline.signal);
        const read = readList(provider.listFormat, body);
        models.push(...read.models);
        next = read.next;
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
  const url = new URL(`${connection.baseUrl ?? provider.url ?? ""}/models`);
  for (const [name, value] of Object.entries({ ...PAGE_SIZE[provider.listFormat], ...query })) {
    url.searchParams.set(name, value);
  }
  const response = await connection.fetch(url, { headers: headersFor(provider, connection), signal });
  const text = await readBounded(response);
  if (!response.ok) {
    const failed = { statusCode: response.status, responseBody: text, message: response.statusText };
    throw Object.assign(new Error(response.statusText), failed);
  }
  const parsed = parseJson(text);
  if (!parsed.ok) throw new TenonError("model.broken_stream", `The list of models is no JSON: ${parsed.reason}`);
  return parsed.value;
}

const PAGE_SIZE = { anthropic: { limit: "1000" }, gemini: { pageSize: "1000" }, openai: {} } as const;

function headersFor(provider: Provider, { apiKey }: Connection): Record<string, string> {
  if (apiKey === undefined) return {};
  switch (provider.listFormat) {
    case "anthropic":
      return { "x-api-key": apiKey, "anthropic-version": "2023-06-01" };
    case "gemini":
      return { "x-goog-api-key": apiKey };
    case "openai":
      return { authorization: `Bearer ${apiKey}` };
  }
}

async function readBounded(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const reader = response.body?.getReader();
  if (reader === undefined) return text;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > MODEL_LIMITS.model.listMaxBytes) {
        throw new TenonError("model.broken_stream", "The list of models is too long to be one.");
      }
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => {}); // a stream that has failed rejects it with the failure that is being thrown
  }
}
