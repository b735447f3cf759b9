// The span of one turn, from the prompt to its end, by the semantic conventions for GenAI agents.
import { inSpan } from "../base/ports/trace.js";
import type { World } from "../base/ports/world.js";
import { VERSION } from "../base/version.js";
import type { TurnEnd } from "../engine/index.js";
import { nameOf, providerName } from "./observed-model.js";

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
