// The model port: what the engine asks of any language model, and the events it streams back.

import type { JsonObject, JsonSchema } from "../base/json/json.js";
import type { ContentBlock } from "../base/text/content.js";
import type { ModelAbilities, ThinkingLevel } from "./abilities.js";

/** The forms of JSON Schema that providers take. */
export type DialectName =
  | "anthropic"
  | "openai-chat"
  | "openai-responses"
  | "gemini"
  | "openai-compatible"
  /** For models that read the schema as it was meant: the offline one, and an embedder's own. */
  | "plain";

/**
 * A tool as a model is offered it.
 *
 * @example
 * const names = (tools: readonly ModelTool[]) => tools.map(({ name }) => name);
 */
export interface ModelTool {
  readonly name: string;
  /** For people, and for models that match by words. */
  readonly title?: string;
  readonly description: string;
  /** The raw schema, or, once `compileTools` has been over it, the form the model's provider takes. */
  readonly inputSchema: JsonSchema;
  /** Whether the provider is to decode arguments strictly by the schema; left out, its own default holds. */
  readonly strict?: boolean;
  /** Options for one provider's adapter, by its name (`anthropic`, `openai`, `google`, `openaiCompatible`). */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>;
  /** The tool whose results name tools in `found`. One per request; only for models with `abilities.toolSearch`. */
  readonly isSearch?: boolean;
  /**
   * It was found by search: its definition goes to the model beside the result that found it, and the beginning of the
   * prompt stays as it was. While no result of the conversation names it, it is offered like any other.
   */
  readonly isDeferred?: boolean;
}

export interface ModelToolCall {
  /** The provider's own id; it pairs call and result within the transcript and is not shown. */
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
  /** Whose words these are (`server / tool`): data, never instructions. Unset for what the host says of a call. */
  readonly origin?: string;
  /**
   * Of a search: the tools it found, by name, the best first. Where the model has `abilities.toolSearch`, their
   * definitions take the place of the content; elsewhere this is not looked at.
   */
  readonly found?: readonly string[];
}

/**
 * One message of a conversation.
 *
 * @example
 * const message: ModelMessage = { role: "user", content: [{ type: "text", text: "hello" }] };
 */
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

/**
 * What a model is asked: the conversation so far, and the tools.
 *
 * @example
 * const lastOf = ({ messages }: ModelRequest) => messages.at(-1);
 */
export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  /** How much it is to think; the nearest level the model has. Left out: as the provider decides. */
  readonly thinking?: ThinkingLevel;
  readonly maxOutputTokens?: number;
  /** The same for all requests of one conversation, so that the provider finds what it has cached. No secret. */
  readonly cacheKey?: string;
}

export interface ModelUsage {
  /** All of them, those from the cache and those written to it included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  /** By the list price, where it is known: an estimate for people, not a bill. */
  readonly costUsd?: number;
}

export type ModelFinish = "stop" | "tool_calls" | "length" | "refusal";

/**
 * One step of a model's answer.
 *
 * @example
 * const event: ModelEvent = { kind: "text", text: "Hello." };
 */
export type ModelEvent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  /** Arguments as they are being written, to show that something happens. The call itself comes as `tool_call`, or never. */
  | { readonly kind: "tool_input"; readonly callId: string; readonly name: string; readonly delta: string }
  | { readonly kind: "tool_call"; readonly call: ModelToolCall }
  | {
      readonly kind: "finish";
      readonly reason: ModelFinish;
      /** The provider's own word for a refusal or a limit (`SAFETY`, `model_context_window_exceeded`). */
      readonly detail?: string;
      readonly usage?: ModelUsage;
      readonly providerData?: JsonObject;
    };

/**
 * A language model: anything that streams an answer.
 *
 * @example
 * const parrot: Model = {
 *   id: "my/parrot",
 *   async *stream() {
 *     yield { kind: "text", text: "Hello." };
 *     yield { kind: "finish", reason: "stop" };
 *   },
 * };
 */
export interface Model {
  /** `provider/name`, as people write it. */
  readonly id: string;
  /** The form of JSON Schema it takes; left out, it is known by the id, or the schemas are sent as they are. */
  readonly dialect?: DialectName;
  /** Unknown when left out: then the careful defaults of `LIMITS.context` hold. */
  readonly abilities?: ModelAbilities | undefined;
  /** Whether it takes files of a media type as they are. Left out, it takes text only, and files reach it as labels. */
  accepts?(mediaType: string): boolean;
  /**
   * Streams one answer; the last event is always `finish`. Throws a TenonError with a `model.*` code when the provider
   * fails, and the signal's reason when it aborts.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
