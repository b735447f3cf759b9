// The conversation as the model sees it. It is valid at every moment: each tool call is followed by exactly one result.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { JsonObject } from "../base/json/json.js";
import { text } from "../base/text/content.js";
import type { MarkedContent } from "../base/text/marking.js";
import type { ModelMessage, ModelToolCall, ModelToolResult } from "../models/index.js";

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

  /** One listener, the journal. Called when the change is done. */
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
    const { text: words, toolCalls, providerData } = answer;
    this.#add({ role: "assistant", text: words, toolCalls, ...defined({ providerData }) }, { role: "tool", results });
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

/**
 * In words, one for each fault; none for a conversation that any provider takes. The rules: it begins with the person;
 * person and model alternate; each answer with calls is followed by exactly one result for each, in their order, and
 * those by the model again; nothing is empty.
 */
export function transcriptProblems(messages: readonly ModelMessage[]): readonly string[] {
  return messages.flatMap((message, index) => {
    const problems = [...placeProblems(message, messages[index - 1]), ...contentProblems(message, messages[index + 1])];
    return problems.map((problem) => `message ${index} (${message.role}): ${problem}`);
  });
}

function placeProblems({ role }: ModelMessage, before: ModelMessage | undefined): readonly string[] {
  const isAnswer = before?.role === "assistant";
  const isPlaced = {
    user: before === undefined || (isAnswer && before.toolCalls.length === 0),
    assistant: before !== undefined && !isAnswer,
    tool: isAnswer && before.toolCalls.length > 0,
  };
  return isPlaced[role] ? [] : [`it follows ${wordsFor(before)}`];
}

function wordsFor(message: ModelMessage | undefined): string {
  if (message === undefined) return "nothing";
  if (message.role !== "assistant") return `a ${message.role} message`;
  return message.toolCalls.length === 0 ? "an answer" : "an answer with calls";
}

function contentProblems(message: ModelMessage, next: ModelMessage | undefined): readonly string[] {
  switch (message.role) {
    case "user":
      return message.content.length === 0 ? ["it is empty"] : [];
    case "assistant":
      if (message.toolCalls.length === 0) return message.text.trim() === "" ? ["it is empty"] : [];
      return next?.role === "tool" ? pairProblems(message.toolCalls, next.results) : ["its calls have no results"];
    case "tool":
      return message.results.some(({ content }) => content.length === 0) ? ["a result is empty"] : [];
  }
}

function pairProblems(calls: readonly ModelToolCall[], results: readonly ModelToolResult[]): readonly string[] {
  const asked = calls.map(({ callId }) => callId);
  const answered = results.map(({ callId }) => callId);
  if (new Set(asked).size < asked.length) return ["two of its calls have the same id"];
  if (asked.length === answered.length && asked.every((callId, index) => callId === answered[index])) return [];
  return [`its calls ${asked.join(", ")} have the results ${answered.join(", ") || "of none"}`];
}
