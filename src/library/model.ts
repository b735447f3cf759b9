// A model of the program's own: what it throws and streams is checked, since plain JavaScript is held to no type.
import { messageOf, TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { isJsonObject } from "../base/json/json.js";
import type { Model, ModelEvent, ModelFinish } from "../models/index.js";

export function isOwnModel(given: unknown): given is Model {
  return isJsonObject(given) && typeof given["id"] === "string" && typeof given["stream"] === "function";
}

/** The same model; what it throws, and what it streams that is no event, fails the turn with `model.broken_stream`. */
export function checkedModel(model: Model): Model {
  const { id, dialect } = model;
  const accepts = model.accepts && ((mediaType: string) => model.accepts?.(mediaType) ?? false);
  return {
    id,
    ...defined({ dialect, accepts }),
    get abilities() {
      return model.abilities;
    },
    stream: (request, signal) => {
      const events = attempted(id, () => model.stream(request, signal));
      const isIterable = typeof events === "object" && Symbol.asyncIterator in events;
      if (!isIterable) throw broken(id, "its stream() must return an async iterable of events");
      return { [Symbol.asyncIterator]: () => checkedEvents(id, events[Symbol.asyncIterator]()) };
    },
  };
}

/** No generator: one that waits for its next event could not be ended meanwhile. */
function checkedEvents(id: string, events: AsyncIterator<ModelEvent>): AsyncIterator<ModelEvent> {
  return {
    next: async () => {
      const step = await told(id, () => events.next());
      const problem = !isJsonObject(step)
        ? "no step of an iterator"
        : step.done === true
          ? undefined
          : eventProblem(step.value);
      if (problem !== undefined) throw broken(id, `it streamed ${problem}`);
      return step;
    },
    return: async () => (await told(id, async () => await events.return?.())) ?? { done: true, value: undefined },
  };
}

async function told<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw failureOf(id, thrown);
  }
}

function attempted<T>(id: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw failureOf(id, thrown);
  }
}

/** What a program throws is no bug of Tenon, which `internal` would say; its own TenonError says what it says. */
function failureOf(id: string, thrown: unknown): TenonError {
  return thrown instanceof TenonError ? thrown : broken(id, messageOf(thrown), thrown);
}

function broken(id: string, what: string, cause?: unknown): TenonError {
  return new TenonError("model.broken_stream", `the model ${JSON.stringify(id)} failed: ${what}`, {
    hint: "Look at the code of the model.",
    cause,
  });
}

/** By the kind of an event, the texts it cannot be without. */
const TEXTS_OF: ReadonlyMap<unknown, readonly string[]> = new Map<ModelEvent["kind"], readonly string[]>([
  ["text", ["text"]],
  ["thought", ["text"]],
  ["tool_input", ["callId", "name", "delta"]],
  ["tool_call", []],
  ["finish", []],
]);
const TEXTS_OF_CALL = ["callId", "name", "argumentsJson"];
const REASONS: readonly ModelFinish[] = ["stop", "tool_calls", "length", "refusal"];
const KNOWN_REASONS: ReadonlySet<unknown> = new Set(REASONS);

function eventProblem(event: unknown): string | undefined {
  if (!isJsonObject(event)) return "something that is no event";
  const { kind, call, reason, usage } = event;
  const texts = TEXTS_OF.get(kind);
  if (!texts) return `an event whose kind is none of ${[...TEXTS_OF.keys()].join(", ")}`;
  const owner = kind === "tool_call" ? call : event;
  if (!isJsonObject(owner)) return "a tool_call without its call";
  const missing = (kind === "tool_call" ? TEXTS_OF_CALL : texts).find((name) => typeof owner[name] !== "string");
  if (missing !== undefined) return `an event without a text as its ${missing}`;
  if (kind !== "finish") return undefined;
  if (!KNOWN_REASONS.has(reason)) return `a finish whose reason is none of ${REASONS.join(", ")}`;
  if (usage === undefined) return undefined;
  const isCounted = isJsonObject(usage) && [usage["inputTokens"], usage["outputTokens"]].every(Number.isFinite);
  return isCounted ? undefined : "a finish whose usage has no numbers of tokens";
}
