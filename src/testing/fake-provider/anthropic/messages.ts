// The wire format of Anthropic's Messages API (docs: "Streaming messages", "Thinking", "Prompt caching").
import { unreachable } from "../../../base/id.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import type { Fault } from "../fault.js";
import type { OfferedTool, ProviderFormat, StreamWriter, WholeAnswer } from "../format.js";
import { Issued, newId } from "../issued.js";
import type { CacheBlock } from "../prefix-cache.js";
import { headerOf, objectField, objectsIn, textField } from "../read-json.js";
import {
  type AnswerUsage,
  argumentsText,
  type ContentPart,
  type Finish,
  type Incident,
  inPieces,
  type Piecewise,
} from "../reply.js";
import { namedEvent } from "../sse.js";
import { checkMessages } from "./check.js";
import { anthropicErrorBody, anthropicFault } from "./fault.js";

const STOP_REASONS = { stop: "end_turn", tool_calls: "tool_use", length: "max_tokens", refusal: "refusal" } as const;

export function anthropicMessages(): ProviderFormat {
  const issued = new Issued();
  return {
    name: "anthropic",
    isFor: (path) => path.endsWith("/v1/messages"),
    wantsStream: ({ body }) => body["stream"] === true,
    key: ({ headers }) => headerOf(headers, "x-api-key"),
    needsKey: true,
    check: (asked) => checkMessages(asked, issued),
    tools: offeredTools,
    cacheBlocks,
    stream: (asked, usage) => new MessageStream(asked.body, usage, issued),
    whole: (asked, answer) => wholeMessage(asked.body, answer, issued),
    fault: (fault, { body }) => anthropicFault(fault, offeredTools(body)),
    error: (message, code) => anthropicErrorBody(code, message),
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

class MessageStream implements StreamWriter {
  readonly #body: JsonObject;
  readonly #usage: AnswerUsage;
  readonly #issued: Issued;
  #index = 0;
  #signature: string | undefined;

  constructor(body: JsonObject, usage: AnswerUsage, issued: Issued) {
    this.#body = body;
    this.#usage = usage;
    this.#issued = issued;
  }

  start(): string[] {
    return [namedEvent({ type: "message_start", message: head(this.#body, this.#usage) })];
  }

  *part(part: ContentPart): Iterable<string | Incident> {
    switch (part.kind) {
      case "text":
        yield* this.#block({ type: "text", text: "" });
        yield* this.#deltas(part.text, part, (text) => ({ type: "text_delta", text }));
        break;
      case "thought": {
        const shown = showsThoughts(this.#body) && part.hidden !== true ? part.text : "";
        this.#signature = this.#issued.sign(part.text, shown);
        yield* this.#block({ type: "thinking", thinking: "", signature: "" });
        if (shown !== "") yield* this.#deltas(shown, part, (thinking) => ({ type: "thinking_delta", thinking }));
        else if (part.after) yield part.after.happens;
        yield this.#delta({ type: "signature_delta", signature: this.#signature });
        break;
      }
      case "tool_call": {
        const id = part.id ?? newId("toolu_");
        if (this.#signature !== undefined) this.#issued.bind(id, this.#signature);
        yield* this.#block({ type: "tool_use", id, name: part.name, input: {} });
        yield this.#delta({ type: "input_json_delta", partial_json: "" });
        const json = argumentsText(part.arguments);
        yield* this.#deltas(json, part, (piece) => ({ type: "input_json_delta", partial_json: piece }));
        break;
      }
      case "file":
        throw new Error("Anthropic's Messages API has no files in answers");
      default:
        return unreachable(part);
    }
    yield namedEvent({ type: "content_block_stop", index: this.#index });
    this.#index += 1;
  }

  ping(): string {
    return namedEvent({ type: "ping" });
  }

  fault(fault: Fault): string[] {
    const { body } = anthropicFault(fault, offeredTools(this.#body));
    return [namedEvent({ type: "error", ...body })];
  }

  end(finish: Finish): string[] {
    const delta = { stop_reason: STOP_REASONS[finish], stop_sequence: null };
    const usage = usageOf(this.#usage, this.#usage.outputTokens);
    return [namedEvent({ type: "message_delta", delta, usage }), namedEvent({ type: "message_stop" })];
  }

  /** The real one sends a ping after the first block is opened. */
  *#block(content: JsonObject): Generator<string, void, void> {
    yield namedEvent({ type: "content_block_start", index: this.#index, content_block: content });
    if (this.#index === 0) yield this.ping();
  }

  #deltas(text: string, cut: Piecewise, delta: (piece: string) => JsonObject): Iterable<string | Incident> {
    return inPieces(text, cut, (piece) => this.#delta(delta(piece)));
  }

  #delta(delta: JsonObject): string {
    return namedEvent({ type: "content_block_delta", index: this.#index, delta });
  }
}

function wholeMessage(body: JsonObject, answer: WholeAnswer, issued: Issued): JsonObject {
  let signature: string | undefined;
  const content = answer.parts.map((part): JsonValue => {
    switch (part.kind) {
      case "text":
        return { type: "text", text: part.text };
      case "thought": {
        const thinking = showsThoughts(body) && part.hidden !== true ? part.text : "";
        signature = issued.sign(part.text, thinking);
        return { type: "thinking", thinking, signature };
      }
      case "tool_call": {
        const id = part.id ?? newId("toolu_");
        if (signature !== undefined) issued.bind(id, signature);
        const input = parseJson(argumentsText(part.arguments));
        return { type: "tool_use", id, name: part.name, input: input.ok ? input.value : {} };
      }
      case "file":
        throw new Error("Anthropic's Messages API has no files in answers");
      default:
        return unreachable(part);
    }
  });
  const usage = usageOf(answer.usage, answer.usage.outputTokens);
  return { ...head(body, answer.usage), content, stop_reason: STOP_REASONS[answer.finish], usage };
}
