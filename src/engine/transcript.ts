// The conversation as the model sees it. It is valid at every moment: each tool call is followed by exactly one result.

import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import { text } from "../base/text/content.js";
import type { MarkedContent } from "../base/text/marking.js";
import type { ModelMessage, ModelToolCall, ModelToolResult } from "../models/index.js";
import { transcriptProblems } from "./transcript-check.js";

/** Where a turn left nothing to read. In brackets of its own kind: a model may copy what it seems to have said itself. */
export const NO_ANSWER = "[no answer was given]";

/** How it changed, in a form from which it can be made again. `cut`: this many messages are left. */
export type TranscriptChange =
  | { readonly kind: "added"; readonly messages: readonly ModelMessage[] }
  | { readonly kind: "cut"; readonly length: number }
  /** A call of the last turn, which lasted longer than it, has its result now: it takes the place of the earlier one. */
  | { readonly kind: "resolved"; readonly result: ModelToolResult }
  | { readonly kind: "replaced"; readonly before: readonly ModelMessage[]; readonly after: readonly ModelMessage[] };

export class Transcript {
  #messages: ModelMessage[] = [];
  #compactions = 0;
  #onChange: (change: TranscriptChange) => void = () => {};

  /** Of a session that is taken up again. Throws for messages no provider would take. */
  static from(messages: readonly ModelMessage[], compactions = 0): Transcript {
    const transcript = new Transcript();
    transcript.replace(messages);
    transcript.#compactions = compactions;
    return transcript;
  }

  /** One listener: whoever keeps a record of it. Called when the change is done. */
  listen(onChange: (change: TranscriptChange) => void): void {
    this.#onChange = onChange;
  }

  get messages(): readonly ModelMessage[] {
    return this.#messages;
  }

  /** The prompt of a new turn. A turn before it that ended without a word gets one: some models take only alternating roles. */
  addUser(content: MarkedContent): void {
    this.endTurn(NO_ANSWER);
    this.#add({ role: "user", content: content.length === 0 ? [text("(empty message)")] : content });
  }

  /** An answer without tool calls. Providers refuse empty messages, so an empty answer leaves no trace. */
  addAnswer(words: string, providerData?: JsonObject): void {
    if (words.trim() === "") return;
    this.#add({ role: "assistant", text: words, toolCalls: [], ...defined({ providerData }) });
  }

  /** Calls and their results enter together, so that no cancel can leave a call without its result. */
  addCalls(
    answer: { text: string; toolCalls: readonly ModelToolCall[]; providerData?: JsonObject | undefined },
    results: readonly ModelToolResult[],
  ): void {
    const { toolCalls, providerData } = answer;
    const data = providerData ? { providerData } : {};
    this.#add({ role: "assistant", text: answer.text, toolCalls, ...data }, { role: "tool", results });
  }

  /** A turn that was broken off ends with a word on it, so that the model's part of it is not missing. */
  endTurn(note: string): void {
    const last = this.#messages.at(-1);
    if (last === undefined || (last.role === "assistant" && last.toolCalls.length === 0)) return;
    this.addAnswer(note);
  }

  /** Forgets the last prompt and everything after it: a provider that refused it would refuse every prompt that follows. */
  dropTurn(): void {
    const prompt = this.#messages.findLastIndex(({ role }) => role === "user");
    if (prompt === -1) return;
    this.#messages.length = prompt;
    this.#onChange({ kind: "cut", length: prompt });
  }

  /** False when the call is not of the last turn: then the model has gone on without its result, and has to be told of it. */
  resolve(result: ModelToolResult): boolean {
    const after = resolved(this.#messages, result);
    if (!after) return false;
    this.#messages = [...after];
    this.#onChange({ kind: "resolved", result });
    return true;
  }

  /** What compaction made of it, or, to undo that, what was there before. Throws for messages no provider would take. */
  replace(messages: readonly ModelMessage[]): void {
    const [problem] = transcriptProblems(messages);
    if (problem !== undefined) throw new TenonError("internal", `the conversation cannot be replaced: ${problem}`);
    const before = this.#messages;
    this.#messages = [...messages];
    this.#onChange({ kind: "replaced", before, after: messages });
  }

  /** Unique within the session. */
  nextCompactionId(): string {
    this.#compactions += 1;
    return `compaction-${this.#compactions}`;
  }

  #add(...messages: readonly ModelMessage[]): void {
    this.#messages.push(...messages);
    this.#onChange({ kind: "added", messages });
  }
}

/** The messages with another result for a call of the last turn; undefined when that has no such call. */
export function resolved(
  messages: readonly ModelMessage[],
  result: ModelToolResult,
): readonly ModelMessage[] | undefined {
  const prompt = messages.findLastIndex(({ role }) => role === "user");
  let isFound = false;
  const after = messages.map((message, index): ModelMessage => {
    if (index < prompt || message.role !== "tool") return message;
    if (!message.results.some(({ callId }) => callId === result.callId)) return message;
    isFound = true;
    return { role: "tool", results: message.results.map((one) => (one.callId === result.callId ? result : one)) };
  });
  return isFound ? after : undefined;
}
