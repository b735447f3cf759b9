// The conversation as the model sees it. It is valid at every moment: each tool call is followed by exactly one result.
import type { ContentBlock } from "../base/content.js";
import type { JsonObject } from "../base/json.js";
import type { ModelMessage, ModelToolCall, ModelToolResult } from "../models/index.js";

export class Transcript {
  readonly #messages: ModelMessage[] = [];

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  addUser(content: readonly ContentBlock[]): void {
    this.#messages.push({ role: "user", content });
  }

  /** An answer without tool calls. Providers refuse empty messages, so an empty answer leaves no trace. */
  addAnswer(text: string, providerData?: JsonObject): void {
    if (text === "") return;
    this.#messages.push({ role: "assistant", text, toolCalls: [], ...(providerData ? { providerData } : {}) });
  }

  /** Calls and their results enter together, so that no cancel can leave a call without its result. */
  addCalls(
    answer: { text: string; toolCalls: readonly ModelToolCall[]; providerData?: JsonObject | undefined },
    results: readonly ModelToolResult[],
  ): void {
    const { text, toolCalls, providerData } = answer;
    this.#messages.push({ role: "assistant", text, toolCalls, ...(providerData ? { providerData } : {}) });
    this.#messages.push({ role: "tool", results });
  }
}
