// OpenAI's Chat Completions, which every "openai-compatible" setting speaks.
import type { JsonObject } from "../../../base/json/json.js";
import { objectIn, objectsIn, stringIn } from "../fields.js";
import type { Conversation, Message, Move } from "./conversation.js";
import { asEvents, asJson, type ModelFormat, textIn } from "./format.js";

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

export const chatFormat: ModelFormat = {
  name: "openai chat",
  takes: (path) => path.endsWith("/chat/completions"),
  read,
  write: (move, { body, id }) => {
    const head = { id: `chatcmpl-${id}`, created: 1, model: stringIn(body["model"]) };
    const finish = move.kind === "call" ? "tool_calls" : "stop";
    if (body["stream"] !== true) {
      const message = { role: "assistant", ...said(move, id, {}) };
      const choices = [{ index: 0, message, finish_reason: finish }];
      return asJson({ ...head, object: "chat.completion", choices, usage: USAGE });
    }
    const chunk = (delta: JsonObject, reason: string | null) => ({
      ...head,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    const first = chunk({ role: "assistant", ...said(move, id, { index: 0 }) }, null);
    const last = { ...chunk({}, finish), usage: USAGE };
    return asEvents([first, last], { last: "data: [DONE]\n\n" });
  },
};

function said(move: Move, id: string, extra: JsonObject): JsonObject {
  if (move.kind === "say") return { content: move.text };
  const call = { name: move.name, arguments: JSON.stringify(move.arguments) };
  return { content: null, tool_calls: [{ ...extra, id: `call_${id}`, type: "function", function: call }] };
}

function read(body: JsonObject): Conversation {
  return {
    messages: objectsIn(body["messages"]).map(readMessage),
    tools: objectsIn(body["tools"]).map((tool) => {
      const described = objectIn(tool["function"]);
      return { name: stringIn(described["name"]), schema: objectIn(described["parameters"]) };
    }),
  };
}

function readMessage(message: JsonObject): Message {
  const { role } = message;
  const calls = objectsIn(message["tool_calls"]).map((call) => stringIn(objectIn(call["function"])["name"]));
  return { role: role === "user" || role === "assistant" ? role : "other", text: textIn(message["content"]), calls };
}
