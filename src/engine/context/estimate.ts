// How many tokens something is likely to be, without a tokenizer: by the scripts it is written in. Rather too many than too few.
import { type ContentBlock, plainText } from "../../base/text/content.js";
import type { ModelMessage, ModelTool } from "../../models/index.js";

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
