// Any AI SDK language model behind the model port.
import type { LanguageModelV3, SharedV3ProviderOptions } from "@ai-sdk/provider";
import { orAborted } from "../base/deadline.js";
import { fromStream } from "./from-stream.js";
import type { Model, ModelEvent, ModelRequest } from "./model.js";
import { toModelError } from "./provider-errors.js";
import { type PromptOptions, toPrompt, toTool } from "./to-prompt.js";

/** The one method of an AI SDK language model that is used. */
export type StreamingLanguageModel = Pick<LanguageModelV3, "doStream">;

export interface AiSdkOptions {
  /** Sent with every request, under the provider's name. */
  readonly providerOptions?: SharedV3ProviderOptions;
  readonly accepts?: PromptOptions["accepts"];
  readonly toolMedia?: PromptOptions["toolMedia"];
}

/** What every provider with eyes takes; other pictures become labels. */
const COMMON_IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function isCommonImage(mediaType: string): boolean {
  return COMMON_IMAGES.includes(mediaType);
}

export function aiSdkModel(id: string, languageModel: StreamingLanguageModel, options: AiSdkOptions = {}): Model {
  const promptOptions: PromptOptions = {
    modelId: id,
    accepts: options.accepts ?? isCommonImage,
    toolMedia: options.toolMedia ?? "inside",
  };
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    signal.throwIfAborted();
    const call: Parameters<StreamingLanguageModel["doStream"]>[0] = {
      prompt: toPrompt(request, promptOptions),
      abortSignal: signal,
      ...(request.tools.length === 0 ? {} : { tools: request.tools.map((tool) => toTool(tool)) }),
      ...(options.providerOptions === undefined ? {} : { providerOptions: options.providerOptions }),
    };
    // Inside an async function, so that a provider that throws before it returns a promise is caught as well.
    const ask = async () => languageModel.doStream(call);
    const answer = await orAborted(ask(), signal).catch((thrown: unknown) => {
      if (signal.aborted) throw signal.reason;
      throw toModelError(id, thrown, "asking");
    });
    yield* fromStream(id, answer.stream, signal);
  }
  return { id, stream };
}
