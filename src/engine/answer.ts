// One model call: streams the answer out as events and returns what it amounted to, also when it was cut short.
import { TenonError } from "../base/errors.js";
import type { JsonObject } from "../base/json.js";
import type { Model, ModelFinish, ModelRequest, ModelToolCall, ModelUsage } from "../models/index.js";
import type { TurnEvent } from "./event.js";

export interface Answer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** `interrupted`: the signal fired; what came before it is kept. */
  readonly finish: ModelFinish | "interrupted";
  readonly usage?: ModelUsage;
  readonly providerData?: JsonObject;
  /** Why it broke off: the partial answer still enters the transcript before this is thrown. */
  readonly error?: unknown;
}

export async function* streamAnswer(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent, Answer, void> {
  let text = "";
  const toolCalls: ModelToolCall[] = [];
  try {
    for await (const event of model.stream(request, signal)) {
      switch (event.kind) {
        case "text":
          text += event.text;
          yield { kind: "text", text: event.text };
          break;
        case "thought":
          yield { kind: "thought", text: event.text };
          break;
        case "tool_call":
          toolCalls.push(event.call);
          break;
        case "finish": {
          const { reason, usage, providerData } = event;
          return {
            text,
            toolCalls,
            finish: reason,
            ...(usage ? { usage } : {}),
            ...(providerData ? { providerData } : {}),
          };
        }
      }
      if (signal.aborted) return { text, toolCalls: [], finish: "interrupted" };
    }
  } catch (error) {
    if (signal.aborted) return { text, toolCalls: [], finish: "interrupted" };
    return { text, toolCalls: [], finish: "stop", error };
  }
  const error = new TenonError("model.broken_stream", `${model.id} ended its answer without saying why`);
  return { text, toolCalls: [], finish: "stop", error };
}
