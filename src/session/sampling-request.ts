// Reads `sampling/createMessage` of a server: what a model is to be asked, or why it cannot be.

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { type ContentBlock, plainText, text } from "../base/text/content.js";
import { markBlock, markForeign } from "../base/text/marking.js";
import type { ModelMessage } from "../models/index.js";
import { SESSION_LIMITS } from "./limits.js";
import type { SamplingMessage } from "./ports.js";

export interface SamplingWish {
  readonly system: string;
  readonly messages: readonly SamplingMessage[];
  /** As the server wants it; what it gets is bounded by the budget. */
  readonly maxTokens: number;
  readonly stopSequences: readonly string[];
}

export type ReadWish =
  | { readonly ok: true; readonly wish: SamplingWish }
  | { readonly ok: false; readonly reason: string };

/**
 * Preferences for models, temperature and context of other servers are wishes a client may pass over, and this one does:
 * the session's model answers, from what is in the request alone.
 */
export function readSamplingWish(params: JsonObject): ReadWish {
  const { messages, systemPrompt, maxTokens, stopSequences, tools } = params;
  if (Array.isArray(tools) && tools.length > 0) return refused("this client offers no tools in sampling");
  if (typeof maxTokens !== "number" || !Number.isInteger(maxTokens) || maxTokens < 1) {
    return refused("maxTokens must be a whole number above 0");
  }
  if (!Array.isArray(messages) || messages.length === 0) return refused("messages must be a list that is not empty");
  const most = SESSION_LIMITS.sampling.messages;
  if (messages.length > most) return refused(`${messages.length} messages are more than the ${most} that are taken`);
  const maxChars = SESSION_LIMITS.sampling.maxChars;
  if (textLength(messages) + (typeof systemPrompt === "string" ? systemPrompt.length : 0) > maxChars)
    return refused(`its text is longer than the ${maxChars} characters that are taken`);
  const read: SamplingMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const found = readMessage(message);
    if (typeof found === "string") return refused(`messages/${index}: ${found}`);
    read.push(found);
  }
  const stops = Array.isArray(stopSequences) ? stopSequences : [];
  return {
    ok: true,
    wish: {
      system: typeof systemPrompt === "string" ? markForeign(systemPrompt) : "",
      messages: read,
      maxTokens,
      stopSequences: stops.filter((stop) => typeof stop === "string" && stop !== ""),
    },
  };
}

/** Messages of one role in a row become one: not every provider takes them apart. */
export function toModelMessages(messages: readonly SamplingMessage[]): ModelMessage[] {
  const joined: { role: SamplingMessage["role"]; content: ContentBlock[] }[] = [];
  for (const { role, content } of messages) {
    const last = joined.at(-1);
    if (last?.role === role) last.content.push(...content);
    else joined.push({ role, content: [...content] });
  }
  return joined.map(({ role, content }) =>
    role === "user" ? { role, content } : { role, text: plainText(content), toolCalls: [] },
  );
}

function textLength(messages: readonly JsonValue[]): number {
  let length = 0;
  for (const message of messages) {
    const content = isJsonObject(message) ? message["content"] : undefined;
    for (const block of Array.isArray(content) ? content : [content]) {
      const words = isJsonObject(block) ? block["text"] : undefined;
      if (typeof words === "string") length += words.length;
    }
  }
  return length;
}

function refused(reason: string): ReadWish {
  return { ok: false, reason };
}

function readMessage(raw: JsonValue): SamplingMessage | string {
  if (!isJsonObject(raw)) return "it is no object";
  const { role, content } = raw;
  if (role !== "user" && role !== "assistant") return 'its role must be "user" or "assistant"';
  const blocks: ContentBlock[] = [];
  for (const block of Array.isArray(content) ? content : [content]) {
    const read = isJsonObject(block) ? readBlock(block) : undefined;
    if (!read) return "its content must be text, image or audio blocks";
    blocks.push(read);
  }
  return blocks.length === 0 ? "it has no content" : { role, content: blocks };
}

/** Marked at once: a person is shown exactly what the model will read. */
function readBlock(block: JsonObject): ContentBlock | undefined {
  const { type, data, mimeType } = block;
  if (type === "text" && typeof block["text"] === "string") return text(markForeign(block["text"]));
  if ((type === "image" || type === "audio") && typeof data === "string" && typeof mimeType === "string") {
    return markBlock({ type, data, mimeType });
  }
  return undefined;
}
