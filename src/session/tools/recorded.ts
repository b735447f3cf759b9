// Tenon's own tools as a trace records them: a replay answers from the recording and does not run them again.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { recorded } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { type BuiltinPresentation, type BuiltinSource, presentationOf, type TextFile } from "../../builtin/index.js";
import type { DecisionStore, LoadedDecisions, SourceCall, ToolOutcome } from "../../tools/index.js";

/** They touch nothing but the session and its person, who are both heard elsewhere. */
const TALK: readonly string[] = ["update_plan", "ask_person"];

/** The source itself, unless a trace is recorded or replayed. */
export function recordedBuiltin(source: BuiltinSource, world: World): BuiltinSource {
  if (!world.trace && !world.replay) return source;
  return {
    ...source,
    call: (call) => (TALK.includes(call.tool) ? source.call(call) : callOf(source, call, world)),
    preview: async (tool, args, signal) => {
      const shown = await recorded<BuiltinPresentation | null>(world, {
        ask: "preview",
        about: { tool, arguments: args },
        work: async () => (await source.preview(tool, args, signal)) ?? null,
        read: (recorded) => (isPresentation(recorded) ? recorded : null),
      });
      return shown ?? undefined;
    },
    impossible: async (tool, args) => {
      const { reason } = await recorded<{ readonly reason: JsonValue | undefined }>(world, {
        ask: "impossible",
        about: { tool, arguments: args },
        work: async () => ({ reason: (await source.impossible(tool, args)) ?? null }),
        read: (recorded) => (isJsonObject(recorded) ? { reason: recorded["reason"] } : undefined),
      });
      return typeof reason === "string" ? reason : undefined;
    },
    readText: async (path, signal) =>
      await recorded(world, {
        ask: "file",
        about: path,
        work: () => source.readText(path, signal),
        read: (recorded) => (isTextFile(recorded) ? recorded : undefined),
      }),
  };
}

interface Done {
  readonly outcome: ToolOutcome;
  /** How the call looked in the end. */
  readonly shown: BuiltinPresentation | null;
}

async function callOf(source: BuiltinSource, call: SourceCall, world: World): Promise<ToolOutcome> {
  const { tool, toolCallId = null, arguments: args, onProgress } = call;
  let shown: BuiltinPresentation | null = null;
  const followed: SourceCall = {
    ...call,
    onProgress: (progress) => {
      shown = presentationOf(source, progress) ?? shown;
      onProgress(progress);
    },
  };
  const work = async (): Promise<Done> => ({ outcome: await source.call(followed), shown });
  const about = { tool, toolCallId, arguments: args };
  const done = await recorded(world, { ask: "tool", about, work, read: doneOf });
  if (world.replay && done.shown) {
    const progress = { progress: 1, presentation: done.shown };
    onProgress(progress);
  }
  return done.outcome;
}

function doneOf(recorded: JsonValue): Done | undefined {
  if (!isJsonObject(recorded)) return undefined;
  const { outcome, shown } = recorded;
  return isOutcome(outcome) ? { outcome, shown: isPresentation(shown) ? shown : null } : undefined;
}

const OUTCOMES = ["done", "failed", "refused", "cancelled", "unknown"] as const;

/** Our own words, which the trace may only have made shorter. */
function isOutcome(value: JsonValue | undefined): value is JsonObject & ToolOutcome {
  return isJsonObject(value) && OUTCOMES.some((kind) => value["kind"] === kind);
}

function isPresentation(value: JsonValue | undefined): value is JsonObject & BuiltinPresentation {
  return isJsonObject(value) && typeof value["title"] === "string" && Array.isArray(value["locations"]);
}

function isTextFile(value: JsonValue): value is JsonObject & TextFile {
  return isJsonObject(value) && ["text", "elsewhere", "failed"].some((kind) => value["kind"] === kind);
}

const NOTHING: LoadedDecisions = { decisions: [], problems: [] };

/** The store itself, unless a trace is recorded or replayed. */
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
