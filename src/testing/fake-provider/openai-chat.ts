// The wire format of OpenAI's Chat Completions, which most self-hosted servers speak too.
import { unreachable } from "../../base/brand.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.js";
import type { ProviderFormat, StreamWriter } from "./format.js";
import { type Answer, type AnswerPart, type AnswerUsage, argumentsText, finishOf, pieces } from "./reply.js";

const CREATED_S = 1_790_000_000;
const DEFAULT_USAGE: AnswerUsage = { inputTokens: 10, outputTokens: 5 };

const FINISH_REASONS = { stop: "stop", tool_calls: "tool_calls", length: "length", refusal: "content_filter" } as const;

let lastCallNumber = 0;

export const openAiChat: ProviderFormat = {
  isFor: (path) => path.endsWith("/chat/completions"),
  wantsStream: (body) => body["stream"] === true,
  stream: (body) => new ChatStream(body),
  whole: (answer, body) => ({
    ...head(body, "chat.completion"),
    choices: [{ index: 0, message: messageOf(answer), finish_reason: FINISH_REASONS[finishOf(answer)] }],
    usage: usageOf(answer),
  }),
  error: (message, code) => ({ error: { message, type: code, param: null, code } }),
};

class ChatStream implements StreamWriter {
  readonly #body: JsonObject;
  #callIndex = 0;

  constructor(body: JsonObject) {
    this.#body = body;
  }

  start(): string[] {
    return [this.#delta({ role: "assistant", content: "" })];
  }

  part(part: Exclude<AnswerPart, { readonly kind: "pause" }>): string[] {
    switch (part.kind) {
      case "text":
        return pieces(part.text, part.chunks).map((content) => this.#delta({ content }));
      case "thought":
        return pieces(part.text, part.chunks).map((piece) => this.#delta({ reasoning_content: piece }));
      case "tool_call": {
        const index = this.#callIndex++;
        const opening = {
          index,
          id: part.id ?? newCallId(),
          type: "function",
          function: { name: part.name, arguments: "" },
        };
        const rest = pieces(argumentsText(part.arguments), part.chunks).map((piece) =>
          this.#delta({ tool_calls: [{ index, function: { arguments: piece } }] }),
        );
        return [this.#delta({ tool_calls: [opening] }), ...rest];
      }
      default:
        return unreachable(part);
    }
  }

  end(answer: Answer): string[] {
    const options = this.#body["stream_options"];
    const wantsUsage = isJsonObject(options) && options["include_usage"] === true;
    const usage = event({ ...head(this.#body, "chat.completion.chunk"), choices: [], usage: usageOf(answer) });
    return [this.#delta({}, FINISH_REASONS[finishOf(answer)]), ...(wantsUsage ? [usage] : []), "data: [DONE]\n\n"];
  }

  #delta(delta: JsonObject, finishReason: string | null = null): string {
    const choices = [{ index: 0, delta, finish_reason: finishReason }];
    return event({ ...head(this.#body, "chat.completion.chunk"), choices });
  }
}

function event(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function head(body: JsonObject, object: string): JsonObject {
  return { id: "chatcmpl-fake", object, created: CREATED_S, model: body["model"] ?? "fake" };
}

function usageOf({ usage = DEFAULT_USAGE }: Answer): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
  };
}

function messageOf(answer: Answer): JsonObject {
  const words = answer.parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  const thoughts = answer.parts.flatMap((part) => (part.kind === "thought" ? [part.text] : []));
  const calls = answer.parts.flatMap((part): JsonValue[] =>
    part.kind === "tool_call"
      ? [
          {
            id: part.id ?? newCallId(),
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

function newCallId(): string {
  return `call_fake_${++lastCallNumber}`;
}
