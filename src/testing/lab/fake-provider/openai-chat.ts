// The wire format of OpenAI's Chat Completions, which most self-hosted servers speak too.
import { z } from "zod";
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import {
  bearerOf,
  blocksOf,
  COMMENT,
  dataEvent,
  type Fault,
  type FaultResponse,
  invalid,
  newId,
  type OfferedTool,
  type ProviderFormat,
  placeOf,
  readBody,
  type StreamWriter,
  unmarkedBlocks,
} from "./format.js";
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
    key: bearerOf,
    needsKey: false,
    read: ({ body }) => {
      const result = readBody(body, request, openAiMisfit, ({ messages }) => messageFaults(messages));
      if ("kind" in result) return result;
      const { read } = result;
      const tools = read.tools.map(({ function: { name, parameters: schema, strict = false } }) => ({
        name,
        schema,
        strict,
      }));
      return {
        tools,
        cacheBlocks: () => unmarkedBlocks(...read.tools, ...read.messages),
        stream: (usage) => chatStream(read, tools, usage),
      };
    },
    fault: (fault, tools) => openAiFault(fault, tools, DIALECT),
    error: (message, code) => openAiErrorBody(message, code),
  };
}

export const functionName: z.ZodType<string> = z
  .string()
  .regex(
    /^[a-zA-Z0-9_-]{1,64}$/,
    "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
  );

export const maxTools = [128, "array too long. Expected an array with maximum length 128."] as const;

const call = z.looseObject({
  id: z.string().min(1),
  function: z.looseObject({
    name: functionName,
    // OpenAI takes any text here; servers that fill a chat template with it do not.
    arguments: z.string().refine((text) => {
      const args = parseJson(text);
      return args.ok && isJsonObject(args.value);
    }, "not a JSON object."),
  }),
});

const message = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content: z.preprocess(
    (content) => blocksOf(content, "text") ?? undefined,
    z
      .array(
        z.looseObject({
          type: z.enum(["text", "refusal", "image_url", "input_audio", "file"]),
          text: z.string().regex(/\S/, "Message content must be a non-empty string.").optional(),
        }),
      )
      .optional(),
  ),
  tool_calls: z.array(call).default([]),
  tool_call_id: z.string().default(""),
});
type Message = z.infer<typeof message>;

const tool = z.looseObject({
  function: z.looseObject({
    name: functionName,
    parameters: z.custom<JsonObject>(isJsonObject).optional(),
    strict: z.boolean().optional(),
  }),
});

const request = z.looseObject({
  model: z.string("you must provide a model parameter"),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).optional(),
  tools: z
    .array(tool)
    .max(...maxTools)
    .default([]),
  messages: z.array(message).min(1, "empty array."),
});
type Request = z.infer<typeof request>;

function chatStream(
  { model, stream_options: options }: Request,
  tools: readonly OfferedTool[],
  usage: AnswerUsage,
): StreamWriter {
  let callCount = 0;
  const chunk = (rest: JsonObject) =>
    dataEvent({ id: "chatcmpl-fake", object: "chat.completion.chunk", created: CREATED_S, model, ...rest });
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
    fault: (fault) => [dataEvent(openAiFault(fault, tools, DIALECT).body)],
    end: (finish) => {
      const last = options?.include_usage ? [chunk({ choices: [], usage: usageOf(usage) })] : [];
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
    prompt_tokens_details: defined({ cached_tokens: cachedInputTokens }),
    completion_tokens_details: defined({ reasoning_tokens: thoughtTokens }),
  };
}

function* messageFaults(messages: readonly Message[]): Iterable<Fault> {
  /** Calls of the latest assistant message that have no result yet. */
  let open: string[] = [];
  const seen = new Set<string>();
  for (const [index, { role, content, tool_calls: calls, tool_call_id: answered }] of messages.entries()) {
    const at = `messages[${index}]`;
    if (role !== "tool" && open.length > 0) yield unanswered(open, at);
    // OpenAI takes them; the chat templates of several open models do not.
    if (role === "user" && messages[index - 1]?.role === "user")
      yield invalid("Conversation roles must alternate user/assistant/user/assistant/...", `${at}.role`);
    if (!content && calls.length === 0)
      yield invalid("Invalid value for 'content': expected a string, got null.", `${at}.content`);
    if (content?.length === 0 && calls.length === 0)
      yield invalid("Message content must be a non-empty string.", `${at}.content`);
    for (const { type } of role === "user" ? [] : (content ?? [])) {
      if (type === "image_url")
        yield invalid(
          `Invalid '${at}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
          at,
        );
      if (type !== "text" && type !== "refusal") yield invalid(`Invalid value: '${type}'.`, at, "invalid_value");
    }
    if (role === "tool" && !open.includes(answered))
      yield invalid(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        `${at}.role`,
      );
    open = role === "assistant" ? calls.map(({ id }) => id) : open.filter((id) => id !== answered);
    for (const { id } of calls) {
      if (seen.has(id)) yield invalid(`Duplicate value for 'tool_call_id' of '${id}'.`, `${at}.tool_calls`);
      seen.add(id);
    }
  }
  if (open.length > 0) yield unanswered(open, `messages[${messages.length}]`);
  // Servers that apply a chat template take no conversation that ends with the assistant's own words.
  if (messages.at(-1)?.role === "assistant")
    yield invalid("Cannot have 2 or more assistant messages at the end of the list.");
}

function unanswered(open: readonly string[], at: string): Fault {
  return invalid(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
    `${at}.role`,
  );
}

// How OpenAI and the servers that speak its protocols report failures (docs: "Error codes"; messages as people quote them).

export interface OpenAiFault extends FaultResponse {
  readonly body: JsonObject & { readonly error: OpenAiError };
}

export interface OpenAiError extends JsonObject {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** Chat and Responses name the same places differently. */
export interface Dialect {
  readonly toolPlace: (index: number) => string;
  readonly overflow: (tokens: number, limit: number) => string;
}

export function openAiMisfit(path: readonly PropertyKey[], message: string): Fault {
  const place = placeOf(path);
  return invalid(`Invalid '${place}': ${message}`, place, "invalid_value");
}

type ErrorParts = Partial<OpenAiError> & { readonly message: string };

const SERVER = "server_error";
const QUOTA = "insufficient_quota";

const FIXED_FAULTS = {
  unauthorized: [
    401,
    "Incorrect API key provided: sk-fake. You can find your API key at https://platform.openai.com/account/api-keys.",
    { code: "invalid_api_key" },
  ],
  quota: [
    429,
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
    { type: QUOTA, code: QUOTA },
  ],
  overloaded: [503, "The server is overloaded or not ready yet.", { type: SERVER, code: "server_is_overloaded" }],
  server_error: [500, "The server had an error while processing your request. Sorry about that!", { type: SERVER }],
  content_filter: [
    400,
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.",
    { code: "invalid_prompt" },
  ],
  unknown_model: [404, "The model `none` does not exist or you do not have access to it.", { code: "model_not_found" }],
} as const;

export function openAiErrorBody(message: string, type: string, code: string | null = type): OpenAiFault["body"] {
  return { error: { message, type, param: null, code } };
}

function failure(status: number, error: ErrorParts): OpenAiFault {
  const { message, type = "invalid_request_error", param = null, code = null } = error;
  return { status, body: { error: { message, type, param, code } } };
}

export function openAiFault(fault: Fault, tools: readonly OfferedTool[], dialect: Dialect): OpenAiFault {
  switch (fault.kind) {
    case "rate_limited":
      return rateLimited(fault.retryAfterS);
    case "context_overflow": {
      const message = dialect.overflow(fault.tokens, fault.limit);
      return failure(400, { message, code: "context_length_exceeded", param: "messages" });
    }
    case "tool_schema":
      return failure(400, schemaError(fault, tools, dialect));
    case "invalid":
      return failure(400, { message: fault.message, param: fault.param ?? null, code: fault.code ?? null });
    default: {
      const [status, message, error] = FIXED_FAULTS[fault.kind];
      return failure(status, { message, ...error });
    }
  }
}

function rateLimited(retryAfterS: number | undefined): OpenAiFault {
  const hint = retryAfterS === undefined ? "" : ` Please try again in ${retryAfterS}s.`;
  const fault = failure(429, {
    message: `Rate limit reached for requests in organization org-fake on requests per min (RPM): Limit 3, Used 3, Requested 1.${hint}`,
    type: "requests",
    code: "rate_limit_exceeded",
  });
  if (retryAfterS === undefined) return fault;
  const headers = {
    "retry-after": String(Math.ceil(retryAfterS)),
    "retry-after-ms": String(Math.ceil(retryAfterS * 1000)),
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": `${retryAfterS}s`,
  };
  return { ...fault, headers };
}

function schemaError(
  fault: Extract<Fault, { kind: "tool_schema" }>,
  tools: readonly OfferedTool[],
  dialect: Dialect,
): ErrorParts {
  const detail = fault.detail ?? "In context=(), object schema missing properties.";
  const index = tools.findIndex(({ name }) => name === fault.tool);
  if (index < 0) return { message: `Invalid schema. ${detail}` };
  return {
    message: `Invalid schema for function '${fault.tool}': ${detail}`,
    param: dialect.toolPlace(index),
    code: "invalid_function_parameters",
  };
}
