// A model that a session can hold before its package is loaded.

import { orAborted } from "../base/async/deadline.js";
import { toTenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { type KnownAbilities, type ModelAbilities, mergeAbilities } from "./abilities.js";
import { tableAbilities } from "./known-models.js";
import type { Model, ModelEvent, ModelRequest } from "./model.js";
import { providerOf } from "./registry.js";

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
