// The wire format of OpenAI's Chat Completions, which most self-hosted servers speak too.
import { unreachable } from "../../../base/id.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import type { Fault } from "../fault.js";
import type { OfferedTool, ProviderFormat, StreamWriter, WholeAnswer } from "../format.js";
import { newId } from "../issued.js";
import type { CacheBlock } from "../prefix-cache.js";
import { bearerOf, objectField, objectsIn, textField } from "../read-json.js";
import {
  type AnswerUsage,
  argumentsText,
  type ContentPart,
  type Finish,
  type Incident,
  inPieces,
  type Piecewise,
} from "../reply.js";
import { COMMENT, dataEvent } from "../sse.js";
import { checkChat } from "./chat-check.js";
import { type Dialect, openAiErrorBody, openAiFault } from "./fault.js";

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
    wantsStream: ({ body }) => body["stream"] === true,
    key: ({ headers }) => bearerOf(headers),
    needsKey: false,
    check: ({ body }) => checkChat(body),
    tools: offeredTools,
    cacheBlocks,
    stream: ({ body }, usage) => new ChatStream(body, usage),
    whole: ({ body }, answer) => ({
      ...head(body, "chat.completion"),
      choices: [{ index: 0, message: messageOf(answer), finish_reason: FINISH_REASONS[answer.finish] }],
      usage: usageOf(answer.usage),
    }),
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

class ChatStream implements StreamWriter {
  readonly #body: JsonObject;
  readonly #usage: AnswerUsage;
  #callIndex = 0;

  constructor(body: JsonObject, usage: AnswerUsage) {
    this.#body = body;
    this.#usage = usage;
  }

  start(): string[] {
    return [this.#delta({ role: "assistant", content: "" })];
  }

  *part(part: ContentPart): Iterable<string | Incident> {
    switch (part.kind) {
      case "text":
        yield* this.#deltas(part.text, part, (content) => ({ content }));
        break;
      case "thought":
        // There is no request for thoughts in this protocol: a server that has them sends them.
        if (part.hidden !== true)
          yield* this.#deltas(part.text, part, (piece) => ({ content: null, reasoning_content: piece }));
        break;
      case "tool_call": {
        const index = this.#callIndex++;
        const id = part.id ?? newId("call_");
        yield this.#delta({
          tool_calls: [{ index, id, type: "function", function: { name: part.name, arguments: "" } }],
        });
        yield* this.#deltas(argumentsText(part.arguments), part, (piece) => ({
          tool_calls: [{ index, function: { arguments: piece } }],
        }));
        break;
      }
      case "file":
        throw new Error("Chat Completions has no files in answers");
      default:
        return unreachable(part);
    }
  }

  ping(): string {
    return COMMENT;
  }

  fault(fault: Fault): string[] {
    return [dataEvent(openAiFault(fault, offeredTools(this.#body), DIALECT).body)];
  }

  end(finish: Finish): string[] {
    const options = this.#body["stream_options"];
    const wantsUsage = isJsonObject(options) && options["include_usage"] === true;
    const last = { ...head(this.#body, "chat.completion.chunk"), choices: [], usage: usageOf(this.#usage) };
    const closing = this.#delta({}, FINISH_REASONS[finish]);
    return [closing, ...(wantsUsage ? [dataEvent(last)] : []), dataEvent("[DONE]")];
  }

  #deltas(text: string, cut: Piecewise, delta: (piece: string) => JsonObject): Iterable<string | Incident> {
    return inPieces(text, cut, (piece) => this.#delta(delta(piece)));
  }

  #delta(delta: JsonObject, finishReason: string | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
    return dataEvent({ ...head(this.#body, "chat.completion.chunk"), choices });
  }
}

function head(body: JsonObject, object: string): JsonObject {
  return { id: "chatcmpl-fake", object, created: CREATED_S, model: body["model"] ?? "fake" };
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

function messageOf(answer: WholeAnswer): JsonObject {
  const words = answer.parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  const thoughts = answer.parts.flatMap((part) => (part.kind === "thought" ? [part.text] : []));
  const calls = answer.parts.flatMap((part): JsonValue[] =>
    part.kind === "tool_call"
      ? [
          {
            id: part.id ?? newId("call_"),
            type: "function",
            function: { name: part.name, arguments: argumentsText(part.arguments) },
          },
        ]
      : [],
  );
  return {
    role: "assistant",
    content: words.length > 0 ? words.join("") : null,
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join("") }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}
