// The wire format of OpenAI's Chat Completions, which most self-hosted servers speak too.
import { unreachable } from "../../../base/id.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import {
  bearerOf,
  type CacheBlock,
  COMMENT,
  dataEvent,
  type Fault,
  invalid,
  newId,
  type OfferedTool,
  objectField,
  objectsIn,
  type ProviderFormat,
  type StreamWriter,
  textField,
} from "./format.js";
import { type Dialect, openAiErrorBody, openAiFault } from "./openai-faults.js";
import { type AnswerUsage, argumentsText, type ContentPart, type Incident, inPieces } from "./reply.js";

const CREATED_S = 1_790_000_000;
const FINISH_REASONS = { stop: "stop", tool_calls: "tool_calls", length: "length", refusal: "content_filter" } as const;

const DIALECT: Dialect = {
  toolPlace: (index) => `tools[${index}].function.parameters`,
  overflow: (tokens, limit) =>
    `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
};

export function openAiChat(): ProviderFormat {
  return {
    name: "openai-chat",
    isFor: (path) => path.endsWith("/chat/completions"),
    key: ({ headers }) => bearerOf(headers),
    needsKey: false,
    check: ({ body }) => checkChat(body),
    tools: offeredTools,
    cacheBlocks,
    stream: ({ body }, usage) => chatStream(body, usage),
    fault: (fault, { body }) => openAiFault(fault, offeredTools(body), DIALECT),
    error: (message, code) => openAiErrorBody(message, code),
  };
}

function offeredTools(body: JsonObject): readonly OfferedTool[] {
  return objectsIn(body, "tools").map((tool) => {
    const definition = objectField(tool, "function") ?? {};
    return {
      name: textField(definition, "name") ?? "",
      schema: objectField(definition, "parameters"),
      strict: definition["strict"] === true,
    };
  });
}

function cacheBlocks(body: JsonObject): readonly CacheBlock[] {
  return [...objectsIn(body, "tools"), ...objectsIn(body, "messages")].map((block) => ({
    text: JSON.stringify(block),
    isMarked: false,
  }));
}

function chatStream(body: JsonObject, usage: AnswerUsage): StreamWriter {
  let callCount = 0;
  const chunk = (rest: JsonObject) =>
    dataEvent({
      id: "chatcmpl-fake",
      object: "chat.completion.chunk",
      created: CREATED_S,
      model: body["model"] ?? "fake",
      ...rest,
    });
  const delta = (value: JsonObject, finishReason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: value, logprobs: null, finish_reason: finishReason }] });
  function* events(part: ContentPart): Iterable<string | Incident> {
    switch (part.kind) {
      case "text":
        yield* inPieces(part.text, part, (content) => delta({ content }));
        break;
      case "thought":
        // There is no request for thoughts in this protocol: a server that has them sends them.
        if (part.hidden !== true)
          yield* inPieces(part.text, part, (piece) => delta({ content: null, reasoning_content: piece }));
        break;
      case "tool_call": {
        const index = callCount++;
        const call = { index, id: part.id ?? newId("call_"), type: "function" };
        yield delta({ tool_calls: [{ ...call, function: { name: part.name, arguments: "" } }] });
        yield* inPieces(argumentsText(part.arguments), part, (piece) =>
          delta({ tool_calls: [{ index, function: { arguments: piece } }] }),
        );
        break;
      }
      case "file":
        throw new Error("Chat Completions has no files in answers");
      default:
        return unreachable(part);
    }
  }
  return {
    start: () => [delta({ role: "assistant", content: "" })],
    part: events,
    ping: COMMENT,
    fault: (fault) => [dataEvent(openAiFault(fault, offeredTools(body), DIALECT).body)],
    end: (finish) => {
      const wantsUsage = objectField(body, "stream_options")?.["include_usage"] === true;
      const last = wantsUsage ? [chunk({ choices: [], usage: usageOf(usage) })] : [];
      return [delta({}, FINISH_REASONS[finish]), ...last, dataEvent("[DONE]")];
    },
  };
}

function usageOf(usage: AnswerUsage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, thoughtTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
    ...(thoughtTokens !== undefined && { completion_tokens_details: { reasoning_tokens: thoughtTokens } }),
  };
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_TOOLS = 128;
const ROLES = ["system", "developer", "user", "assistant", "tool"];
const USER_PARTS = ["text", "image_url", "input_audio", "file"];

function checkChat(body: JsonObject): Fault | undefined {
  if (textField(body, "model") === undefined) return invalid("you must provide a model parameter");
  return toolsFault(body) ?? messagesFault(objectsIn(body, "messages"));
}

/** The names and the number of functions, wherever the protocol puts the name. */
export function functionsFault(names: readonly string[], place: (index: number) => string): Fault | undefined {
  if (names.length > MAX_TOOLS)
    return invalid(
      `Invalid 'tools': array too long. Expected an array with maximum length ${MAX_TOOLS}, but got an array with length ${names.length} instead.`,
      "tools",
      "array_above_max_length",
    );
  const wrong = names.findIndex((name) => !NAME.test(name));
  if (wrong < 0) return undefined;
  return invalid(
    `Invalid '${place(wrong)}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    place(wrong),
    "invalid_value",
  );
}

function toolsFault(body: JsonObject): Fault | undefined {
  const names = objectsIn(body, "tools").map((tool) => textField(objectField(tool, "function") ?? {}, "name") ?? "");
  return functionsFault(names, (index) => `tools[${index}].function.name`);
}

function messagesFault(messages: readonly JsonObject[]): Fault | undefined {
  if (messages.length === 0) return invalid("Invalid 'messages': empty array.", "messages", "empty_array");
  /** Calls of the latest assistant message that have no result yet. */
  let open: string[] = [];
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const role = textField(message, "role") ?? "";
    if (!ROLES.includes(role)) return invalid(`Invalid value: '${role}'.`, `${at}.role`, "invalid_value");
    if (role !== "tool" && open.length > 0) return unanswered(open, at);
    if (role === "user" && messages[index - 1]?.["role"] === "user") return inARow(at);
    const said = contentFault(message, role, at);
    if (said) return said;
    if (role === "tool") {
      const id = textField(message, "tool_call_id") ?? "";
      if (!open.includes(id))
        return invalid(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          `${at}.role`,
        );
      open = open.filter((other) => other !== id);
    }
    if (role !== "assistant") continue;
    const calls = callsOf(message, at, seen);
    if (!Array.isArray(calls)) return calls;
    open = calls;
  }
  return open.length > 0 ? unanswered(open, `messages[${messages.length}]`) : lastFault(messages);
}

/** Servers that apply a chat template take no conversation that ends with the assistant's own words. */
function lastFault(messages: readonly JsonObject[]): Fault | undefined {
  return messages.at(-1)?.["role"] === "assistant"
    ? invalid("Cannot have 2 or more assistant messages at the end of the list.")
    : undefined;
}

/** OpenAI takes them; the chat templates of several open models do not. */
function inARow(at: string): Fault {
  return invalid("Conversation roles must alternate user/assistant/user/assistant/...", `${at}.role`);
}

function unanswered(open: readonly string[], at: string): Fault {
  return invalid(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
    `${at}.role`,
  );
}

function callsOf(message: JsonObject, at: string, seen: Set<string>): string[] | Fault {
  const ids: string[] = [];
  for (const [index, call] of objectsIn(message, "tool_calls").entries()) {
    const place = `${at}.tool_calls[${index}]`;
    const id = textField(call, "id") ?? "";
    const definition = objectField(call, "function") ?? {};
    const args = parseJson(textField(definition, "arguments") ?? "");
    if (id === "" || seen.has(id)) return invalid(`Duplicate value for 'tool_call_id' of '${id}'.`, `${place}.id`);
    if (!NAME.test(textField(definition, "name") ?? ""))
      return invalid(`Invalid '${place}.function.name': string does not match pattern.`, `${place}.function.name`);
    // OpenAI takes any text here; servers that fill a chat template with it do not.
    if (!args.ok || !isJsonObject(args.value))
      return invalid(`Invalid '${place}.function.arguments': not a JSON object.`, `${place}.function.arguments`);
    seen.add(id);
    ids.push(id);
  }
  return ids;
}

function contentFault(message: JsonObject, role: string, at: string): Fault | undefined {
  const text = textField(message, "content");
  const parts = objectsIn(message, "content");
  if (text === undefined && parts.length === 0) {
    const mayBeNull = role === "assistant" && objectsIn(message, "tool_calls").length > 0;
    return mayBeNull
      ? undefined
      : invalid("Invalid value for 'content': expected a string, got null.", `${at}.content`);
  }
  const isEmpty = text !== undefined && text.trim() === "" && objectsIn(message, "tool_calls").length === 0;
  if (isEmpty) return invalid("Message content must be a non-empty string.", `${at}.content`);
  for (const [index, part] of parts.entries()) {
    const type = textField(part, "type") ?? "";
    const place = `${at}.content[${index}]`;
    if (role !== "user" && type === "image_url")
      return invalid(
        `Invalid '${at}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
        at,
      );
    if (!(role === "user" ? USER_PARTS : ["text", "refusal"]).includes(type))
      return invalid(`Invalid value: '${type}'.`, `${place}.type`, "invalid_value");
    if (type === "text" && (textField(part, "text") ?? "").trim() === "")
      return invalid("Message content must be a non-empty string.", place);
  }
  return undefined;
}
