// The providers' protocols as far as acp-check's model speaks them: how a request is read and how a move is written.
import type { JsonObject, JsonValue } from "../../../base/json/json.js";
import { objectIn, objectsIn, stringIn, wordOf } from "../fields.js";
import type { Conversation, Message, Move, OfferedTool } from "./conversation.js";

export interface WrittenAnswer {
  readonly type: "application/json" | "text/event-stream";
  readonly body: string;
}

export interface ModelFormat {
  readonly name: string;
  /** Whether a POST to this path is for it. */
  takes(path: string): boolean;
  read(body: JsonObject): Conversation;
  /** `id` is unique for the request. */
  write(move: Move, request: { readonly body: JsonObject; readonly path: string; readonly id: string }): WrittenAnswer;
}

/** Every "openai-compatible" setting speaks it. */
const chatCompletions: ModelFormat = {
  name: "openai chat",
  takes: (path) => path.endsWith("/chat/completions"),
  read: (body) => ({
    messages: objectsIn(body["messages"]).map(({ role, content, tool_calls: calls }) => ({
      role: roleOf(role),
      text: textIn(content),
      calls: objectsIn(calls).map((call) => stringIn(objectIn(call["function"])["name"])),
    })),
    tools: objectsIn(body["tools"]).map((tool) => offered(objectIn(tool["function"]), "parameters")),
  }),
  write: (move, { body, id }) => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const head = { id: `chatcmpl-${id}`, created: 1, model: stringIn(body["model"]) };
    const finish = move.kind === "call" ? "tool_calls" : "stop";
    const spoken = (extra: JsonObject): JsonObject => {
      if (move.kind === "say") return { role: "assistant", content: move.text };
      const call = { name: move.name, arguments: JSON.stringify(move.arguments) };
      const calls = [{ ...extra, id: `call_${id}`, type: "function", function: call }];
      return { role: "assistant", content: null, tool_calls: calls };
    };
    if (body["stream"] !== true) {
      const choices = [{ index: 0, message: spoken({}), finish_reason: finish }];
      return asJson({ ...head, object: "chat.completion", choices, usage });
    }
    const chunk = (delta: JsonObject, reason: string | null): JsonObject => ({
      ...head,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    const events = [chunk(spoken({ index: 0 }), null), { ...chunk({}, finish), usage }];
    return asEvents(events, { last: "data: [DONE]\n\n" });
  },
};

const responses: ModelFormat = {
  name: "openai responses",
  takes: (path) => path.endsWith("/responses"),
  read: (body) => {
    const { input } = body;
    const spoken: readonly Message[] = typeof input === "string" ? [{ role: "user", text: input, calls: [] }] : [];
    return {
      messages: [...spoken, ...objectsIn(input).map(readItem)],
      tools: objectsIn(body["tools"]).flatMap((tool) =>
        tool["type"] === "function" ? [offered(tool, "parameters")] : [],
      ),
    };
  },
  write: (move, { body, id }) => {
    const item = itemOf(move, id);
    const base = { id: `resp_${id}`, object: "response", created_at: 1, model: stringIn(body["model"]) };
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 15,
    };
    const whole = { ...base, status: "completed", output: [item], usage };
    if (body["stream"] !== true) return asJson(whole);
    const begun = { ...item, status: "in_progress", ...(move.kind === "say" ? { content: [] } : { arguments: "" }) };
    const events: JsonObject[] = [
      { type: "response.created", response: { ...base, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: begun },
      ...itemDeltas(move, stringIn(item["id"])),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: whole },
    ];
    const numbered = events.map((event, sequence) => ({ ...event, sequence_number: sequence }));
    return asEvents(numbered, { named: true });
  },
};

function itemOf(move: Move, id: string): JsonObject {
  if (move.kind === "say") {
    const content = [{ type: "output_text", text: move.text, annotations: [] }];
    return { id: `msg_${id}`, type: "message", role: "assistant", status: "completed", content };
  }
  const call = { call_id: `call_${id}`, name: move.name, arguments: JSON.stringify(move.arguments) };
  return { id: `fc_${id}`, type: "function_call", status: "completed", ...call };
}

function itemDeltas(move: Move, itemId: string): readonly JsonObject[] {
  const at = { item_id: itemId, output_index: 0 };
  if (move.kind === "call") {
    const text = JSON.stringify(move.arguments);
    return [
      { type: "response.function_call_arguments.delta", ...at, delta: text },
      { type: "response.function_call_arguments.done", ...at, arguments: text },
    ];
  }
  const part = { ...at, content_index: 0 };
  const done = { type: "output_text", text: move.text, annotations: [] };
  return [
    { type: "response.content_part.added", ...part, part: { ...done, text: "" } },
    { type: "response.output_text.delta", ...part, delta: move.text },
    { type: "response.output_text.done", ...part, text: move.text },
    { type: "response.content_part.done", ...part, part: done },
  ];
}

function readItem(item: JsonObject): Message {
  if (item["type"] === "function_call") return { role: "assistant", text: "", calls: [stringIn(item["name"])] };
  if (item["type"] === "function_call_output") return { role: "other", text: textIn(item["output"]), calls: [] };
  return { role: roleOf(item["role"]), text: textIn(item["content"]), calls: [] };
}

const anthropic: ModelFormat = {
  name: "anthropic messages",
  takes: (path) => /\/messages(\/count_tokens)?$/u.test(path),
  read: (body) => ({
    messages: objectsIn(body["messages"]).flatMap(({ role, content }): readonly Message[] => {
      if (typeof content === "string") return [{ role: roleOf(role), text: content, calls: [] }];
      return objectsIn(content).map((block) => {
        // Tool results come in the user's messages here; a person did not write them.
        if (block["type"] === "tool_result") return { role: "other", text: textIn(block["content"]), calls: [] };
        const calls = block["type"] === "tool_use" ? [stringIn(block["name"])] : [];
        return { role: roleOf(role), text: stringIn(block["text"]), calls };
      });
    }),
    tools: objectsIn(body["tools"]).map((tool) => offered(tool, "input_schema")),
  }),
  write: (move, { body, path, id }) => {
    const usage = { input_tokens: 10, output_tokens: 5 };
    if (path.endsWith("/count_tokens")) return asJson({ input_tokens: usage.input_tokens });
    const isCall = move.kind === "call";
    const block = isCall
      ? { type: "tool_use", id: `toolu_${id}`, name: move.name, input: move.arguments }
      : { type: "text", text: move.text };
    const stop = { stop_reason: isCall ? "tool_use" : "end_turn", stop_sequence: null };
    const message = { id: `msg_${id}`, type: "message", role: "assistant", model: stringIn(body["model"]) };
    if (body["stream"] !== true) return asJson({ ...message, content: [block], ...stop, usage });
    const start = { ...message, content: [], stop_reason: null, stop_sequence: null, usage };
    const delta = isCall
      ? { type: "input_json_delta", partial_json: JSON.stringify(move.arguments) }
      : { type: "text_delta", text: move.text };
    const events = [
      { type: "message_start", message: start },
      {
        type: "content_block_start",
        index: 0,
        content_block: { ...block, ...(isCall ? { input: {} } : { text: "" }) },
      },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: stop, usage },
      { type: "message_stop" },
    ];
    return asEvents(events, { named: true });
  },
};

const gemini: ModelFormat = {
  name: "gemini",
  takes: (path) => /:(streamGenerateContent|generateContent|countTokens)$/u.test(path),
  read: (body) => ({
    messages: objectsIn(body["contents"]).flatMap(({ role, parts }) =>
      objectsIn(parts).map((part): Message => {
        const { functionCall, functionResponse, text } = part;
        const { name } = objectIn(functionCall);
        if (functionResponse !== undefined) return { role: "other", text: JSON.stringify(functionResponse), calls: [] };
        const calls = typeof name === "string" ? [name] : [];
        return { role: role === "model" ? "assistant" : "user", text: stringIn(text), calls };
      }),
    ),
    tools: objectsIn(body["tools"]).flatMap((tool) =>
      objectsIn(tool["functionDeclarations"]).map((described) =>
        offered(described, described["parametersJsonSchema"] ? "parametersJsonSchema" : "parameters"),
      ),
    ),
  }),
  write: (move, { path }) => {
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
    if (path.endsWith(":countTokens")) return asJson({ totalTokens: usageMetadata.promptTokenCount });
    const part =
      move.kind === "say" ? { text: move.text } : { functionCall: { name: move.name, args: move.arguments } };
    const candidate = { index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" };
    const answer = { candidates: [candidate], usageMetadata };
    return path.endsWith(":generateContent") ? asJson(answer) : asEvents([answer]);
  },
};

export const FORMATS: readonly ModelFormat[] = [chatCompletions, responses, anthropic, gemini];

function offered(tool: JsonObject, schemaField: string): OfferedTool {
  return { name: stringIn(tool["name"]), schema: objectIn(tool[schemaField]) };
}

function roleOf(role: JsonValue | undefined): Message["role"] {
  return role === "user" || role === "assistant" ? role : "other";
}

function asJson(value: JsonValue): WrittenAnswer {
  return { type: "application/json", body: JSON.stringify(value) };
}

/** Server-sent events, each a JSON value; with `named`, its `type` is also the event's name. */
function asEvents(events: readonly JsonObject[], options: { named?: boolean; last?: string } = {}): WrittenAnswer {
  const lines = events.map((event) => {
    const name = options.named ? `event: ${wordOf(event["type"])}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  return { type: "text/event-stream", body: lines.join("") + (options.last ?? "") };
}

/** Text of a content field: a string, or a list of parts that have one. Other parts are kept as JSON. */
function textIn(content: JsonValue | undefined): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : JSON.stringify(part)))
    .join("\n");
}
