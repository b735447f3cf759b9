// Google's generateContent and streamGenerateContent.
import type { JsonObject } from "../../../base/json/json.js";
import { objectIn, objectsIn, stringIn } from "../fields.js";
import type { Conversation, Message } from "./conversation.js";
import { asEvents, asJson, type ModelFormat } from "./format.js";

const USAGE = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

export const geminiFormat: ModelFormat = {
  name: "gemini",
  takes: (path) => /:(streamGenerateContent|generateContent|countTokens)$/u.test(path),
  read: (body): Conversation => ({
    messages: objectsIn(body["contents"]).flatMap(readContent),
    tools: objectsIn(body["tools"]).flatMap((tool) =>
      objectsIn(tool["functionDeclarations"]).map((described) => ({
        name: stringIn(described["name"]),
        schema: objectIn(described["parametersJsonSchema"] ?? described["parameters"]),
      })),
    ),
  }),
  write: (move, { path }) => {
    if (path.endsWith(":countTokens")) return asJson({ totalTokens: USAGE.promptTokenCount });
    const part =
      move.kind === "say" ? { text: move.text } : { functionCall: { name: move.name, args: move.arguments } };
    const candidate = { index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" };
    const answer = { candidates: [candidate], usageMetadata: USAGE };
    return path.endsWith(":generateContent") ? asJson(answer) : asEvents([answer]);
  },
};

function readContent(content: JsonObject): readonly Message[] {
  const { role } = content;
  return objectsIn(content["parts"]).map((part): Message => {
    const call = objectIn(part["functionCall"])["name"];
    const response = part["functionResponse"];
    if (response !== undefined) return { role: "other", text: JSON.stringify(response), calls: [] };
    const calls = typeof call === "string" ? [call] : [];
    return { role: role === "model" ? "assistant" : "user", text: stringIn(part["text"]), calls };
  });
}
