// The stream of an AI SDK language model as our events.
import type { LanguageModelV3StreamPart, LanguageModelV3Usage, SharedV3ProviderMetadata } from "@ai-sdk/provider";
import { orAborted } from "../../base/async/deadline.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, isTooDeep } from "../../base/json/json.js";
import type { ModelPrice } from "../abilities.js";
import { type FailureContext, toModelError } from "../failures/provider-errors.js";
import type { ModelEvent, ModelFinish, ModelToolCall, ModelUsage } from "../model.js";
import { type RecordedPart, toProviderData } from "./provider-data.js";
import { unwrapSearch } from "./tools.js";

export interface AnswerContext {
  readonly failure: FailureContext;
  readonly price?: ModelPrice | undefined;
  /** The search tool, where the provider has a call of its own for it. */
  readonly wrappedSearch?: string | undefined;
}

type FinishPart = Extract<LanguageModelV3StreamPart, { type: "finish" }>;
type TextRecord = Extract<RecordedPart, { kind: "text" }>;
type ThoughtRecord = Extract<RecordedPart, { kind: "thought" }>;
type PartOf = { readonly id: string; readonly providerMetadata?: SharedV3ProviderMetadata };
type CallPart = Extract<LanguageModelV3StreamPart, { type: "tool-call" }>;

/**
 * Text and thoughts as they come; the calls only with the finish, so that an answer that breaks off never runs a tool
 * with half its arguments. Cancels the stream however it is left.
 */
export async function* fromStream(
  context: AnswerContext,
  stream: ReadableStream<LanguageModelV3StreamPart>,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, void, void> {
  const { modelId } = context.failure;
  const reader = stream.getReader();
  const answer = new StreamedAnswer(context);
  try {
    for (;;) {
      const read = await orAborted(reader.read(), signal);
      if (read.done) throw new TenonError("model.broken_stream", `${modelId} broke off before the end of its answer.`);
      const part = read.value;
      if (part.type === "error") throw part.error;
      if (part.type === "finish") {
        yield* answer.finish(part);
        return;
      }
      const event = answer.take(part);
      if (event !== undefined) yield event;
    }
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    throw toModelError(context.failure, thrown, "reading");
  } finally {
    // A stream that has failed rejects its cancellation with the failure that is being thrown already.
    await reader.cancel().catch(() => {});
  }
}

/** One answer while it arrives: what it has said so far, in the form that goes back to the provider. */
class StreamedAnswer {
  readonly #context: AnswerContext;
  readonly #parts: RecordedPart[] = [];
  /** The latest part of each of the provider's ids. */
  readonly #texts = new Map<string, TextRecord>();
  readonly #thoughts = new Map<string, ThoughtRecord>();
  readonly #calls: ModelToolCall[] = [];
  /** Calls whose arguments are being written, by the provider's id. */
  readonly #inputs = new Map<string, { readonly callId: string; readonly name: string }>();
  readonly #callIds = new Set<string>();

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  take(part: LanguageModelV3StreamPart): ModelEvent | undefined {
    switch (part.type) {
      // A start always opens a new part: compatible servers use an id again for the text after a thought.
      case "text-start":
        this.#texts.delete(part.id);
        this.#text(part);
        return undefined;
      case "reasoning-start":
        this.#thoughts.delete(part.id);
        this.#thought(part);
        return undefined;
      case "text-delta":
        this.#text(part).length += part.delta.length;
        return part.delta === "" ? undefined : { kind: "text", text: part.delta };
      case "reasoning-delta":
        this.#thought(part).text += part.delta;
        return part.delta === "" ? undefined : { kind: "thought", text: part.delta };
      case "text-end":
        this.#text(part);
        return undefined;
      case "reasoning-end":
        this.#thought(part);
        return undefined;
      case "tool-input-start":
        if (part.providerExecuted !== true) {
          this.#inputs.set(part.id, { callId: this.#newCallId(part.id, part.toolName), name: part.toolName });
        }
        return undefined;
      case "tool-input-delta": {
        const input = this.#inputs.get(part.id);
        return input === undefined || part.delta === ""
          ? undefined
          : { kind: "tool_input", ...input, delta: part.delta };
      }
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
    const { reason, detail } = this.#end(part);
    const usage = toUsage(part.usage, this.#context.price);
    const providerData = toProviderData(this.#context.failure.modelId, this.#parts);
    return [
      ...this.#calls.map((call): ModelEvent => ({ kind: "tool_call", call })),
      { kind: "finish", reason, ...defined({ detail, usage, providerData }) },
    ];
  }

  #text({ id, providerMetadata }: PartOf): TextRecord {
    return withOptions(
      this.#texts.get(id) ?? this.#added(this.#texts, id, { kind: "text", length: 0 }),
      providerMetadata,
    );
  }

  #thought({ id, providerMetadata }: PartOf): ThoughtRecord {
    const known = this.#thoughts.get(id) ?? this.#added(this.#thoughts, id, { kind: "thought", text: "" });
    return withOptions(known, providerMetadata);
  }

  #added<T extends RecordedPart>(known: Map<string, T>, id: string, fresh: T): T {
    known.set(id, fresh);
    this.#parts.push(fresh);
    return fresh;
  }

  #call(part: CallPart): void {
    if (part.providerExecuted === true) return;
    const { toolCallId, toolName, input } = part;
    const callId = this.#inputs.get(toolCallId)?.callId ?? this.#newCallId(toolCallId, toolName);
    this.#inputs.delete(toolCallId);
    const isWrapped = toolName === this.#context.wrappedSearch;
    this.#calls.push({ callId, name: toolName, argumentsJson: isWrapped ? unwrapSearch(input) : input });
    this.#parts.push(withOptions({ kind: "call" as const, callId }, part.providerMetadata));
  }

  /** Some compatible servers send no id, or the same one twice; results could not be paired then. */
  #newCallId(id: string, name: string): string {
    const callId = id !== "" && !this.#callIds.has(id) ? id : `call_${this.#callIds.size + 1}_${name}`;
    this.#callIds.add(callId);
    return callId;
  }

  #end(part: FinishPart): { readonly reason: ModelFinish; readonly detail?: string } {
    const { unified, raw } = part.finishReason;
    const detail = raw === undefined ? {} : { detail: raw };
    const ordinary = { reason: this.#calls.length > 0 ? "tool_calls" : "stop" } as const;
    switch (unified) {
      case "length":
        return { reason: "length", ...detail };
      case "content-filter":
        return { reason: "refusal", ...detail };
      case "stop":
      case "tool-calls":
        return ordinary;
      case "other": {
        if (raw !== undefined) return ordinary;
        const blocked = blockReason(part.providerMetadata);
        if (blocked !== undefined) return { reason: "refusal", detail: blocked };
        throw this.#broken(raw);
      }
      case "error":
        throw this.#broken(raw);
    }
  }

  #broken(raw: string | undefined): TenonError {
    const why = raw === undefined ? "without saying why" : `with "${raw}"`;
    return new TenonError("model.broken_stream", `${this.#context.failure.modelId} ended its answer ${why}.`);
  }
}

function withOptions<T extends RecordedPart>(part: T, options: SharedV3ProviderMetadata | undefined): T {
  // The last one wins: signatures and encrypted thoughts come complete, at the end of their part.
  if (options !== undefined && !isTooDeep(options)) part.options = options;
  return part;
}

/** Gemini answers a prompt it blocks with no candidate at all, which otherwise looks like a cut stream. */
function blockReason(metadata: SharedV3ProviderMetadata | undefined): string | undefined {
  for (const given of Object.values(metadata ?? {})) {
    const feedback = given["promptFeedback"];
    const reason = isJsonObject(feedback) ? feedback["blockReason"] : undefined;
    if (typeof reason === "string") return reason;
  }
  return undefined;
}

// What an answer used, as the provider counts it, and what that costs by the list price.

/** Undefined where the provider said nothing. */
function toUsage(usage: LanguageModelV3Usage, price: ModelPrice | undefined): ModelUsage | undefined {
  const { inputTokens: input, outputTokens: output } = usage;
  if (input.total === undefined && output.total === undefined) return undefined;
  const counted: ModelUsage = {
    inputTokens: input.total ?? 0,
    outputTokens: output.total ?? 0,
    ...defined({ cachedInputTokens: input.cacheRead, cacheWriteTokens: input.cacheWrite }),
  };
  return price === undefined ? counted : { ...counted, costUsd: costOf(counted, price) };
}

export function costOf(usage: ModelUsage, price: ModelPrice): number {
  const { inputTokens, outputTokens, cachedInputTokens: read = 0, cacheWriteTokens: written = 0 } = usage;
  const { longContext, inputPerMTok } = price;
  const isLong = longContext !== undefined && inputTokens > longContext.aboveTokens;
  const fresh = Math.max(0, inputTokens - read - written);
  const input =
    fresh * inputPerMTok +
    read * (price.cacheReadPerMTok ?? inputPerMTok) +
    written * (price.cacheWritePerMTok ?? inputPerMTok);
  const output = outputTokens * price.outputPerMTok;
  return (input * (isLong ? longContext.inputFactor : 1) + output * (isLong ? longContext.outputFactor : 1)) / 1e6;
}
