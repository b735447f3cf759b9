// Our request as the prompt of an AI SDK language model.
import type {
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3TextPart,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
} from "@ai-sdk/provider";
import { type ContentBlock, plainText } from "../../base/text/content.js";
import { dataHeader, framed, hostLine, markForeign, markHidden, markLine } from "../../base/text/marking.js";
import type { ModelMessage, ModelRequest, ModelToolResult } from "../model.js";
import { toAssistantParts } from "./provider-data.js";
import { type FoundTools, foundOutput, hasWordsBeside, wrapSearch } from "./tools.js";

export interface PromptOptions {
  readonly modelId: string;
  /** Media types the provider takes as they are; any other reaches it as a label with type and size. */
  readonly accepts: (mediaType: string) => boolean;
  /** `inside`: tool results carry media. `beside`: they are text only, and the media follow in a message of the user's. */
  readonly toolMedia: "inside" | "beside";
  /** The provider has no field for a failed call: the text of the result begins with a line that says so. */
  readonly marksErrors: boolean;
  /** Found tools that are sent beside the results that found them. */
  readonly found?: FoundTools | undefined;
}

type UserPart = LanguageModelV3TextPart | LanguageModelV3FilePart;

export function toPrompt(request: ModelRequest, options: PromptOptions): LanguageModelV3Prompt {
  const prompt: LanguageModelV3Prompt = [];
  if (request.system.trim() !== "") prompt.push({ role: "system", content: markHidden(request.system) });
  for (const message of request.messages) prompt.push(...toMessages(message, options));
  return prompt;
}

function toMessages(message: ModelMessage, options: PromptOptions): LanguageModelV3Message[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: userParts(message.content, options) }];
    case "assistant": {
      const { modelId, found } = options;
      const search = found?.form === "openai" ? found.search : undefined;
      const content = toAssistantParts(modelId, message, (call, input) => {
        return call.name === search ? wrapSearch(call, input) : input;
      });
      return content.length === 0 ? [] : [{ role: "assistant", content }];
    }
    case "tool":
      return toolMessages(message.results, options);
  }
}

function userParts(blocks: readonly ContentBlock[], options: PromptOptions): UserPart[] {
  const parts = blocks
    .map((block): UserPart => filePart(block, options) ?? { type: "text", text: wordsOf(block) })
    .filter((part) => part.type !== "text" || part.text.trim() !== "");
  // Every provider refuses a message without content.
  return parts.length > 0 ? parts : [{ type: "text", text: "(empty message)" }];
}

function toolMessages(results: readonly ModelToolResult[], options: PromptOptions): LanguageModelV3Message[] {
  if (results.length === 0) return [];
  const content = results.map((result): LanguageModelV3ToolResultPart => {
    return { type: "tool-result", toolCallId: result.callId, toolName: result.name, output: toOutput(result, options) };
  });
  const messages: LanguageModelV3Message[] = [{ role: "tool", content }];
  const beside = results.flatMap((result) => [
    ...(hasWordsBeside(options.found, result)
      ? besides(result, [{ type: "text", text: wordsIn(result, options) }])
      : []),
    ...(options.toolMedia === "beside" ? mediaBeside(result, options) : []),
  ]);
  if (beside.length > 0) messages.push({ role: "user", content: beside });
  return messages;
}

function besides(result: ModelToolResult, parts: readonly UserPart[]): UserPart[] {
  return [{ type: "text", text: `Returned by the tool ${result.name} (call ${result.callId}):` }, ...parts];
}

/** One text first, then the media: Gemini needs a text in every result, and some providers take no more than one. */
function toOutput(result: ModelToolResult, options: PromptOptions): LanguageModelV3ToolResultOutput {
  const native = options.found === undefined ? undefined : foundOutput(options.found, result);
  if (native !== undefined) return native;
  const value = wordsIn(result, options);
  if (result.isError) return { type: "error-text", value };
  const files = result.content.flatMap((block) => filePart(block, options) ?? []);
  if (files.length === 0 || options.toolMedia === "beside") return { type: "text", value };
  return { type: "content", value: [{ type: "text", text: value }, ...files.map((file) => toolMedia(file))] };
}

/** Also above a call whose outcome is unknown, so it does not say that the call had no effect. No server can write it. */
const ERROR_LINE = hostLine("error");

function wordsIn({ content, origin, isError }: ModelToolResult, { marksErrors }: PromptOptions): string {
  const lines = isError && marksErrors ? [ERROR_LINE] : [];
  if (origin !== undefined) lines.push(dataHeader(origin));
  const words = content.map((block) => wordsOf(block)).filter((part) => part !== "");
  const nothing = isError ? "(error without details)" : "(empty result)";
  return [...lines, words.join("\n") || nothing].join("\n");
}

function toolMedia({ data, mediaType }: MediaPart): MediaOutput {
  return { type: mediaType.startsWith("image/") ? "image-data" : "file-data", data, mediaType };
}

type MediaOutput = { type: "image-data" | "file-data"; data: string; mediaType: string };

function mediaBeside(result: ModelToolResult, options: PromptOptions): UserPart[] {
  const files = result.content.flatMap((block) => filePart(block, options) ?? []);
  return files.length === 0 ? [] : besides(result, files);
}

type MediaPart = LanguageModelV3FilePart & { data: string };

function filePart(block: ContentBlock, { accepts }: PromptOptions): MediaPart | undefined {
  if (block.type === "image" || block.type === "audio") {
    return accepts(block.mimeType) ? { type: "file", data: block.data, mediaType: block.mimeType } : undefined;
  }
  if (block.type !== "resource") return undefined;
  const { blob, mimeType, uri } = block;
  if (blob === undefined || mimeType === undefined || !accepts(mimeType)) return undefined;
  return { type: "file", data: blob, mediaType: mimeType, filename: markLine(uri.split("/").at(-1) ?? uri) };
}

/**
 * The words of a block; an embedded file keeps its address, which a model needs in order to act on it. Whatever comes
 * here was marked before; hidden characters are marked here once more, since every text for a provider passes here.
 */
function wordsOf(block: ContentBlock): string {
  if (block.type === "text") return markHidden(block.text);
  if (block.type !== "resource" || block.text === undefined) return markForeign(plainText([block]));
  return framed(block.uri, markHidden(block.text));
}
