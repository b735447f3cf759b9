// The model port: what the engine asks of any language model, and the events it streams back.
import type { ContentBlock } from "../base/content.js";
import type { JsonObject, JsonSchema } from "../base/json.js";

/** A tool as a model is offered it. */
export interface ModelTool {
  readonly name: string;
  /** For people, and for models that match by words. */
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

export interface ModelToolCall {
  /** The provider's own id; it pairs call and result within the transcript and is shown to nobody. */
  readonly callId: string;
  readonly name: string;
  /** Arguments as the model wrote them: JSON text that may be truncated or invalid. */
  readonly argumentsJson: string;
}

export interface ModelToolResult {
  readonly callId: string;
  readonly name: string;
  readonly isError: boolean;
  readonly content: readonly ContentBlock[];
}

export type ModelMessage =
  | { readonly role: "user"; readonly content: readonly ContentBlock[] }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly toolCalls: readonly ModelToolCall[];
      /** What the provider wants back verbatim with this message (signed thoughts and the like). */
      readonly providerData?: JsonObject;
    }
  | { readonly role: "tool"; readonly results: readonly ModelToolResult[] };

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
}

export type ModelFinish = "stop" | "tool_calls" | "length" | "refusal";

export type ModelEvent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "tool_call"; readonly call: ModelToolCall }
  | {
      readonly kind: "finish";
      readonly reason: ModelFinish;
      readonly usage?: ModelUsage;
      readonly providerData?: JsonObject;
    };

export interface Model {
  /** `provider/name`, as people write it. */
  readonly id: string;
  /**
   * Streams one answer; the last event is always `finish`. Throws a TenonError with a `model.*` code when the provider
   * fails, and the signal's reason when it aborts.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
