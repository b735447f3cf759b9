// The offline model: deterministic, needs nothing. It turns the last user message into tool calls and reports their results.
import { type ContentBlock, plainText } from "../../base/text/content.js";
import type { Model, ModelEvent, ModelMessage, ModelRequest, ModelToolCall, ModelUsage } from "../model.js";
import { INTRODUCTION } from "./explain.js";
import { plan } from "./plan.js";
import { report, reportSearch } from "./report.js";
import { callOf, foundIn, isSearch, searchCall, toolbox, underOwnName } from "./search.js";

/** It has no window: it looks at the last prompt and what came after it. */
const ABILITIES = { contextTokens: 1_000_000_000, images: false, audio: false, pdf: false, thinking: [] } as const;

export const offlineModel: Model = { id: "offline/operator", abilities: ABILITIES, stream };

interface Answer {
  readonly text: string;
  readonly call?: ModelToolCall;
}

async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
  signal.throwIfAborted();
  const { text, call } = answer(request);
  for (const piece of pieces(text)) {
    signal.throwIfAborted();
    yield { kind: "text", text: piece };
  }
  signal.throwIfAborted();
  if (call !== undefined) yield { kind: "tool_call", call };
  const reason = call === undefined ? "stop" : "tool_calls";
  yield { kind: "finish", reason, usage: estimateUsage(request, text, call) };
}

function answer(request: ModelRequest): Answer {
  const { messages, tools } = request;
  const introduction = messages.some((message) => message.role === "assistant") ? [] : [INTRODUCTION];
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[lastUser];
  const { own, searching } = toolbox(messages, tools, lastUser);
  const said = [...introduction, ...reports(messages)];
  const steps = prompt?.role === "user" ? plan(requestText(prompt.content), own, searching) : [];
  // Searches come before the plan stands. From then on every step made one call, so the results tell how far it has come.
  const results = messages.slice(lastUser + 1).flatMap((message) => (message.role === "tool" ? message.results : []));
  const done = results.filter((result) => !isSearch(result));
  const step = steps[done.length];
  if (step === undefined) {
    if (said.length === 0) said.push("There is nothing more to do.");
    return { text: said.join("\n\n") };
  }
  const latest = messages.at(-1);
  if (latest?.role === "tool" && latest.results.some((result) => result.isError && !isSearch(result))) {
    const left = steps.length - done.length;
    return { text: [...said, `I stopped there; ${left} of ${steps.length} steps were not run.`].join("\n\n") };
  }
  if (step.kind === "explain") return { text: [...said, step.text].join("\n\n") };
  const callId = `offline-${callsSoFar(messages) + 1}`;
  const call =
    step.kind === "search" ? searchCall(step.query, callId) : callOf(step.tool, step.arguments, callId, searching);
  // What comes after the call is shown below this text, not behind it.
  return { text: said.map((part) => `${part}\n\n`).join(""), call };
}

function reports(messages: readonly ModelMessage[]): string[] {
  const latest = messages.at(-1);
  if (latest?.role !== "tool") return [];
  return latest.results.map((result) =>
    isSearch(result) && !result.isError ? reportSearch(foundIn(result)) : report(underOwnName(result, messages)),
  );
}

function callsSoFar(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + (message.role === "assistant" ? message.toolCalls.length : 0), 0);
}

/** The words of a prompt. Files that a client attached count as their path, not as their text. */
function requestText(content: readonly ContentBlock[]): string {
  return content
    .map((block) => {
      switch (block.type) {
        case "text":
          return block.text;
        case "resource":
        case "resource_link":
          return quoted(pathOf(block.uri));
        case "image":
        case "audio":
        case "spilled":
        case "unknown":
          return "";
      }
    })
    .join(" ")
    .trim();
}

function pathOf(uri: string): string {
  if (!uri.startsWith("file://") || !URL.canParse(uri)) return uri;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    // A stray % makes a file URI that cannot be decoded; it is then used as it is.
    return new URL(uri).pathname;
  }
}

/** So that a path with spaces stays one value. */
function quoted(path: string): string {
  return /\s/.test(path) ? `"${path}"` : path;
}

/** The text line by line and sentence by sentence, so that clients show it as it comes. Joined, they are the text again. */
function pieces(text: string): string[] {
  return text.match(/[^\n]*?(?:[.!?:](?=\s)\s+|\n+|$)/g)?.filter((piece) => piece !== "") ?? [];
}

/** About four characters a token: nothing is billed, but clients show the number. */
function estimateUsage(request: ModelRequest, text: string, call: ModelToolCall | undefined): ModelUsage {
  const input = request.messages.reduce((sum, message) => sum + charsOf(message), request.system.length);
  const output = text.length + (call === undefined ? 0 : call.name.length + call.argumentsJson.length);
  return { inputTokens: Math.ceil(input / 4), outputTokens: Math.ceil(output / 4) };
}

function charsOf(message: ModelMessage): number {
  switch (message.role) {
    case "user":
      return plainText(message.content).length;
    case "assistant":
      return message.text.length + message.toolCalls.reduce((sum, call) => sum + call.argumentsJson.length, 0);
    case "tool":
      return message.results.reduce((sum, result) => sum + plainText(result.content).length, 0);
  }
}
