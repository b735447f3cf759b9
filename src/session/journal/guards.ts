// What journals are made of, checked piece by piece: a file on the disk may have been damaged or edited.

import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { ContentBlock } from "../../base/text/content.js";
import type { BuiltinPresentation, PlanEntry } from "../../builtin/index.js";
import type { CallSubject, StopCause, StopReason } from "../../engine/index.js";
import type { ModelMessage, ModelToolCall, ModelToolResult, ModelUsage } from "../../models/index.js";
import type { CatalogTool, ToolOutcome } from "../../tools/index.js";

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export function isListOf<T>(value: unknown, isOne: (one: unknown) => one is T): value is readonly T[] {
  return Array.isArray(value) && value.every((one) => isOne(one));
}

function areTexts(value: JsonObject, names: readonly string[]): boolean {
  return names.every((name) => isText(value[name]));
}

/** Left out, or a text. */
function mayBeTexts(value: JsonObject, names: readonly string[]): boolean {
  return names.every((name) => value[name] === undefined || isText(value[name]));
}

export function isBlock(value: unknown): value is ContentBlock {
  if (!isJsonObject(value)) return false;
  switch (value["type"]) {
    case "text":
      return isText(value["text"]);
    case "image":
      return areTexts(value, ["data", "mimeType"]) && mayBeTexts(value, ["uri"]);
    case "audio":
      return areTexts(value, ["data", "mimeType"]);
    case "resource":
      return isText(value["uri"]) && mayBeTexts(value, ["mimeType", "text", "blob"]);
    case "resource_link":
      return areTexts(value, ["uri", "name"]) && mayBeTexts(value, ["title", "description", "mimeType"]);
    case "spilled":
      return areTexts(value, ["kind", "path", "preview"]) && isCount(value["bytes"]);
    case "unknown":
      return isText(value["kind"]) && value["raw"] !== undefined;
    default:
      return false;
  }
}

export function isOutcome(value: unknown): value is ToolOutcome {
  if (!isJsonObject(value)) return false;
  switch (value["kind"]) {
    case "done":
    case "failed": {
      const { content, warnings } = value;
      return isListOf(content, isBlock) && (warnings === undefined || isListOf(warnings, isText));
    }
    case "refused":
    case "unknown":
      return isText(value["reason"]);
    case "cancelled":
      return true;
    default:
      return false;
  }
}

export function isMessage(value: unknown): value is ModelMessage {
  if (!isJsonObject(value)) return false;
  switch (value["role"]) {
    case "user":
      return isListOf(value["content"], isBlock);
    case "assistant": {
      const { text, toolCalls, providerData } = value;
      const hasData = providerData === undefined || isJsonObject(providerData);
      return isText(text) && isListOf(toolCalls, isToolCall) && hasData;
    }
    case "tool":
      return isListOf(value["results"], isToolResult);
    default:
      return false;
  }
}

function isToolCall(value: unknown): value is ModelToolCall {
  return isJsonObject(value) && areTexts(value, ["callId", "name", "argumentsJson"]);
}

export function isToolResult(value: unknown): value is ModelToolResult {
  if (!isJsonObject(value) || !areTexts(value, ["callId", "name"]) || !mayBeTexts(value, ["origin"])) return false;
  const { found, isError, content } = value;
  return typeof isError === "boolean" && isListOf(content, isBlock) && (found === undefined || isListOf(found, isText));
}

export function isTask(value: JsonObject): boolean {
  const { lasting } = value;
  if (!areTexts(value, ["toolCallId", "server", "origin", "mark", "tool"]) || !isJsonObject(lasting)) return false;
  return isText(lasting["id"]) && isCount(lasting["startedMs"]) && isOptionalNumber(lasting["ttlMs"]);
}

function isOptionalNumber(value: unknown): boolean {
  return value === undefined || typeof value === "number";
}

export function isSubject(value: unknown): value is CallSubject {
  return isJsonObject(value) && isText(value["name"]) && (value["tool"] === undefined || isTool(value["tool"]));
}

function isTool(value: unknown): value is CatalogTool {
  if (!isJsonObject(value) || !areTexts(value, ["id", "origin", "source", "label", "definitionHash"])) return false;
  const { definition } = value;
  if (!isJsonObject(definition) || !areTexts(definition, ["name", "description"])) return false;
  const { annotations, inputSchema } = definition;
  return isJsonObject(inputSchema) && (annotations === undefined || isJsonObject(annotations));
}

export function isLook(value: unknown): value is BuiltinPresentation {
  if (!isJsonObject(value) || !areTexts(value, ["kind", "title"]) || !mayBeTexts(value, ["terminalId"])) return false;
  const { locations, diff } = value;
  if (diff !== undefined && !(isJsonObject(diff) && areTexts(diff, ["path", "newText"]))) return false;
  const isPlace = (one: unknown): one is JsonObject => isJsonObject(one) && isText(one["path"]);
  return isListOf(locations, isPlace);
}

export function isPlanEntry(value: unknown): value is PlanEntry {
  return isJsonObject(value) && areTexts(value, ["content", "priority", "status"]);
}

export function isUsage(value: unknown): value is ModelUsage {
  return isJsonObject(value) && isCount(value["inputTokens"]) && isCount(value["outputTokens"]);
}

export function isStopReason(value: unknown): value is StopReason {
  return isText(value) && STOP_REASONS.has(value);
}

export function isStopCause(value: unknown): value is StopCause {
  return isText(value) && STOP_CAUSES.has(value);
}

const STOP_REASONS: ReadonlySet<string> = new Set<StopReason>([
  "end_turn",
  "max_tokens",
  "max_turn_requests",
  "refusal",
  "cancelled",
]);

const STOP_CAUSES: ReadonlySet<string> = new Set<StopCause>(["output_limit", "request_limit", "repetition", "refusal"]);
