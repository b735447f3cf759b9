// The loop of one turn: ask the model, run the tools it calls, until it ends, is cancelled or meets a limit.

import { TenonError } from "../base/errors.js";
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { parseJson } from "../base/json/json.js";
import type { Model } from "../models/index.js";
import type { RunPorts } from "../tools/index.js";
import type { Answer } from "./ask/answer.js";
import { type Asked, ask } from "./ask/ask.js";
import { runAnswer } from "./calls.js";
import type { StopCause, StopReason, TurnEvent } from "./event.js";
import { withFoundTools } from "./found-tools.js";
import { ENGINE_LIMITS } from "./limits.js";
import { RepetitionGuard, withHint } from "./repetition.js";
import { NO_ANSWER } from "./transcript.js";
import { type Turn, type TurnEnd, TurnState } from "./turn.js";

/** How a turn ended, before the transcript has been told. */
interface Ending {
  readonly stopReason: StopReason;
  readonly cause?: StopCause;
  /** For people. */
  readonly reason?: string;
}

const CANCELLED: Ending = { stopReason: "cancelled" };

/** Words in the transcript, in the model's place, where its answer is missing or not whole. */
const BROKE_OFF = "[the answer broke off here]";
const CANCELLED_HERE = "[cancelled by the person here]";
const FAILED = "[the model failed to answer]";

/**
 * Throws a TenonError when the model fails. In every case, also when its reader leaves, the transcript is one that any
 * provider takes, and the next prompt can be added to it.
 */
export async function* runTurn(turn: Turn, signal: AbortSignal): AsyncGenerator<TurnEvent, TurnEnd, void> {
  const state = new TurnState(turn);
  const { transcript } = turn;
  let note = NO_ANSWER;
  try {
    const { stopReason, cause, reason } = yield* runSteps(state, signal);
    note = stopReason === "cancelled" ? CANCELLED_HERE : `[stopped: ${reason ?? "no answer"}]`;
    // What was refused once would be refused with every prompt that follows; clients are told so by the stop reason.
    if (stopReason === "refusal") transcript.dropTurn();
    if (cause !== undefined && reason !== undefined) yield { kind: "stopped", cause, reason };
    return { stopReason, ...defined({ cause }), usage: state.usage };
  } catch (error) {
    note = FAILED;
    throw error;
  } finally {
    transcript.endTurn(note);
  }
}

async function* runSteps(state: TurnState, signal: AbortSignal): AsyncGenerator<TurnEvent, Ending, void> {
  const { turn } = state;
  const guard = new RepetitionGuard();
  let truncated = 0;
  for (let request = 0; request < ENGINE_LIMITS.turnMaxModelCalls; request++) {
    if (signal.aborted) return CANCELLED;
    const asked = yield* ask(state, signal);
    const { answer } = asked;
    if (answer.toolCalls.length === 0) return endOf(turn, answer);
    const isTruncated = answer.finish === "length" && isCutOff(answer);
    truncated = isTruncated ? truncated + 1 : 0;
    const results = yield* runAnswer(batchOf(state, asked, isTruncated), signal);
    const rounds = guard.add(answer.toolCalls, results);
    turn.transcript.addCalls(answer, withFoundTools(withHint(results, rounds), asked.offer));
    if (signal.aborted) return CANCELLED;
    if (rounds >= ENGINE_LIMITS.repetition.stopAt) return circles(answer, rounds);
    if (truncated >= ENGINE_LIMITS.truncatedAnswers) return outputLimit(answer);
  }
  const reason = `the turn reached its limit of ${ENGINE_LIMITS.turnMaxModelCalls} model calls`;
  return { stopReason: "max_turn_requests", cause: "request_limit", reason };
}

function batchOf(
  state: TurnState,
  { answer, offer, compiled }: Asked,
  isTruncated: boolean,
): Parameters<typeof runAnswer>[0] {
  const { turn } = state;
  const last = answer.toolCalls.at(-1);
  return {
    calls: answer.toolCalls,
    announced: answer.announced,
    offer,
    ports: { ...turn.ports, media: mediaOf(turn.model) },
    nextCallId: () => state.nextCallId(),
    restore: (call) => {
      const restored = compiled.restore(call);
      // No arguments at all would pass for a call without any; cut off, they never began.
      const isNeverBegun = isTruncated && call === last && call.argumentsJson.trim() === "";
      return isNeverBegun ? { ...restored, argumentsJson: "{" } : restored;
    },
  };
}

/** The output limit fell into the last call. A complete JSON object cannot be the beginning of a longer one. */
function isCutOff({ toolCalls }: Answer): boolean {
  const last = toolCalls.at(-1);
  return last !== undefined && !parseJson(last.argumentsJson).ok;
}

/** One type stands for its kind: what of that kind a provider does not take, its adapter labels. */
/** What a model takes as it is. */
export function mediaOf(model: Model): RunPorts["media"] {
  const takes = (mediaType: string) => model.accepts?.(mediaType) ?? false;
  return { images: takes("image/png"), audio: takes("audio/wav"), documents: takes("application/pdf") };
}

/** An answer without calls: into the transcript with it, and the turn is over. */
function endOf(turn: Turn, answer: Answer): Ending {
  const { finish, text, error, providerData } = answer;
  switch (finish) {
    case "interrupted":
      turn.transcript.addAnswer(marked(text, CANCELLED_HERE));
      return CANCELLED;
    case "failed":
      if (error?.code === "model.content_filter") return refusal(error.message);
      turn.transcript.addAnswer(marked(text, BROKE_OFF));
      throw failure(answer);
    case "length":
      turn.transcript.addAnswer(text, providerData);
      return outputLimit(answer);
    case "refusal":
      return refusal(`${turn.model.id} refused to answer${answer.detail === undefined ? "" : ` (${answer.detail})`}`);
    case "stop":
    case "tool_calls":
      turn.transcript.addAnswer(text, providerData);
      return { stopReason: "end_turn" };
    default:
      return unreachable(finish);
  }
}

function marked(text: string, note: string): string {
  return text.trim() === "" ? "" : `${text}\n\n${note}`;
}

function failure({ error, text }: Answer): TenonError {
  if (!error) return new TenonError("internal", "an answer failed without an error");
  if (text.trim() === "") return error;
  const hint = `${error.hint} What came of the answer is kept: ask to go on, and it goes on from there.`;
  const { code, message, retryAfterMs } = error;
  return new TenonError(code, message, { cause: error, hint, ...defined({ retryAfterMs }) });
}

function refusal(words: string): Ending {
  const reason = `${words.replace(/[.\s]+$/u, "")}. The prompt and what came after it are not part of the conversation any more`;
  return { stopReason: "refusal", cause: "refusal", reason };
}

function outputLimit({ detail, text, toolCalls }: Answer): Ending {
  const isWindow = detail !== undefined && /context|window/i.test(detail);
  const limit = isWindow ? "the model's context window is full" : "the model's output limit was reached";
  const what =
    toolCalls.length > 0
      ? "a tool call was cut off again and again"
      : text.trim() === ""
        ? "nothing came"
        : "the answer was cut";
  return { stopReason: "max_tokens", cause: "output_limit", reason: `${what}: ${limit}` };
}

function circles({ toolCalls }: Answer, rounds: number): Ending {
  const names = [...new Set(toolCalls.map(({ name }) => name))].join(", ");
  const reason = `the model went round in circles: ${names} was called ${rounds} times in a row with the same arguments and the same result`;
  return { stopReason: "max_turn_requests", cause: "repetition", reason };
}
