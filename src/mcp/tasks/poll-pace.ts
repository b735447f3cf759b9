// When a task is asked for again. Pure: the dice are passed in.
import { backoffDelayMs } from "../../base/async/deadline.js";
import { MCP_LIMITS, TASK_LIMITS } from "../limits.js";

export interface PollFacts {
  /** What the server suggested last. */
  readonly suggestedMs: number | undefined;
  /** How often it was asked so far. */
  readonly polls: number;
  /** How often in a row it could not be asked. */
  readonly failures: number;
  /** Until the server may forget the task; undefined when it keeps it, or may have forgotten it already. */
  readonly ttlLeftMs: number | undefined;
}

/** Not before the server wants it, a little later by chance, and rather too early than after the task may be forgotten. */
export function pollDelayMs({ suggestedMs, polls, failures, ttlLeftMs }: PollFacts, dice: number): number {
  const { poll, minPollMs, maxPollMs, pollJitter } = TASK_LIMITS;
  if (failures > 0) return Math.max(minPollMs, backoffDelayMs(MCP_LIMITS.reconnect, failures - 1, dice));
  const wishedMs = suggestedMs ?? backoffDelayMs(poll, polls, dice);
  const delayMs = Math.min(maxPollMs, Math.max(minPollMs, wishedMs) * (1 + pollJitter * dice));
  if (ttlLeftMs === undefined || ttlLeftMs <= 0 || delayMs < ttlLeftMs) return Math.round(delayMs);
  return Math.max(minPollMs, Math.round(ttlLeftMs * 0.9));
}
