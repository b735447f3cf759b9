// The stream of an AI SDK language model as our events.
import type {
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider";
import { orAborted } from "../base/deadline.js";
import { TenonError } from "../base/errors.js";
import { isJsonObject } from "../base/json.js";
import type { ModelEvent, ModelFinish, ModelToolCall, ModelUsage } from "./model.js";
import { type RecordedPart, toProviderData } from "./provider-data.js";
import { toModelError } from "./provider-errors.js";

type FinishPart = Extract<LanguageModelV3StreamPart, { type: "finish" }>;
type TextRecord = Extract<RecordedPart, { kind: "text" }>;
type ThoughtRecord = Extract<RecordedPart, { kind: "thought" }>;
type CallPart = Extract<LanguageModelV3StreamPart, { type: "tool-call" }>;

/**
 * Text and thoughts as they come; the calls only with the finish, so that an answer that breaks off never runs a tool
 * with half its arguments. Cancels the stream however it is left.
 */
export async function* fromStream(
  modelId: string,
  stream: ReadableStream<LanguageModelV3StreamPart>,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, void, void> {
  const reader = stream.getReader();
  const answer = new Answer(modelId);
  try {
    for (;;) {
      const read = await orAborted(reader.read(), signal);
      if (read.done) throw new TenonError("model.broken_stream", `${modelId} broke off before the end of its answer.`);
      const part = read.value;
      if (part.type === "error") throw part.error;
      if (part.type === "finish") {
        const events = answer.finish(part);
        yield* events;
        return;
      }
      const event = answer.take(part);
      if (event !== undefined) yield event;
    }
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    throw toModelError(modelId, thrown, "reading");
  } finally {
    // A stream that has failed rejects its cancellation with the failure that is being thrown already.
    await reader.cancel().catch(() => {});
  }
}

/** One answer while it arrives: what it has said so far, in the form that goes back to the provider. */
class Answer {
  readonly #modelId: string;
  readonly #parts: RecordedPart[] = [];
  /** The latest part of each of the provider's ids. */
  readonly #texts = new Map<string, TextRecord>();
  readonly #thoughts = new Map<string, ThoughtRecord>();
  readonly #calls: ModelToolCall[] = [];

  constructor(modelId: string) {
    this.#modelId = modelId;
  }

  take(part: LanguageModelV3StreamPart): ModelEvent | undefined {
    switch (part.type) {
      // A start always opens a new part: compatible servers use an id again for the text after a thought.
      case "text-start":
        this.#texts.delete(part.id);
        this.#text(part.id, part.providerMetadata);
        return undefined;
      case "reasoning-start":
        this.#thoughts.delete(part.id);
        this.#thought(part.id, part.providerMetadata);
        return undefined;
      case "text-delta":
        this.#text(part.id, part.providerMetadata).length += part.delta.length;
        return part.delta === "" ? undefined : { kind: "text", text: part.delta };
      case "reasoning-delta":
        this.#thought(part.id, part.providerMetadata).text += part.delta;
        return part.delta === "" ? undefined : { kind: "thought", text: part.delta };
      case "text-end":
        this.#text(part.id, part.providerMetadata);
        return undefined;
      case "reasoning-end":
        this.#thought(part.id, part.providerMetadata);
        return undefined;
      case "tool-call":
        this.#call(part);
        return undefined;
      case "file": {
        // The port has no pictures in answers: saying so beats losing one silently.
        const note = `[the model returned a file of type ${part.mediaType}]`;
        this.#parts.push({ kind: "text", length: note.length });
        return { kind: "text", text: note };
      }
      default:
        // The rest repeats what comes in other parts, or belongs to tools that providers run themselves.
        return undefined;
    }
  }

  finish(part: FinishPart): ModelEvent[] {
    const reason = this.#reason(part);
    const usage = toUsage(part.usage);
    const providerData = toProviderData(this.#modelId, this.#parts);
    return [
      ...this.#calls.map((call): ModelEvent => ({ kind: "tool_call", call })),
      {
        kind: "finish",
        reason,
        ...(usage === undefined ? {} : { usage }),
        ...(providerData === undefined ? {} : { providerData }),
      },
    ];
  }

  #text(id: string, options: SharedV3ProviderMetadata | undefined): TextRecord {
    const known = this.#texts.get(id);
    if (known !== undefined) return withOptions(known, options);
    const fresh = withOptions<TextRecord>({ kind: "text", length: 0 }, options);
    this.#texts.set(id, fresh);
    this.#parts.push(fresh);
    return fresh;
  }

  #thought(id: string, options: SharedV3ProviderMetadata | undefined): ThoughtRecord {
    const known = this.#thoughts.get(id);
    if (known !== undefined) return withOptions(known, options);
    const fresh = withOptions<ThoughtRecord>({ kind: "thought", text: "" }, options);
    this.#thoughts.set(id, fresh);
    this.#parts.push(fresh);
    return fresh;
  }

  #call(part: CallPart): void {
    if (part.providerExecuted === true) return;
    // Some compatible servers send no id, or the same one twice; results could not be paired then.
    const isUsable = part.toolCallId !== "" && !this.#calls.some((call) => call.callId === part.toolCallId);
    const callId = isUsable ? part.toolCallId : `call_${this.#calls.length + 1}_${part.toolName}`;
    this.#calls.push({ callId, name: part.toolName, argumentsJson: part.input });
    this.#parts.push(withOptions({ kind: "call" as const, callId }, part.providerMetadata));
  }

  #reason(part: FinishPart): ModelFinish {
    const { unified, raw } = part.finishReason;
    switch (unified) {
      case "length":
        return "length";
      case "content-filter":
        return "refusal";
      case "stop":
      case "tool-calls":
        return this.#calls.length > 0 ? "tool_calls" : "stop";
      case "other":
        if (raw !== undefined) return this.#calls.length > 0 ? "tool_calls" : "stop";
        if (isBlockedPrompt(part.providerMetadata)) return "refusal";
        throw this.#broken(part.finishReason);
      case "error":
        throw this.#broken(part.finishReason);
    }
  }

  #broken(reason: LanguageModelV3FinishReason): TenonError {
    const why = reason.raw === undefined ? "without saying why" : `with "${reason.raw}"`;
    return new TenonError("model.broken_stream", `${this.#modelId} ended its answer ${why}.`);
  }
}

function withOptions<T extends RecordedPart>(part: T, options: SharedV3ProviderMetadata | undefined): T {
  // The last one wins: signatures and encrypted thoughts come complete, at the end of their part.
  if (options !== undefined) part.options = options;
  return part;
}

/** Gemini answers a prompt it blocks with no candidate at all, which otherwise looks like a cut stream. */
function isBlockedPrompt(metadata: SharedV3ProviderMetadata | undefined): boolean {
  return Object.values(metadata ?? {}).some((given) => {
    const feedback = given["promptFeedback"];
    return isJsonObject(feedback) && typeof feedback["blockReason"] === "string";
  });
}

function toUsage(usage: LanguageModelV3Usage): ModelUsage | undefined {
  const { inputTokens, outputTokens } = usage;
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined;
  const cached = inputTokens.cacheRead;
  return {
    inputTokens: inputTokens.total ?? 0,
    outputTokens: outputTokens.total ?? 0,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
  };
}
