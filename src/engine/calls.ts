// Runs the tool calls of one answer, exactly one result each in the model's order, and streams what happens as it happens.

import { Channel } from "../base/async/channel.js";
import { abortListeners } from "../base/async/scope.js";
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { LIMITS } from "../base/limits.js";
import { text } from "../base/text/content.js";
import type { ModelToolCall, ModelToolResult } from "../models/index.js";
import {
  type CallEvent,
  type ModelResult,
  type Offer,
  type PreparedCall,
  type Presented,
  prepareCall,
  type RunPorts,
  runCalls,
} from "../tools/index.js";
import type { TurnEvent } from "./event.js";

export interface CallBatch {
  readonly calls: readonly ModelToolCall[];
  /** The ids of calls that people saw being written, by the provider's. */
  readonly announced?: ReadonlyMap<string, string>;
  readonly offer: Offer;
  readonly ports: RunPorts;
  nextCallId(): string;
  /** The call with the arguments its tool wants, whatever form the model was shown. */
  restore(call: ModelToolCall): ModelToolCall;
}

/** When its reader leaves, the calls are cancelled and waited for. */
export async function* runAnswer(
  batch: CallBatch,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, ModelToolResult[], void> {
  const announced = new Set(batch.announced?.values());
  const prepared = batch.calls.map((call) => {
    const { callId, name, argumentsJson } = batch.restore(call);
    const toolCallId = batch.announced?.get(callId) ?? batch.nextCallId();
    return prepareCall({ toolCallId, name, argumentsJson }, batch.offer);
  });
  for (const call of prepared) yield started(call, announced.has(call.toolCallId));
  const presented = yield* streamCalls(prepared, batch.ports, signal);
  return batch.calls.map(({ callId, name }, index) => ({ callId, name, ...resultAt(presented, index) }));
}

/** Providers refuse a conversation in which a call has no result. */
function resultAt(presented: readonly Presented[], index: number): ModelResult {
  return presented[index]?.model ?? { isError: true, content: [text("The call has no result.")] };
}

async function* streamCalls(
  calls: readonly PreparedCall[],
  ports: RunPorts,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, readonly Presented[], void> {
  const events = new Channel<TurnEvent>(LIMITS.eventBacklog);
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  else abortListeners(signal).add(onAbort);
  const onEvent = (event: CallEvent) => {
    // Progress is a picture of the moment: for a reader that lags behind there is no point in all of them.
    if (event.kind !== "progress" || events.size < LIMITS.eventBacklog) events.offer(toTurnEvent(event));
  };
  const running = runCalls(calls, ports, { signal: controller.signal, onEvent }).finally(() => events.close());
  let isOver = false;
  try {
    for await (const event of events) yield event;
    const results = await running;
    isOver = true;
    return results;
  } finally {
    abortListeners(signal).delete(onAbort);
    if (!isOver) controller.abort(new DOMException("nobody waits for the calls any more", "AbortError"));
    await running;
  }
}

function started(call: PreparedCall, wasAnnounced: boolean): TurnEvent {
  const { toolCallId, name, tool } = call;
  return {
    kind: "call_started",
    toolCallId,
    subject: { name, ...defined({ tool }) },
    arguments: call.arguments,
    wasAnnounced,
  };
}

function toTurnEvent(event: CallEvent): TurnEvent {
  const { toolCallId } = event.call;
  switch (event.kind) {
    case "awaiting_approval":
      return { kind: "call_awaiting_approval", toolCallId };
    case "running":
      return { kind: "call_running", toolCallId };
    case "progress":
      return { kind: "call_progress", toolCallId, progress: event.progress, elapsedMs: event.elapsedMs };
    case "ended":
      return { kind: "call_ended", toolCallId, outcome: event.outcome, elapsedMs: event.elapsedMs };
    default:
      return unreachable(event);
  }
}
