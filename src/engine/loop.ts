// The loop of one turn: ask the model, run the tools it calls, until it ends, is cancelled or meets a limit.
import { unreachable } from "../base/brand.js";
import { toTenonError } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import type { Model, ModelTool, ModelUsage } from "../models/index.js";
import type { Catalog } from "../tools/index.js";
import { type Answer, streamAnswer } from "./answer.js";
import { runCalls, type ToolPorts } from "./calls.js";
import type { StopReason, TurnEvent } from "./event.js";
import type { Transcript } from "./transcript.js";

export interface Turn {
  /** Counts from 1 within the session. */
  readonly number: number;
  readonly model: Model;
  readonly system: string;
  readonly transcript: Transcript;
  readonly ports: ToolPorts;
  /** Asked before every model call, so that tools of late servers join in the middle of a turn. */
  catalog(): Catalog;
}

export interface TurnEnd {
  readonly stopReason: StopReason;
  readonly usage: ModelUsage;
}

/** Throws a TenonError when the model fails; the transcript is valid in every case. */
export async function* runTurn(turn: Turn, signal: AbortSignal): AsyncGenerator<TurnEvent, TurnEnd, void> {
  const { transcript } = turn;
  let usage: ModelUsage = { inputTokens: 0, outputTokens: 0 };
  let callCount = 0;
  for (let request = 0; request < LIMITS.turnMaxModelCalls; request++) {
    if (signal.aborted) return { stopReason: "cancelled", usage };
    const catalog = turn.catalog();
    const tools = catalog.tools.map((tool) => modelTool(tool));
    const answer = yield* streamAnswer(
      turn.model,
      { system: turn.system, messages: transcript.messages, tools },
      signal,
    );
    if (answer.usage) {
      usage = addUsage(usage, answer.usage);
      yield { kind: "usage", usage: answer.usage };
    }
    if (answer.toolCalls.length === 0) {
      transcript.addAnswer(answer.text, answer.providerData);
      return { stopReason: stopReasonOf(answer), usage };
    }
    const nextCallId = () => `${turn.number}-${++callCount}`;
    const batch = { calls: answer.toolCalls, catalog, ports: turn.ports, nextCallId };
    const results = yield* runCalls(batch, signal);
    transcript.addCalls(answer, results);
  }
  return { stopReason: "max_turn_requests", usage };
}

function stopReasonOf(answer: Answer): StopReason {
  if (answer.error !== undefined) throw toTenonError(answer.error);
  switch (answer.finish) {
    case "interrupted":
      return "cancelled";
    case "length":
      return "max_tokens";
    case "refusal":
      return "refusal";
    case "stop":
    case "tool_calls":
      return "end_turn";
    default:
      return unreachable(answer.finish);
  }
}

function modelTool(tool: Catalog["tools"][number]): ModelTool {
  const { title, description, inputSchema } = tool.definition;
  return { name: tool.id, ...(title === undefined ? {} : { title }), description, inputSchema };
}

function addUsage(sum: ModelUsage, more: ModelUsage): ModelUsage {
  const cached = (sum.cachedInputTokens ?? 0) + (more.cachedInputTokens ?? 0);
  return {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    ...(cached === 0 ? {} : { cachedInputTokens: cached }),
  };
}
