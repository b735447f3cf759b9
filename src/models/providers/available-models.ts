// The models one may change to: those that can be used here, opened by name.

import { orAborted } from "../../base/async/deadline.js";
import { messageOf, type TenonError, toTenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import type { Fetch } from "../../base/ports/world.js";
import { type KnownAbilities, type ModelAbilities, mergeAbilities, tableAbilities } from "../abilities.js";
import type { Model, ModelEvent, ModelRequest } from "../model.js";
import { connectionOf, type Environment, readVariable } from "./connection.js";
import type { ModelLists } from "./lists.js";
import { OFFLINE_MODEL_ID, PROVIDERS, providerOf, unknownModel } from "./providers.js";

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
