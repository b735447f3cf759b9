// The offline model: deterministic, needs nothing. It turns the last user message into tool calls and reports their results.
import { base64Bytes, type ContentBlock, plainText } from "../../base/text/content.js";
import { isUrl } from "../../base/text/url.js";
import type {
  Model,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelTool,
  ModelToolCall,
  ModelToolResult,
  ModelUsage,
} from "../model.js";
import { INTRODUCTION } from "./explain.js";
import { bareName } from "./parameters.js";
import {
  callOf,
  foundIn,
  isSearch,
  isStartingNote,
  isWait,
  plan,
  searchCall,
  toolbox,
  underOwnName,
  waitCall,
} from "./plan.js";

/** It has no window: it looks at the last prompt and what came after it. */
const ABILITIES = {
  contextTokens: Number.POSITIVE_INFINITY,
  images: false,
  audio: false,
  pdf: false,
  thinking: [],
} as const;

export const offlineModel: Model = { id: "offline/operator", abilities: ABILITIES, stream };

interface Reply {
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

function answer(request: ModelRequest): Reply {
  const { messages, tools } = request;
  const introduction = messages.some((message) => message.role === "assistant") ? [] : [INTRODUCTION];
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  const prompt = messages[lastUser];
  const { own, searching } = toolbox(messages, tools, lastUser);
  const said = [...introduction, ...reports(messages)];
  const content = prompt?.role === "user" ? prompt.content : [];
  const wanted = requestText(content);
  const steps = prompt?.role === "user" ? plan(wanted, own, searching) : [];
  // Searches come before the plan stands. From then on every step made one call, so the results tell how far it has come.
  const results = messages.slice(lastUser + 1).flatMap((message) => (message.role === "tool" ? message.results : []));
  const done = results.filter((result) => !isSearch(result) && !isWait(result));
  const step = steps[done.length];
  if (step === undefined) {
    if (said.length === 0) said.push("There is nothing more to do.");
    return { text: said.join("\n\n") };
  }
  const latest = messages.at(-1);
  if (
    latest?.role === "tool" &&
    latest.results.some((result) => result.isError && !isSearch(result) && !isWait(result))
  ) {
    const left = steps.length - done.length;
    return { text: [...said, `I stopped there; ${left} of ${steps.length} steps were not run.`].join("\n\n") };
  }
  const callId = `offline-${callsSoFar(messages) + 1}`;
  if (step.kind === "explain") {
    const note = content.find((block) => block.type === "text" && isStartingNote(block.text));
    const isWorthIt = note?.type === "text" && !step.isAsked && tools.some(isWait);
    const wait = isWorthIt ? waitCall(note.text, wanted, messages.slice(lastUser), callId) : undefined;
    if (wait) return { text: said.map((part) => `${part}\n\n`).join(""), call: wait };
    return { text: [...said, step.text].join("\n\n") };
  }
  const call =
    step.kind === "search" ? searchCall(step.query, callId) : callOf(step.tool, step.arguments, callId, searching);
  // What comes after the call is shown below this text, not behind it.
  return { text: said.map((part) => `${part}\n\n`).join(""), call };
}

function reports(messages: readonly ModelMessage[]): string[] {
  const latest = messages.at(-1);
  if (latest?.role !== "tool") return [];
  const told = latest.results.filter((result) => !isWait(result) || result.isError);
  return told.map((result) =>
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
          return isStartingNote(block.text) ? "" : block.text;
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
  if (!uri.startsWith("file://") || !isUrl(uri)) return uri;
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

// Tool results in plain sentences.

/** What is repeated of a long text: the person sees the whole of it with the call itself. */
const TEXT_MAX_CHARS = 8_000;

export function report(result: ModelToolResult): string {
  const name = bareName(result.name);
  const { texts, unseen } = withoutMediaNotes(result.content);
  const others = [...result.content.flatMap((block) => sentence(block) ?? []), ...unseen];
  const said =
    texts.length === 0 ? [] : [`${name} ${result.isError ? "failed" : "answered"}:${shown(texts.join("\n"))}`];
  if (said.length === 0 && (result.isError || others.length === 0)) {
    said.push(result.isError ? `${name} failed and did not say why.` : `${name} finished and returned nothing.`);
  }
  return [...said, ...others.map((other) => other.replace("It", said.length === 0 ? name : "It"))].join("\n");
}

/** Tenon's note in place of a picture or sound is for models that work on with it: the person is told in plain words. */
function withoutMediaNotes(content: readonly ContentBlock[]): Record<"texts" | "unseen", readonly string[]> {
  const unseen: string[] = [];
  const texts = content.flatMap((block) => {
    if (block.type !== "text") return [];
    const text = block.text.replaceAll(MEDIA_NOTE, (_, kind: string, type: string, bytes: string) => {
      unseen.push(`It returned ${MEDIA_WORDS[kind] ?? "data"} (${type}, ${size(Number(bytes))}).`);
      return "";
    });
    return text.trim() === "" ? [] : [text];
  });
  return { texts, unseen };
}

const MEDIA_NOTE =
  /^\[tenon: (image|audio|document|data) "([^"]*)"(?: of the resource "[^\n]*")?, (\d+) bytes: .*\]\n?/gmu;
const MEDIA_WORDS: Readonly<Record<string, string>> = { image: "an image", audio: "a sound", document: "a document" };

function reportSearch(found: readonly ModelTool[]): string {
  if (found.length === 0) return "I searched for other tools and found none that fits.";
  return `I searched for other tools and found ${found.map(({ name }) => bareName(name)).join(", ")}.`;
}

/** On the same line when it is one, otherwise below. */
function shown(text: string): string {
  const trimmed = text.trim();
  const rest = trimmed.length - TEXT_MAX_CHARS;
  const kept = rest > 0 ? `${trimmed.slice(0, TEXT_MAX_CHARS)}\n… and ${rest} more characters.` : trimmed;
  return kept.includes("\n") ? `\n\n${kept}\n` : ` ${kept}`;
}

function sentence(block: ContentBlock): string | undefined {
  switch (block.type) {
    case "text":
      return undefined;
    case "image":
      return `It returned an image (${block.mimeType}, ${size(base64Bytes(block.data))}).`;
    case "audio":
      return `It returned a sound (${block.mimeType}, ${size(base64Bytes(block.data))}).`;
    case "resource": {
      const type = block.mimeType === undefined ? "" : `${block.mimeType}, `;
      if (block.text !== undefined) return `It returned the resource ${block.uri}:${shown(block.text)}`;
      return `It returned the resource ${block.uri} (${type}${size(base64Bytes(block.blob ?? ""))}).`;
    }
    case "resource_link": {
      const told = block.description === undefined ? "" : `: ${block.description}`;
      return `It points to ${block.title ?? block.name} (${block.uri})${told}`;
    }
    case "spilled":
      return `It returned ${block.kind} of ${size(block.bytes)}, kept in ${block.path}:${shown(block.preview)}`;
    case "unknown":
      return `It returned content of a kind I cannot show ("${block.kind}").`;
  }
}

function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
