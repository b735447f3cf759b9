// A session's model as watchers see it: each request a span by the semantic conventions for GenAI, and a part of the trace.
import { defined } from "../../base/json/defined.js";
import { errorType, inSpan, type OpenSpan, type SpanAttributes } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import { VERSION } from "../../base/version.js";
import type { TurnEnd } from "../../engine/index.js";
import type { Model, ModelEvent, ModelRequest } from "../../models/index.js";

/** Costs a request nothing while nobody watches. Spans are of single requests: an attempt that is repeated has its own. */
export function observedModel(model: Model, world: World, session: string): Model {
  const { id, dialect } = model;
  return {
    id,
    ...defined({ dialect }),
    get abilities() {
      return model.abilities; // of a model that loads itself they are known later
    },
    accepts: (mediaType) => model.accepts?.(mediaType) ?? false,
    stream: (request, signal) => {
      const isWatched = world.telemetry?.isActive === true || world.trace !== undefined;
      return isWatched ? observed({ model, world, session }, request, signal) : model.stream(request, signal);
    },
  };
}

interface Observation {
  readonly model: Model;
  readonly world: World;
  readonly session: string;
}

async function* observed(
  { model, world, session }: Observation,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, void, void> {
  const { trace, telemetry } = world;
  const attributes = attributesOf(model.id, session, request);
  const span = await telemetry?.start({ name: `chat ${nameOf(model.id)}`, kind: "client", attributes });
  const inside = <T>(step: () => T): T => {
    const inTrace = () => (trace ? trace.within(session, step) : step());
    return span ? span.run(inTrace) : inTrace();
  };
  const events = inside(() => model.stream(request, signal)[Symbol.asyncIterator]());
  try {
    for (;;) {
      const next = await inside(() => events.next());
      if (next.done) return;
      if (span) note(span, next.value);
      yield next.value;
    }
  } catch (thrown) {
    if (!signal.aborted) span?.fail(errorType(thrown), thrown instanceof Error ? thrown.message : undefined);
    throw thrown;
  } finally {
    span?.end();
    await inside(() => events.return?.());
  }
}

function attributesOf(modelId: string, session: string, { maxOutputTokens }: ModelRequest): SpanAttributes {
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": providerName(modelId),
    "gen_ai.request.model": nameOf(modelId),
    "gen_ai.request.stream": true,
    "gen_ai.request.max_tokens": maxOutputTokens,
    "gen_ai.conversation.id": session,
  };
}

function note(span: OpenSpan, event: ModelEvent): void {
  if (event.kind !== "finish") return;
  const { reason, usage } = event;
  span.set({
    "gen_ai.response.finish_reasons": [reason],
    "gen_ai.usage.input_tokens": usage?.inputTokens,
    "gen_ai.usage.output_tokens": usage?.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage?.cachedInputTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage?.cacheWriteTokens,
  });
}

/** The words the convention has for those it knows; others by their own. */
const PROVIDER_NAMES: ReadonlyMap<string, string> = new Map([["google", "gcp.gemini"]]);

function providerName(modelId: string): string {
  const slash = modelId.indexOf("/");
  const provider = slash < 0 ? modelId : modelId.slice(0, slash);
  return PROVIDER_NAMES.get(provider) ?? provider;
}

function nameOf(modelId: string): string {
  return modelId.slice(modelId.indexOf("/") + 1);
}

export interface TurnFacts {
  readonly session: string;
  /** `provider/name`. */
  readonly model: string;
  readonly turn: number;
}

/** Everything the turn does is inside it. Costs nothing while nobody listens. */
export async function inTurnSpan(
  { telemetry }: Pick<World, "telemetry">,
  { session, model, turn }: TurnFacts,
  run: () => Promise<TurnEnd>,
): Promise<TurnEnd> {
  if (!telemetry?.isActive) return await run();
  const attributes = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "tenon",
    "gen_ai.agent.version": VERSION,
    "gen_ai.provider.name": providerName(model),
    "gen_ai.request.model": nameOf(model),
    "gen_ai.conversation.id": session,
    "tenon.turn": turn,
  };
  return await inSpan(telemetry, { name: "invoke_agent tenon", kind: "internal", attributes }, async (span) => {
    const end = await run();
    const { usage } = end;
    span.set({
      "tenon.stop_reason": end.stopReason,
      "gen_ai.usage.input_tokens": usage.inputTokens,
      "gen_ai.usage.output_tokens": usage.outputTokens,
      "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens,
      "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    });
    return end;
  });
}
