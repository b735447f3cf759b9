// A model that a session can hold before its package is loaded.
import { orAborted } from "../base/deadline.js";
import { toTenonError } from "../base/errors.js";
import type { Model, ModelEvent, ModelRequest } from "./model.js";

/** Loads on the first request; requests that come meanwhile join it, and a failed load is tried again by the next one. */
export function lazyModel(id: string, load: () => Promise<Model>): Model {
  let loading: Promise<Model> | undefined;
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
    yield* model.stream(request, signal);
  }
  return { id, stream };
}

/** So that a load that throws before it returns a promise rejects like any other. */
async function start(load: () => Promise<Model>): Promise<Model> {
  return load();
}
