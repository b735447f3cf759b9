// The wire format of Anthropic's Messages API (docs: "Streaming messages", "Thinking", "Prompt caching").
import { unreachable } from "../../../base/id.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import {
  type Asked,
  type CacheBlock,
  type Fault,
  type FaultResponse,
  headerOf,
  Issued,
  invalid,
  namedEvent,
  newId,
  type OfferedTool,
  objectField,
  objectsIn,
  type ProviderFormat,
  type StreamWriter,
  textField,
} from "./format.js";
import { type AnswerUsage, argumentsText, type ContentPart, type Incident, inPieces } from "./reply.js";

const STOP_REASONS = { stop: "end_turn", tool_calls: "tool_use", length: "max_tokens", refusal: "refusal" } as const;

export function anthropicMessages(): ProviderFormat {
  const issued = new Issued();
  return {
    name: "anthropic",
    isFor: (path) => path.endsWith("/v1/messages"),
    key: ({ headers }) => headerOf(headers, "x-api-key"),
    needsKey: true,
    check: (asked) => checkMessages(asked, issued),
    tools: offeredTools,
    cacheBlocks,
    stream: ({ body }, usage) => messageStream(body, usage, issued),
    fault: (fault, { body }) => anthropicFault(fault, offeredTools(body)),
    error: (message, code) => errorBody(code, message),
  };
}

function offeredTools(body: JsonObject): readonly OfferedTool[] {
  return objectsIn(body, "tools").map((tool) => ({
    name: textField(tool, "name") ?? "",
    schema: objectField(tool, "input_schema"),
    strict: tool["strict"] === true,
  }));
}

/**
 * Tools, then system, then messages; the marker on the request itself stands for the last block. Deferred tools are not
 * at the beginning: they stand where a result refers to them.
 */
function cacheBlocks(body: JsonObject): readonly CacheBlock[] {
  const system = textField(body, "system");
  const values: JsonValue[] = [
    ...objectsIn(body, "tools").filter((tool) => tool["defer_loading"] !== true),
    ...(system === undefined ? objectsIn(body, "system") : [system]),
    ...objectsIn(body, "messages").flatMap((message): readonly JsonValue[] => {
      const role = message["role"];
      const text = textField(message, "content");
      return text === undefined
        ? objectsIn(message, "content").map((block): JsonValue => ({ role, ...block }))
        : [{ role, text }];
    }),
  ];
  const isWhole = objectField(body, "cache_control") !== undefined;
  return values.map((value, index) => {
    const { cache_control: marker, ...rest } = isJsonObject(value) ? value : { value };
    return {
      text: JSON.stringify(rest),
      isMarked: isJsonObject(marker) || (isWhole && index === values.length - 1),
    };
  });
}

/** The newest models leave the words of thoughts out unless they are asked for (docs: "Thinking", `display`). */
function showsThoughts(body: JsonObject): boolean {
  const thinking = objectField(body, "thinking");
  return thinking?.["type"] === "enabled" || thinking?.["display"] === "summarized";
}

function head(body: JsonObject, usage: AnswerUsage): JsonObject {
  const model = body["model"] ?? "fake";
  return {
    id: newId("msg_"),
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf(usage, 1),
  };
}

function usageOf(usage: AnswerUsage, outputTokens: number): JsonObject {
  const { inputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    cache_creation: { ephemeral_5m_input_tokens: cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    service_tier: "standard",
  };
}

function messageStream(body: JsonObject, usage: AnswerUsage, issued: Issued): StreamWriter {
  let index = 0;
  let signature: string | undefined;
  const delta = (value: JsonObject) => namedEvent({ type: "content_block_delta", index, delta: value });
  const ping = namedEvent({ type: "ping" });
  /** The real one sends a ping after the first block is opened. */
  const opened = (content: JsonObject) => {
    const start = namedEvent({ type: "content_block_start", index, content_block: content });
    return index === 0 ? [start, ping] : [start];
  };
  function* block(part: ContentPart): Iterable<string | Incident> {
    switch (part.kind) {
      case "text":
        yield* opened({ type: "text", text: "" });
        yield* inPieces(part.text, part, (text) => delta({ type: "text_delta", text }));
        break;
      case "thought": {
        const shown = showsThoughts(body) && part.hidden !== true ? part.text : "";
        signature = issued.sign(part.text, shown);
        yield* opened({ type: "thinking", thinking: "", signature: "" });
        if (shown !== "") yield* inPieces(shown, part, (thinking) => delta({ type: "thinking_delta", thinking }));
        else if (part.after) yield part.after.happens;
        yield delta({ type: "signature_delta", signature });
        break;
      }
      case "tool_call": {
        const id = part.id ?? newId("toolu_");
        if (signature !== undefined) issued.bind(id, signature);
        yield* opened({ type: "tool_use", id, name: part.name, input: {} });
        yield delta({ type: "input_json_delta", partial_json: "" });
        const json = argumentsText(part.arguments);
        yield* inPieces(json, part, (piece) => delta({ type: "input_json_delta", partial_json: piece }));
        break;
      }
      case "file":
        throw new Error("Anthropic's Messages API has no files in answers");
      default:
        return unreachable(part);
    }
    yield namedEvent({ type: "content_block_stop", index });
    index += 1;
  }
  return {
    start: () => [namedEvent({ type: "message_start", message: head(body, usage) })],
    part: block,
    ping,
    fault: (fault) => [namedEvent({ type: "error", ...anthropicFault(fault, offeredTools(body)).body })],
    end: (finish) => {
      const stop = { stop_reason: STOP_REASONS[finish], stop_sequence: null };
      const message = { type: "message_delta", delta: stop, usage: usageOf(usage, usage.outputTokens) };
      return [namedEvent(message), namedEvent({ type: "message_stop" })];
    },
  };
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const TOOL_USE_ID = /^[a-zA-Z0-9_-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const USER_BLOCKS = ["text", "image", "document", "tool_result", "search_result"];
const ASSISTANT_BLOCKS = ["text", "thinking", "redacted_thinking", "tool_use"];
const RESULT_BLOCKS = ["text", "image", "document", "search_result", "tool_reference"];
const MAX_MARKERS = 4;

function checkMessages({ headers, body }: Asked, issued: Issued): Fault | undefined {
  const said = [
    headerOf(headers, "anthropic-version") === undefined ? "anthropic-version: header is required" : undefined,
    textField(body, "model") === undefined ? "model: Field required" : undefined,
    maxTokensFault(body),
    toolsFault(body),
    markersFault(body),
    messagesFault(body, issued),
  ].find((message) => message !== undefined);
  return said === undefined ? undefined : invalid(said);
}

function maxTokensFault(body: JsonObject): string | undefined {
  const limit = body["max_tokens"];
  if (limit === undefined) return "max_tokens: Field required";
  if (typeof limit !== "number" || limit < 1) return "max_tokens: Input should be greater than or equal to 1";
  const budget = objectField(body, "thinking")?.["budget_tokens"];
  if (typeof budget !== "number") return undefined;
  if (budget < 1024) return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
  return budget < limit ? undefined : "`max_tokens` must be greater than `thinking.budget_tokens`.";
}

function toolsFault(body: JsonObject): string | undefined {
  const names = new Set<string>();
  for (const [index, tool] of objectsIn(body, "tools").entries()) {
    const name = textField(tool, "name") ?? "";
    if (!TOOL_NAME.test(name)) return `tools.${index}.custom.name: String should match pattern '${TOOL_NAME.source}'`;
    if (names.has(name)) return "tools: Tool names must be unique.";
    names.add(name);
    const isCustom = (textField(tool, "type") ?? "custom") === "custom";
    if (isCustom && objectField(tool, "input_schema") === undefined)
      return `tools.${index}.custom.input_schema: Field required`;
    if (isDeferred(tool) && isMarked(tool))
      return `Tool '${name}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.`;
  }
  return deferredFault(body);
}

function isDeferred(tool: JsonObject): boolean {
  return tool["defer_loading"] === true;
}

/** Deferred tools are known by the results that refer to them, and there is always one that is not deferred. */
function deferredFault(body: JsonObject): string | undefined {
  const tools = objectsIn(body, "tools");
  if (tools.length > 0 && tools.every(isDeferred)) return "At least one tool must have defer_loading=false.";
  const references = objectsIn(body, "messages")
    .flatMap((message) => objectsIn(message, "content"))
    .flatMap((block) => objectsIn(block, "content"))
    .filter(({ type }) => type === "tool_reference")
    .map((block) => textField(block, "tool_name") ?? "");
  const unknown = references.find((name) => !tools.some((tool) => tool["name"] === name));
  return unknown === undefined ? undefined : `Tool reference '${unknown}' not found in available tools`;
}

function markersFault(body: JsonObject): string | undefined {
  const found = markersIn(body);
  if (found > MAX_MARKERS)
    return `A maximum of ${MAX_MARKERS} blocks with cache_control may be provided. Found ${found}.`;
  const blocks = objectsIn(body, "messages").flatMap((message) => objectsIn(message, "content"));
  const wrong = blocks.find((block) => isMarked(block) && /thinking/.test(textField(block, "type") ?? ""));
  if (wrong) return "cache_control: Extra inputs are not permitted on thinking blocks";
  const empty = blocks.find((block) => isMarked(block) && block["type"] === "text" && block["text"] === "");
  return empty ? "cache_control cannot be set for empty text blocks" : undefined;
}

function isMarked(block: JsonObject): boolean {
  return isJsonObject(block["cache_control"]);
}

function markersIn(value: JsonValue | undefined): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item: JsonValue) => sum + markersIn(item), 0);
  if (!isJsonObject(value)) return 0;
  // A tool's schema and arguments are data: a field of that name in them is no marker.
  const inside = Object.entries(value).filter(([key]) => !["input_schema", "input", "cache_control"].includes(key));
  return (isMarked(value) ? 1 : 0) + inside.reduce((sum, [, item]) => sum + markersIn(item), 0);
}

function messagesFault(body: JsonObject, issued: Issued): string | undefined {
  const messages = objectsIn(body, "messages");
  const [first] = messages;
  if (!first) return "messages: at least one message is required";
  if (first["role"] !== "user") return 'messages: first message must use the "user" role';
  const ids = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    const previous = messages[index - 1];
    if (message["role"] !== "user" && message["role"] !== "assistant")
      return `${at}.role: Input should be 'user' or 'assistant'`;
    if (previous?.["role"] === message["role"])
      return `messages: roles must alternate between "user" and "assistant", but found multiple "${message["role"]}" roles in a row`;
    const said =
      contentFault(message, at, issued) ??
      callsFault(message, messages[index + 1], at, ids) ??
      resultsFault(message, previous, at);
    if (said !== undefined) return said;
  }
  const unsigned = thoughtsFault(messages, issued);
  if (unsigned !== undefined) return unsigned;
  if (messages.at(-1)?.["role"] === "assistant")
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  return undefined;
}

function contentFault(message: JsonObject, at: string, issued: Issued): string | undefined {
  const text = textField(message, "content");
  const blocks = objectsIn(message, "content");
  if (text === undefined ? blocks.length === 0 : text.trim() === "")
    return `${at}: all messages must have non-empty content except for the optional final assistant message`;
  const allowed = message["role"] === "user" ? USER_BLOCKS : ASSISTANT_BLOCKS;
  for (const [index, block] of blocks.entries()) {
    const place = `${at}.content.${index}`;
    const type = textField(block, "type") ?? "";
    if (!allowed.includes(type))
      return `${place}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${allowed.join(", ")}`;
    const said = blockFault(block, place, issued);
    if (said !== undefined) return said;
  }
  return undefined;
}

function blockFault(block: JsonObject, place: string, issued: Issued): string | undefined {
  switch (block["type"]) {
    case "text": {
      const text = textField(block, "text") ?? "";
      if (text === "") return "messages: text content blocks must be non-empty";
      return text.trim() === "" ? "messages: text content blocks must contain non-whitespace text" : undefined;
    }
    case "image":
    case "document":
      return sourceFault(block, place);
    case "thinking":
      return thinkingFault(block, place, issued);
    case "tool_use": {
      if (!TOOL_USE_ID.test(textField(block, "id") ?? ""))
        return `${place}.tool_use.id: String should match pattern '${TOOL_USE_ID.source}'`;
      if (!TOOL_NAME.test(textField(block, "name") ?? ""))
        return `${place}.tool_use.name: String should match pattern '${TOOL_NAME.source}'`;
      return objectField(block, "input") ? undefined : `${place}.tool_use.input: Input should be a valid dictionary`;
    }
    default:
      return undefined;
  }
}

function sourceFault(block: JsonObject, place: string): string | undefined {
  const source = objectField(block, "source");
  if (source?.["type"] !== "base64") return source ? undefined : `${place}.source: Field required`;
  const isImage = block["type"] === "image";
  if (isImage && !IMAGE_TYPES.includes(textField(source, "media_type") ?? ""))
    return `${place}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`;
  if (!BASE64.test(textField(source, "data") ?? ""))
    return `${place}.${textField(block, "type") ?? ""}.source.base64: invalid base64 data`;
  return undefined;
}

function thinkingFault(block: JsonObject, place: string, issued: Issued): string | undefined {
  const signature = textField(block, "signature");
  if (signature === undefined) return `${place}.thinking.signature: Field required`;
  const shown = issued.shownWith(signature);
  if (shown === undefined) return `${place}: Invalid \`signature\` in \`thinking\` block`;
  if (shown === textField(block, "thinking")) return undefined;
  return `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`;
}

/** Calls that came with a thought go back with it as long as their loop goes on (docs: "Thinking with tool use"). */
function thoughtsFault(messages: readonly JsonObject[], issued: Issued): string | undefined {
  const isResults = (message: JsonObject) => objectsIn(message, "content").some(({ type }) => type === "tool_result");
  const start = messages.findLastIndex((message) => message["role"] === "user" && !isResults(message));
  for (const [index, message] of messages.entries()) {
    if (index < start || message["role"] !== "assistant") continue;
    const blocks = objectsIn(message, "content");
    const given = blocks.flatMap((block) => textField(block, "signature") ?? []);
    const lost = blocks.find((block) => {
      const signature = issued.signatureOf(textField(block, "id") ?? "");
      return signature !== undefined && !given.includes(signature);
    });
    if (lost)
      return `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${textField(blocks[0] ?? {}, "type") ?? ""}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
  }
  return undefined;
}

/** Each call is answered in the very next message, and its id is used once only. */
function callsFault(
  message: JsonObject,
  next: JsonObject | undefined,
  at: string,
  ids: Set<string>,
): string | undefined {
  const calls = objectsIn(message, "content").filter(({ type }) => type === "tool_use");
  const callIds = calls.map((call) => textField(call, "id") ?? "");
  for (const id of callIds) {
    if (ids.has(id)) return `${at}: \`tool_use\` ids must be unique`;
    ids.add(id);
  }
  const results = resultIds(next);
  const open = callIds.filter((id) => !results.includes(id));
  if (open.length === 0) return undefined;
  return `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

/** Only those before any other block count. */
function resultIds(message: JsonObject | undefined): string[] {
  const blocks = message ? objectsIn(message, "content") : [];
  const end = blocks.findIndex(({ type }) => type !== "tool_result");
  return (end < 0 ? blocks : blocks.slice(0, end)).map((block) => textField(block, "tool_use_id") ?? "");
}

function resultsFault(message: JsonObject, previous: JsonObject | undefined, at: string): string | undefined {
  const calls = previous ? objectsIn(previous, "content").filter(({ type }) => type === "tool_use") : [];
  const seen = new Set<string>();
  for (const [index, block] of objectsIn(message, "content").entries()) {
    if (block["type"] !== "tool_result") continue;
    const place = `${at}.content.${index}`;
    const id = textField(block, "tool_use_id") ?? "";
    if (seen.has(id))
      return `${place}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
    seen.add(id);
    if (!calls.some((call) => call["id"] === id))
      return `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    const said = resultFault(block, place);
    if (said !== undefined) return said;
  }
  return undefined;
}

function resultFault(result: JsonObject, place: string): string | undefined {
  for (const [index, block] of objectsIn(result, "content").entries()) {
    const type = textField(block, "type") ?? "";
    const inner = `${place}.tool_result.content.${index}`;
    if (!RESULT_BLOCKS.includes(type))
      return `${inner}: Input tag '${type}' found using 'type' does not match any of the expected tags`;
    if (result["is_error"] === true && type !== "text")
      return `${place}.tool_result: all content must be type \`text\` if \`is_error\` is true`;
    if (type === "text" && textField(block, "text") === "") return "messages: text content blocks must be non-empty";
    const said = type === "image" || type === "document" ? sourceFault(block, inner) : undefined;
    if (said !== undefined) return said;
  }
  return undefined;
}

const INVALID = "invalid_request_error";

/** The messages are those of its API as people quote them (docs: "Errors"). */
type FixedFault = "unauthorized" | "quota" | "overloaded" | "server_error" | "content_filter" | "unknown_model";

const FIXED_FAULTS: Readonly<Record<FixedFault, readonly [number, string, string]>> = {
  unauthorized: [401, "authentication_error", "invalid x-api-key"],
  quota: [
    400,
    INVALID,
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
  ],
  overloaded: [529, "overloaded_error", "Overloaded"],
  server_error: [500, "api_error", "Internal server error"],
  content_filter: [400, INVALID, "Output blocked by content filtering policy"],
  unknown_model: [404, "not_found_error", "model: claude-none"],
};

const RATE_LIMITED =
  "This request would exceed your organization's rate limit of 50 requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.";

function errorBody(type: string, message: string): JsonObject {
  return { type: "error", error: { type, message }, request_id: newId("req_") };
}

function failure(status: number, type: string, message: string): AnthropicFault {
  return { status, body: errorBody(type, message) };
}

interface AnthropicFault extends FaultResponse {
  readonly body: JsonObject;
}

function anthropicFault(fault: Fault, tools: readonly OfferedTool[]): AnthropicFault {
  switch (fault.kind) {
    case "rate_limited": {
      const { retryAfterS } = fault;
      const limited = failure(429, "rate_limit_error", RATE_LIMITED);
      return retryAfterS === undefined
        ? limited
        : { ...limited, headers: { "retry-after": String(Math.ceil(retryAfterS)) } };
    }
    case "context_overflow":
      return failure(400, INVALID, `prompt is too long: ${fault.tokens} tokens > ${fault.limit} maximum`);
    case "tool_schema":
      return failure(400, INVALID, schemaMessage(fault, tools));
    case "invalid":
      return failure(400, INVALID, fault.message);
    default:
      return failure(...FIXED_FAULTS[fault.kind]);
  }
}

/** It names a tool by its place in the request only. */
function schemaMessage(fault: Extract<Fault, { kind: "tool_schema" }>, tools: readonly OfferedTool[]): string {
  const detail =
    fault.detail ??
    "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.";
  const index = tools.findIndex(({ name }) => name === fault.tool);
  return index < 0 ? `Schema is too complex. ${detail}` : `tools.${index}.custom.input_schema: ${detail}`;
}
