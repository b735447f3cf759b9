// What every provider wants of a conversation, the strictest of them included, as a check anyone can run.
import type { ModelMessage, ModelToolCall, ModelToolResult } from "../models/index.js";

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

function placeProblems(message: ModelMessage, before: ModelMessage | undefined): readonly string[] {
  switch (message.role) {
    case "user":
      return before === undefined || isWholeAnswer(before) ? [] : [`it follows ${wordsFor(before)}`];
    case "assistant":
      return before !== undefined && before.role !== "assistant" ? [] : [`it follows ${wordsFor(before)}`];
    case "tool":
      return before?.role === "assistant" && before.toolCalls.length > 0 ? [] : [`it follows ${wordsFor(before)}`];
  }
}

function isWholeAnswer(message: ModelMessage): boolean {
  return message.role === "assistant" && message.toolCalls.length === 0;
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
