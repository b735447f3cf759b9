// How full a model's window is: the estimate, corrected by what the model's provider really counted.
import { LIMITS } from "../base/limits.js";
import { type ContentBlock, plainText } from "../base/text/content.js";
import type { Model, ModelMessage, ModelRequest, ModelTool } from "../models/index.js";

interface Learnt {
  /** Real tokens for each estimated one. */
  factor: number;
  /** The provider refused this many, so the window is smaller. */
  windowTokens?: number;
}

/** Of shorter prompts the frame is most, which says nothing about text. */
const MIN_LEARNT_TOKENS = 500;
/** Beyond these the provider does not count tokens of the prompt: some report 0, or only what is new. */
const MIN_RATIO = 0.3;
const MAX_RATIO = 4;
/** No model that takes tools has less: what is refused below it was refused for another reason. */
const MIN_WINDOW_TOKENS = 2_048;

export class TokenMeter {
  readonly #learnt = new Map<string, Learnt>();

  /** Tokens of prompt and answer together that the model takes. */
  windowOf(model: Model): number {
    const known = model.abilities?.contextTokens ?? LIMITS.context.unknownTokens;
    return Math.min(known, this.#learnt.get(model.id)?.windowTokens ?? known);
  }

  /** The prompt tokens at which the conversation is to be compacted: a long answer must fit as well. */
  budgetOf(model: Model): number {
    const window = this.windowOf(model);
    const answer = model.abilities?.maxOutputTokens ?? 0;
    return Math.floor(Math.max(window / 2, Math.min(window * LIMITS.context.compactAt, window - answer)));
  }

  tokensOf(model: Model, request: Pick<ModelRequest, "system" | "messages" | "tools">): number {
    return Math.ceil(rawTokens(request) * this.#factorOf(model));
  }

  /** Of something that is a part of a prompt. */
  messagesTokens(model: Model, messages: ModelRequest["messages"]): number {
    return this.tokensOf(model, { system: "", messages, tools: [] });
  }

  /** The provider counted the prompt. */
  learn(model: Model, request: Pick<ModelRequest, "system" | "messages" | "tools">, inputTokens: number): void {
    const raw = rawTokens(request);
    const ratio = inputTokens / raw;
    if (raw < MIN_LEARNT_TOKENS || !(ratio >= MIN_RATIO && ratio <= MAX_RATIO)) return;
    const learnt = this.#of(model);
    learnt.factor = (learnt.factor + ratio) / 2;
  }

  /** The provider refused the prompt as too long. */
  overflowed(model: Model, request: Pick<ModelRequest, "system" | "messages" | "tools">): void {
    const refused = this.tokensOf(model, request);
    if (refused < this.windowOf(model)) this.#of(model).windowTokens = Math.max(refused, MIN_WINDOW_TOKENS);
  }

  #factorOf(model: Model): number {
    return this.#learnt.get(model.id)?.factor ?? 1;
  }

  #of(model: Model): Learnt {
    let learnt = this.#learnt.get(model.id);
    if (!learnt) {
      learnt = { factor: 1 };
      this.#learnt.set(model.id, learnt);
    }
    return learnt;
  }
}

function rawTokens({ system, messages, tools }: Pick<ModelRequest, "system" | "messages" | "tools">): number {
  let tokens = textTokens(system);
  for (const message of messages) tokens += messageTokens(message);
  for (const tool of tools) tokens += toolTokens(tool);
  return tokens;
}

/** Tokens a character, by script: English prose has 4.2 characters a token, JSON and code about 3, Cyrillic 2.2, Chinese 1. */
const LOWERCASE = 1 / 4;
const UPPERCASE = 1 / 3;
const DIGIT = 1 / 2.5;
const SIGN = 1 / 2;
const EXTENDED_LATIN = 1 / 2.5;
const OTHER_ALPHABET = 1 / 2;
const IDEOGRAPH = 1;

/** Role, separators and ids around every message, call and result. */
const FRAME_TOKENS = 8;
/** A picture as providers scale it down; sounds and documents by their bytes. */
const IMAGE_TOKENS = 1_600;
const AUDIO_BYTES_PER_TOKEN = 500;
const DOCUMENT_BYTES_PER_TOKEN = 30;

export function textTokens(text: string): number {
  let tokens = 0;
  for (let index = 0; index < text.length; index++) tokens += weightOf(text.charCodeAt(index));
  return Math.ceil(tokens);
}

function weightOf(code: number): number {
  if ((code >= 0x61 && code <= 0x7a) || code === 0x20) return LOWERCASE;
  if (code >= 0x41 && code <= 0x5a) return UPPERCASE;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  if (code < 0x80) return SIGN;
  if (code < 0x250) return EXTENDED_LATIN;
  // From here on ideographs, syllables and halves of surrogate pairs: a picture character is two tokens.
  return code < 0x2e80 ? OTHER_ALPHABET : IDEOGRAPH;
}

const known = new WeakMap<ModelMessage | ModelTool, number>();

/** Messages and tools never change, so each is counted once. */
export function messageTokens(message: ModelMessage): number {
  let tokens = known.get(message);
  if (tokens === undefined) {
    tokens = FRAME_TOKENS + countMessage(message);
    known.set(message, tokens);
  }
  return tokens;
}

export function toolTokens(tool: ModelTool): number {
  let tokens = known.get(tool);
  if (tokens === undefined) {
    const { name, description, inputSchema } = tool;
    tokens = FRAME_TOKENS + textTokens(name) + textTokens(description) + textTokens(JSON.stringify(inputSchema));
    known.set(tool, tokens);
  }
  return tokens;
}

function countMessage(message: ModelMessage): number {
  switch (message.role) {
    case "user":
      return contentTokens(message.content);
    case "assistant": {
      const { text, toolCalls, providerData } = message;
      const calls = toolCalls.map(
        ({ name, argumentsJson }) => FRAME_TOKENS + textTokens(name) + textTokens(argumentsJson),
      );
      return textTokens(text) + sum(calls) + (providerData ? textTokens(JSON.stringify(providerData)) : 0);
    }
    case "tool":
      return sum(message.results.map(({ content }) => FRAME_TOKENS + contentTokens(content)));
  }
}

function contentTokens(content: readonly ContentBlock[]): number {
  return sum(content.map((block) => blockTokens(block)));
}

function blockTokens(block: ContentBlock): number {
  if (block.type === "image") return IMAGE_TOKENS;
  if (block.type === "audio") return Math.ceil((block.data.length * 0.75) / AUDIO_BYTES_PER_TOKEN);
  if (block.type === "resource" && block.blob !== undefined) {
    return Math.max(IMAGE_TOKENS, Math.ceil((block.blob.length * 0.75) / DOCUMENT_BYTES_PER_TOKEN));
  }
  return textTokens(plainText([block]));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
