// OpenAI's Responses.
import type { JsonObject } from "../../../base/json/json.js";
import { objectIn, objectsIn, stringIn } from "../fields.js";
import type { Conversation, Message, Move } from "./conversation.js";
import { asEvents, asJson, type ModelFormat, textIn } from "./format.js";

const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};

export const responsesFormat: ModelFormat = {
  name: "openai responses",
  takes: (path) => path.endsWith("/responses"),
  read,
  write: (move, { body, id }) => {
    const item = itemOf(move, id);
    const base = { id: `resp_${id}`, object: "response", created_at: 1, model: stringIn(body["model"]) };
    const whole = { ...base, status: "completed", output: [item], usage: USAGE };
    if (body["stream"] !== true) return asJson(whole);
    const events: JsonObject[] = [
      { type: "response.created", response: { ...base, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: begun(item) },
      ...deltas(move, stringIn(item["id"])),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: whole },
    ];
    return asEvents(
      events.map((event, sequence) => ({ ...event, sequence_number: sequence })),
      { named: true },
    );
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

function begun(item: JsonObject): JsonObject {
  const empty = item["type"] === "message" ? { content: [] } : { arguments: "" };
  return { ...item, status: "in_progress", ...empty };
}

function deltas(move: Move, itemId: string): readonly JsonObject[] {
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

function read(body: JsonObject): Conversation {
  const { input } = body;
  const spoken: readonly Message[] = typeof input === "string" ? [{ role: "user", text: input, calls: [] }] : [];
  return {
    messages: [...spoken, ...objectsIn(input).map(readItem)],
    tools: objectsIn(body["tools"]).flatMap((tool) =>
      tool["type"] === "function" ? [{ name: stringIn(tool["name"]), schema: objectIn(tool["parameters"]) }] : [],
    ),
  };
}

function readItem(item: JsonObject): Message {
  if (item["type"] === "function_call") return { role: "assistant", text: "", calls: [stringIn(item["name"])] };
  if (item["type"] === "function_call_output") return { role: "other", text: textIn(item["output"]), calls: [] };
  const { role } = item;
  return { role: role === "user" || role === "assistant" ? role : "other", text: textIn(item["content"]), calls: [] };
}
