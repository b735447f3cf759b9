// Compaction because a person asked for it, between two turns.
import type { ModelUsage } from "../../models/index.js";
import { compileOffer } from "../compiled-offer.js";
import type { TurnEvent } from "../event.js";
import { type Turn, TurnState } from "../turn.js";
import { compact } from "./compact.js";

/** `turn` is that of the next prompt; nothing of it happens. Returns what it used, and whether the conversation is shorter now. */
export async function* compactBetweenTurns(
  turn: Turn,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, { readonly isDone: boolean; readonly usage: ModelUsage }, void> {
  const state = new TurnState(turn);
  const { tools } = compileOffer(turn.offer(), turn.model, turn.transcript.messages);
  const isDone = yield* compact(state, { cause: "asked", tools }, signal);
  return { isDone, usage: state.usage };
}
