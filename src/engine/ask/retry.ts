// Asks again when a provider cannot answer now, as long as nothing of an answer was seen, and lets people see the waiting.
import { backoffDelayMs, sleep } from "../../base/async/deadline.js";
import type { ErrorCode } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import type { TurnEvent } from "../event.js";
import { ENGINE_LIMITS } from "../limits.js";
import { type Answer, INTERRUPTED } from "./answer.js";

/** What passes by itself. */
const PASSING: ReadonlySet<ErrorCode> = new Set(["model.rate_limited", "model.overloaded", "model.unavailable"]);

export async function* withRetries(
  ask: () => AsyncGenerator<TurnEvent, Answer, void> | Promise<Answer>,
  world: World,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, Answer, void> {
  const { attempts } = ENGINE_LIMITS.modelRetry;
  for (let attempt = 1; ; attempt++) {
    const asked = ask();
    const answer = asked instanceof Promise ? await asked : yield* asked;
    const delayMs = attempt < attempts ? delayBefore(answer, attempt, world.random()) : undefined;
    if (delayMs === undefined || !answer.error) return answer;
    const { code, message } = answer.error;
    yield { kind: "waiting", code, reason: message, untilMs: world.now() + delayMs, attempt, attempts };
    const isOver = await waited(world, delayMs, signal);
    if (!isOver) return INTERRUPTED;
  }
}

/** Undefined when there is no point in asking again. */
function delayBefore({ error, hasOutput }: Answer, attempt: number, dice: number): number | undefined {
  if (!error || hasOutput || !PASSING.has(error.code)) return undefined;
  const { retryAfterMs } = error;
  if (retryAfterMs === undefined) return backoffDelayMs(ENGINE_LIMITS.modelRetry, attempt - 1, dice);
  if (retryAfterMs > ENGINE_LIMITS.modelWaitMaxMs) return undefined;
  // Never before the provider said; a little after, since everybody it turned away was told the same.
  return Math.ceil(retryAfterMs + Math.min(1_000, retryAfterMs / 10) * dice);
}

async function waited(world: World, delayMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep((ms, run) => world.after(ms, run), delayMs, signal);
    return true;
  } catch {
    return false; // cancelled
  }
}
