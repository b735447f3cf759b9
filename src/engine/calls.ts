// Runs the tool calls of one answer in the model's order, exactly one result each, and streams what happens meanwhile.
import { Channel } from "../base/channel.js";
import { LIMITS } from "../base/limits.js";
import type { ModelToolCall, ModelToolResult } from "../models/index.js";
import { type Catalog, prepareCall, type RunPorts, runCall, toModelResult } from "../tools/index.js";
import type { TurnEvent } from "./event.js";

export type ToolPorts = Pick<RunPorts, "approve" | "journal">;

export interface CallBatch {
  readonly calls: readonly ModelToolCall[];
  readonly catalog: Catalog;
  readonly ports: ToolPorts;
  nextCallId(): string;
}

export async function* runCalls(
  batch: CallBatch,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, ModelToolResult[], void> {
  const results: ModelToolResult[] = [];
  for (const call of batch.calls) results.push(yield* runOne(batch, call, signal));
  return results;
}

async function* runOne(
  batch: CallBatch,
  call: ModelToolCall,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, ModelToolResult, void> {
  const toolCallId = batch.nextCallId();
  const prepared = prepareCall({ toolCallId, name: call.name, argumentsJson: call.argumentsJson }, batch.catalog);
  const tool = prepared.entry?.tool;
  yield {
    kind: "call_started",
    toolCallId,
    subject: { name: call.name, ...(tool ? { tool } : {}) },
    arguments: prepared.arguments,
  };
  const events = new Channel<TurnEvent>(LIMITS.eventBacklog);
  const running = runCall(
    prepared,
    {
      ...batch.ports,
      onRunning: () => events.offer({ kind: "call_running", toolCallId }),
      onProgress: (progress) => events.offer({ kind: "call_progress", toolCallId, progress }),
    },
    signal,
  ).finally(() => events.close());
  for await (const event of events) yield event;
  const outcome = await running;
  yield { kind: "call_ended", toolCallId, outcome };
  return { callId: call.callId, name: call.name, ...toModelResult(outcome) };
}
