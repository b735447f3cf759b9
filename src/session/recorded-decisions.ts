// What grants depend on of this machine, recorded for a replay: decisions that were kept, and where folders really are.

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { recorded } from "../base/ports/trace.js";
import type { World } from "../base/ports/world.js";
import type { DecisionStore, LoadedDecisions } from "../tools/index.js";

const NOTHING: LoadedDecisions = { decisions: [], problems: [] };

/** The store itself, unless somebody watches or a recording is run again. */
export function recordedDecisions(store: DecisionStore, world: World): DecisionStore {
  if (!world.trace && !world.replay) return store;
  return {
    load: async (project) =>
      await recorded<LoadedDecisions>(world, {
        ask: "decisions",
        about: {},
        work: () => store.load(project),
        read: (recorded) => (isLoaded(recorded) ? recorded : undefined),
      }).catch(() => NOTHING),
    keep: (decision) => store.keep(decision),
    remove: (id) => store.remove(id),
  };
}

/** A text about the machine, or nothing. Never rejects: what cannot be told is nothing. */
export async function recordedText(
  world: World,
  ask: "folder" | "program",
  about: JsonObject,
  work: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (!world.trace && !world.replay) return await work().catch(() => undefined);
  const answer = await recorded<{ readonly text: string | null }>(world, {
    ask,
    about,
    work: async () => ({ text: (await work().catch(() => undefined)) ?? null }),
    read: (recorded) => {
      const text = isJsonObject(recorded) ? recorded["text"] : undefined;
      return typeof text === "string" || text === null ? { text } : undefined;
    },
  }).catch(() => ({ text: null }));
  return answer.text ?? undefined;
}

function isLoaded(value: JsonValue): value is JsonObject & LoadedDecisions {
  return isJsonObject(value) && Array.isArray(value["decisions"]) && Array.isArray(value["problems"]);
}
