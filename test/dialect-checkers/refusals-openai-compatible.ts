// Schemas that one or another server of OpenAI's protocol is known to refuse, frozen: a checker that passes one proves nothing about what passes it.
import { type Case, rooted, text } from "./cases.js";

export const OPENAI_COMPATIBLE_REFUSALS: readonly Case[] = [
  {
    provider: "openai-compatible",
    says: "array schema missing items (mcp-filesystem-server#23)",
    schema: rooted({ type: "array" }),
  },
  {
    provider: "openai-compatible",
    says: "type beside anyOf (MoonshotAI/kimi-code#2661)",
    schema: rooted({ type: "object", properties: {}, anyOf: [rooted(text)] }),
  },
  {
    provider: "openai-compatible",
    says: "pattern (llama.cpp#25746)",
    schema: rooted({ type: "string", pattern: "\\S" }),
  },
  {
    provider: "openai-compatible",
    says: "repetitions (llama.cpp#17473)",
    schema: rooted({ type: "string", maxLength: 10_000 }),
  },
  {
    provider: "openai-compatible",
    says: "no type at the root (MiqroForge-Desktop#1165)",
    schema: { properties: { p: text } },
  },
];
