// Anthropic's Messages.
import type { JsonObject } from "../../../base/json/json.js";
import { objectIn, objectsIn, stringIn } from "../fields.js";
import type { Conversation, Message, Move } from "./conversation.js";
import { asEvents, asJson, type ModelFormat, textIn } from "./format.js";

const USAGE = { input_tokens: 10, output_tokens: 5 };

export const anthropicFormat: ModelFormat = {
  name: "anthropic messages",
  takes: (path) => /\/messages(\/count_tokens)?$/u.test(path),
  read: (body): Conversation => ({
    messages: objectsIn(body["messages"]).flatMap(readMessage),
    tools: objectsIn(body["tools"]).map((tool) => ({
      name: stringIn(tool["name"]),
      schema: objectIn(tool["input_schema"]),
    })),
  }),
  write: (move, { body, path, id }) => {
    if (path.endsWith("/count_tokens")) return asJson({ input_tokens: USAGE.input_tokens });
    const block = blockOf(move, id);
    const stop = move.kind === "call" ? "tool_use" : "end_turn";
    const message = { id: `msg_${id}`, type: "message", role: "assistant", model: stringIn(body["model"]) };
    if (body["stream"] !== true) {
      return asJson({ ...message, content: [block], stop_reason: stop, stop_sequence: null, usage: USAGE });
    }
    const start = { ...message, content: [], stop_reason: null, stop_sequence: null, usage: USAGE };
    const delta =
      move.kind === "say"
        ? { type: "text_delta", text: move.text }
        : { type: "input_json_delta", partial_json: JSON.stringify(move.arguments) };
    const empty = move.kind === "say" ? { ...block, text: "" } : { ...block, input: {} };
    return asEvents(
      [
        { type: "message_start", message: start },
        { type: "content_block_start", index: 0, content_block: empty },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: USAGE },
        { type: "message_stop" },
      ],
      { named: true },
    );
  },
};

function blockOf(move: Move, id: string): JsonObject {
  if (move.kind === "say") return { type: "text", text: move.text };
  return { type: "tool_use", id: `toolu_${id}`, name: move.name, input: move.arguments };
}

/** Tool results come in the user's messages here; they are not what a person wrote. */
function readMessage(message: JsonObject): readonly Message[] {
  const { role, content } = message;
  if (typeof content === "string") return [{ role: roleOf(role), text: content, calls: [] }];
  return objectsIn(content).map((block): Message => {
    if (block["type"] === "tool_result") return { role: "other", text: textIn(block["content"]), calls: [] };
    const calls = block["type"] === "tool_use" ? [stringIn(block["name"])] : [];
    return { role: roleOf(role), text: stringIn(block["text"]), calls };
  });
}

function roleOf(role: unknown): Message["role"] {
  return role === "user" || role === "assistant" ? role : "other";
}
