// What a provider wants back verbatim (signed thoughts, item ids): kept with an assistant message as plain JSON, and restored from it.
import type {
  LanguageModelV3ReasoningPart,
  LanguageModelV3TextPart,
  LanguageModelV3ToolCallPart,
  SharedV3ProviderMetadata,
  SharedV3ProviderOptions,
} from "@ai-sdk/provider";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../base/json/json.js";
import type { ModelMessage, ModelToolCall } from "../model.js";

export type AssistantMessage = Extract<ModelMessage, { role: "assistant" }>;
export type AssistantPart = LanguageModelV3TextPart | LanguageModelV3ReasoningPart | LanguageModelV3ToolCallPart;

/** One part of an answer, in the order it came. Text is kept as a length: its words are in the message already. */
export type RecordedPart =
  | { kind: "text"; length: number; options?: SharedV3ProviderMetadata }
  | { kind: "thought"; text: string; options?: SharedV3ProviderMetadata }
  | { kind: "call"; callId: string; options?: SharedV3ProviderMetadata };

/** Nothing when the provider gave nothing to send back: then text and calls say it all. */
export function toProviderData(modelId: string, parts: readonly RecordedPart[]): JsonObject | undefined {
  if (!parts.some((part) => part.options !== undefined || part.kind === "thought")) return undefined;
  return { model: modelId, parts: parts.map((part): JsonObject => ({ ...part })) };
}

/**
 * The parts of an assistant message as the provider sent them. Falls back to bare text and calls when the data is another
 * model's (signatures do not travel), or does not fit the message any more (it was edited or compacted since).
 */
export function toAssistantParts(
  modelId: string,
  message: AssistantMessage,
  toInput: ToInput = (_, input) => input,
): AssistantPart[] {
  const restored =
    message.providerData === undefined ? undefined : restore(modelId, message, message.providerData, toInput);
  return (restored ?? bareParts(message, toInput)).filter((part) => part.type !== "text" || part.text.trim() !== "");
}

/** The input of a call as the adapter wants it. */
export type ToInput = (call: ModelToolCall, input: JsonObject) => JsonObject;

function bareParts(message: AssistantMessage, toInput: ToInput): AssistantPart[] {
  return [{ type: "text", text: message.text }, ...message.toolCalls.map((call) => callPart(call, {}, toInput))];
}

function restore(
  modelId: string,
  message: AssistantMessage,
  data: JsonObject,
  toInput: ToInput,
): AssistantPart[] | undefined {
  if (data["model"] !== modelId || !Array.isArray(data["parts"])) return undefined;
  const parts: AssistantPart[] = [];
  const calls = new Map(message.toolCalls.map((call) => [call.callId, call]));
  let used = 0;
  for (const recorded of data["parts"]) {
    if (!isJsonObject(recorded)) return undefined;
    const given = isProviderOptions(recorded["options"]) ? { providerOptions: recorded["options"] } : {};
    if (recorded["kind"] === "text" && typeof recorded["length"] === "number") {
      parts.push({ type: "text", text: message.text.slice(used, used + recorded["length"]), ...given });
      used += recorded["length"];
    } else if (recorded["kind"] === "thought" && typeof recorded["text"] === "string") {
      parts.push({ type: "reasoning", text: recorded["text"], ...given });
    } else if (recorded["kind"] === "call" && typeof recorded["callId"] === "string") {
      const call = calls.get(recorded["callId"]);
      if (call === undefined) return undefined;
      calls.delete(call.callId);
      parts.push(callPart(call, given, toInput));
    } else return undefined;
  }
  return used === message.text.length && calls.size === 0 ? parts : undefined;
}

function callPart(
  call: ModelToolCall,
  given: { providerOptions?: SharedV3ProviderOptions },
  toInput: ToInput,
): AssistantPart {
  const input = toInput(call, callInput(call));
  return { type: "tool-call", toolCallId: call.callId, toolName: call.name, input, ...given };
}

/** Providers refuse a call whose input is no object, so what a model wrote wrongly is handed back inside one. */
function callInput(call: ModelToolCall): JsonObject {
  if (call.argumentsJson.trim() === "") return {};
  return parseObject(call.argumentsJson) ?? { invalid_json: call.argumentsJson };
}

function isProviderOptions(value: JsonValue | undefined | SharedV3ProviderOptions): value is SharedV3ProviderOptions {
  return isJsonObject(value) && Object.values(value).every((options) => isJsonObject(options));
}
