// The wire format of Anthropic's Messages API (docs: "Streaming messages", "Thinking", "Prompt caching").
import { z } from "zod";
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import {
  type Accepted,
  type Asked,
  bearerOf,
  blocksOf,
  type CacheBlock,
  type Fault,
  type FaultResponse,
  headerOf,
  Issued,
  invalid,
  namedEvent,
  newId,
  type OfferedTool,
  type ProviderFormat,
  readBody,
  type StreamWriter,
} from "./format.js";
import { type AnswerUsage, argumentsText, type ContentPart, type Incident, inPieces } from "./reply.js";

const STOP_REASONS = { stop: "end_turn", tool_calls: "tool_use", length: "max_tokens", refusal: "refusal" } as const;

export function anthropicMessages(): ProviderFormat {
  const issued = new Issued();
  return {
    name: "anthropic",
    isFor: (path) => path.endsWith("/v1/messages"),
    // Its own client sends keys as bearer tokens since 1.0.
    key: (headers) => headerOf(headers, "x-api-key") ?? bearerOf(headers),
    needsKey: true,
    read: (asked) => readMessages(asked, issued),
    fault: anthropicFault,
    error: (message, code) => errorBody(code, message),
  };
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const EMPTY = "text content blocks must be non-empty";
const MAX_MARKERS = 4;

const toolName = z.string().regex(TOOL_NAME, `String should match pattern '${TOOL_NAME.source}'`);
const otherSource = z.looseObject({ type: z.enum(["url", "text", "content", "file"]) });

function media<Type extends string>(type: Type, mediaType: z.ZodType<string>) {
  const data = z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/, "invalid base64 data");
  const base64 = z.looseObject({ type: z.literal("base64"), media_type: mediaType, data });
  return z.looseObject({ type: z.literal(type), source: z.discriminatedUnion("type", [base64, otherSource]) });
}

const image = media("image", z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]));
const pdf = media("document", z.string());
const searchResult = z.looseObject({ type: z.literal("search_result") });
const tag = { error: ({ input }: { input?: unknown }) => `Input tag '${typeOf(input)}' found using 'type' is unknown` };

const resultBlock = z.discriminatedUnion(
  "type",
  [
    z.looseObject({ type: z.literal("text"), text: z.string().min(1, EMPTY) }),
    z.looseObject({ type: z.literal("tool_reference"), tool_name: z.string() }),
    image,
    pdf,
    searchResult,
  ],
  tag,
);

const block = z.discriminatedUnion(
  "type",
  [
    z.looseObject({
      type: z.literal("text"),
      text: z.string().min(1, EMPTY).regex(/\S/, "text content blocks must contain non-whitespace text"),
    }),
    z.looseObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string("Field required") }),
    z.looseObject({ type: z.literal("redacted_thinking") }),
    z.looseObject({
      type: z.literal("tool_use"),
      id: z.string().regex(/^[a-zA-Z0-9_-]+$/, "tool_use.id: String should match pattern"),
      name: toolName,
      input: z.looseObject({}, "Input should be a valid dictionary"),
    }),
    z.looseObject({
      type: z.literal("tool_result"),
      tool_use_id: z.string(),
      is_error: z.boolean().optional(),
      content: z.preprocess((content) => blocksOf(content, "text"), z.array(resultBlock).default([])),
    }),
    image,
    pdf,
    searchResult,
  ],
  tag,
);
type Block = z.infer<typeof block>;

const message = z.looseObject({
  role: z.enum(["user", "assistant"]),
  content: z.preprocess(
    (content) => blocksOf(content, "text"),
    z.array(block).min(1, "all messages must have non-empty content except for the optional final assistant message"),
  ),
});
type Message = z.infer<typeof message>;

const request = z.looseObject({
  model: z.string("Field required"),
  max_tokens: z.number("Field required").min(1, "Input should be greater than or equal to 1"),
  thinking: z
    .looseObject({
      type: z.string().optional(),
      display: z.string().optional(),
      budget_tokens: z.number().min(1024, "Input should be greater than or equal to 1024").optional(),
    })
    .default({}),
  tools: z
    .array(
      z.looseObject({
        name: toolName,
        type: z.string().default("custom"),
        input_schema: z.custom<JsonObject>(isJsonObject).optional(),
        strict: z.boolean().optional(),
        defer_loading: z.boolean().optional(),
        cache_control: z.looseObject({}).nullish(),
      }),
    )
    .default([]),
  messages: z.array(message).min(1, "at least one message is required"),
});
type Request = z.infer<typeof request>;

function typeOf(value: unknown): string {
  return isJsonObject(value) && typeof value["type"] === "string" ? value["type"] : "";
}

function readMessages({ headers, body }: Asked, issued: Issued): Fault | Accepted {
  if (headerOf(headers, "anthropic-version") === undefined) return invalid("anthropic-version: header is required");
  const misfit = (path: readonly PropertyKey[], text: string) =>
    invalid(`${(path[0] === "tools" ? path.toSpliced(2, 0, "custom") : path).join(".")}: ${text}`);
  const result = readBody(body, request, misfit, (read) => faultsOf(read, body, issued));
  if ("kind" in result) return result;
  const { read } = result;
  const tools = read.tools.map(({ name, input_schema: schema, strict = false }) => ({ name, schema, strict }));
  return {
    tools,
    cacheBlocks: () => cacheBlocks(read, body),
    stream: (usage) => messageStream(read, tools, usage, issued),
  };
}

/**
 * Tools, then system, then messages; the marker on the request itself stands for the last block. Deferred tools are not
 * at the beginning: they stand where a result refers to them.
 */
function cacheBlocks({ tools, messages }: Request, { system = [], cache_control: whole }: JsonObject): CacheBlock[] {
  const values: readonly Record<string, unknown>[] = [
    ...tools.filter((tool) => tool.defer_loading !== true),
    ...(Array.isArray(system) ? system.filter((part) => isJsonObject(part)) : [{ system }]),
    ...messages.flatMap(({ role, content }) => content.map((part) => ({ role, ...part }))),
  ];
  return values.map(({ cache_control: marker, ...rest }, index) => ({
    text: JSON.stringify(rest),
    isMarked: isJsonObject(marker) || (isJsonObject(whole) && index === values.length - 1),
  }));
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

function messageStream(
  { model, thinking: { type, display } }: Request,
  tools: readonly OfferedTool[],
  usage: AnswerUsage,
  issued: Issued,
): StreamWriter {
  // The newest models leave the words of thoughts out unless they are asked for (docs: "Thinking", `display`).
  const showsThoughts = type === "enabled" || display === "summarized";
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
        const shown = showsThoughts && part.hidden !== true ? part.text : "";
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
    start: () => {
      const head = { id: newId("msg_"), type: "message", role: "assistant", model, content: [] };
      const open = { stop_reason: null, stop_sequence: null, usage: usageOf(usage, 1) };
      return [namedEvent({ type: "message_start", message: { ...head, ...open } })];
    },
    part: block,
    ping,
    fault: (fault) => [namedEvent({ type: "error", ...anthropicFault(fault, tools).body })],
    end: (finish) => {
      const stop = { stop_reason: STOP_REASONS[finish], stop_sequence: null };
      const message = { type: "message_delta", delta: stop, usage: usageOf(usage, usage.outputTokens) };
      return [namedEvent(message), namedEvent({ type: "message_stop" })];
    },
  };
}

function* faultsOf({ max_tokens: limit, thinking, tools, messages }: Request, body: JsonObject, issued: Issued) {
  if (thinking.budget_tokens !== undefined && thinking.budget_tokens >= limit)
    yield "`max_tokens` must be greater than `thinking.budget_tokens`.";
  yield* toolFaults(tools, messages);
  yield* markerFaults(body, messages);
  yield* messageFaults(messages, issued);
  yield* lostThoughts(messages, issued);
  if (messages.at(-1)?.role === "assistant")
    yield "This model does not support assistant message prefill. The conversation must end with a user message.";
}

/** Deferred tools are known by the results that refer to them, and there is always one that is not deferred. */
function* toolFaults(tools: Request["tools"], messages: readonly Message[]) {
  const names = tools.map(({ name }) => name);
  if (new Set(names).size < names.length) yield "tools: Tool names must be unique.";
  for (const [index, { name, type, input_schema: schema, defer_loading: isDeferred, ...tool }] of tools.entries()) {
    if (type === "custom" && !schema) yield `tools.${index}.custom.input_schema: Field required`;
    if (isDeferred && tool.cache_control)
      yield `Tool '${name}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.`;
  }
  if (tools.length > 0 && tools.every((tool) => tool.defer_loading))
    yield "At least one tool must have defer_loading=false.";
  const results = messages.flatMap(({ content }) => content.filter((part) => part.type === "tool_result"));
  for (const part of results.flatMap(({ content }) => content)) {
    if (part.type === "tool_reference" && !names.includes(part.tool_name))
      yield `Tool reference '${part.tool_name}' not found in available tools`;
  }
}

function* markerFaults(body: JsonObject, messages: readonly Message[]) {
  const found = markersIn(body);
  if (found > MAX_MARKERS)
    yield `A maximum of ${MAX_MARKERS} blocks with cache_control may be provided. Found ${found}.`;
  for (const part of messages.flatMap(({ content }) => content)) {
    if (/thinking/.test(part.type) && isJsonObject(part["cache_control"]))
      yield "cache_control: Extra inputs are not permitted on thinking blocks";
  }
}

function markersIn(value: JsonValue | undefined): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item: JsonValue) => sum + markersIn(item), 0);
  if (!isJsonObject(value)) return 0;
  // A tool's schema and arguments are data: a field of that name in them is no marker.
  const { input_schema: _schema, input: _input, cache_control: marker, ...inside } = value;
  return Object.values(inside).reduce<number>((sum, item) => sum + markersIn(item), isJsonObject(marker) ? 1 : 0);
}

const USER_BLOCKS = ["text", "image", "document", "tool_result", "search_result"];
const ASSISTANT_BLOCKS = ["text", "thinking", "redacted_thinking", "tool_use"];

function* messageFaults(messages: readonly Message[], issued: Issued) {
  if (messages[0]?.role !== "user") yield 'messages: first message must use the "user" role';
  const ids = new Set<string>();
  for (const [index, { role, content }] of messages.entries()) {
    const at = `messages.${index}`;
    const previous = messages[index - 1];
    if (previous?.role === role)
      yield `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`;
    const allowed = role === "user" ? USER_BLOCKS : ASSISTANT_BLOCKS;
    for (const [place, part] of content.entries()) {
      if (!allowed.includes(part.type))
        yield `${at}.content.${place}: Input tag '${part.type}' found using 'type' does not match any of the expected tags: ${allowed.join(", ")}`;
      if (part.type === "thinking") yield* changedThought(part, `${at}.content.${place}`, issued);
    }
    // Each call is answered in the very next message, and its id is used once only.
    const calls = callIds(content);
    if (new Set([...ids, ...calls]).size < ids.size + calls.length) yield `${at}: \`tool_use\` ids must be unique`;
    for (const id of calls) ids.add(id);
    const results = leadingResults(messages[index + 1]?.content ?? []);
    const open = calls.filter((id) => !results.includes(id));
    if (open.length > 0)
      yield `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
    yield* resultFaults(content, callIds(previous?.content ?? []), at);
  }
}

function callIds(content: readonly Block[]): readonly string[] {
  return content.flatMap((part) => (part.type === "tool_use" ? part.id : []));
}

/** Only those before any other block count. */
function leadingResults(content: readonly Block[]): readonly string[] {
  const end = content.findIndex(({ type }) => type !== "tool_result");
  return content
    .slice(0, end < 0 ? undefined : end)
    .flatMap((part) => (part.type === "tool_result" ? part.tool_use_id : []));
}

function* resultFaults(content: readonly Block[], calls: readonly string[], at: string) {
  const seen = new Set<string>();
  for (const [index, part] of content.entries()) {
    if (part.type !== "tool_result") continue;
    const place = `${at}.content.${index}`;
    const { tool_use_id: id } = part;
    if (seen.has(id))
      yield `${place}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
    seen.add(id);
    if (!calls.includes(id))
      yield `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    if (part.is_error && part.content.some(({ type }) => type !== "text"))
      yield `${place}.tool_result: all content must be type \`text\` if \`is_error\` is true`;
  }
}

function* changedThought(
  part: { readonly thinking: string; readonly signature: string },
  place: string,
  issued: Issued,
) {
  const shown = issued.shownWith(part.signature);
  if (shown === undefined) yield `${place}: Invalid \`signature\` in \`thinking\` block`;
  else if (shown !== part.thinking)
    yield `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`;
}

/** Calls that came with a thought go back with it as long as their loop goes on (docs: "Thinking with tool use"). */
function* lostThoughts(messages: readonly Message[], issued: Issued) {
  const isPrompt = ({ role, content }: Message) =>
    role === "user" && content.every(({ type }) => type !== "tool_result");
  const start = messages.findLastIndex(isPrompt);
  for (const [index, { role, content }] of messages.entries()) {
    if (index < start || role !== "assistant") continue;
    const given = content.flatMap((part) => (part.type === "thinking" ? part.signature : []));
    const wanted = callIds(content).flatMap((id) => issued.signatureOf(id) ?? []);
    if (wanted.some((signature) => !given.includes(signature)))
      yield `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${content[0]?.type ?? ""}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
  }
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
      const headers = retryAfterS === undefined ? undefined : { "retry-after": String(Math.ceil(retryAfterS)) };
      return { ...failure(429, "rate_limit_error", RATE_LIMITED), ...defined({ headers }) };
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
