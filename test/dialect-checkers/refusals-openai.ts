// Schemas that OpenAI is known to refuse, frozen: a checker that passes one proves nothing about what passes it.
import { type Case, closed, many, nested, object, rooted, text, wide } from "./cases.js";

export const OPENAI_REFUSALS: readonly Case[] = [
  {
    provider: "openai",
    says: "schema must have type 'object' (GPT_API_free#403)",
    schema: { properties: { p: text } },
  },
  {
    provider: "openai",
    says: "oneOf at the top level (cecli#281)",
    schema: { type: "object", properties: {}, oneOf: [rooted(text)] },
  },
  {
    provider: "openai",
    says: "anyOf at the top level (langchainjs#9804)",
    schema: { type: "object", properties: {}, anyOf: [rooted(text)] },
  },
  {
    provider: "openai",
    says: "allOf at the top level (langchainjs#9804)",
    schema: { type: "object", properties: {}, allOf: [rooted(text)] },
  },
  {
    provider: "openai",
    says: "enum at the top level (langchainjs#9804)",
    schema: { type: "object", properties: {}, enum: [{}] },
  },
  {
    provider: "openai",
    says: "not at the top level (langchainjs#9804)",
    schema: { type: "object", properties: {}, not: {} },
  },
  { provider: "openai", says: "array schema missing items (aichat#1049)", schema: rooted({ type: "array" }) },
  {
    provider: "openai",
    says: "the same inside a list of types (byterover-cli#42)",
    schema: rooted({ type: ["string", "array"] }),
  },
  {
    provider: "openai",
    says: "the same, nested (guMCP#136)",
    schema: rooted({ type: "array", items: { type: "array" } }),
  },
  { provider: "openai", says: "object schema missing properties (spring-ai#4776)", schema: { type: "object" } },
  {
    provider: "openai",
    strict: true,
    says: "additionalProperties (openai-agents-mcp#2)",
    schema: closed(rooted(text)),
  },
  {
    provider: "openai",
    strict: true,
    says: "the same for a nullable object (openai-agents-python#4114)",
    schema: closed({ type: ["object", "null"], properties: { a: text }, required: ["a"] }),
  },
  {
    provider: "openai",
    strict: true,
    says: "required: missing key (mysql-mcp#5)",
    schema: rooted(text, { additionalProperties: false, required: [] }),
  },
  {
    provider: "openai",
    strict: true,
    says: "required: extra key (dotnet/extensions#6302)",
    schema: rooted(text, { additionalProperties: false, required: ["p", "q"] }),
  },
  {
    provider: "openai",
    strict: true,
    says: "'allOf' is not permitted (notion-mcp-server#102)",
    schema: closed({ allOf: [text] }),
  },
  {
    provider: "openai",
    strict: true,
    says: "'oneOf' is not permitted (openai-agents-python#1884)",
    schema: closed({ type: "array", items: { oneOf: [text] } }),
  },
  {
    provider: "openai",
    strict: true,
    says: "'default' is not permitted",
    schema: closed({ type: "string", default: "" }),
  },
  { provider: "openai", strict: true, says: "schema must have a 'type' key (odoo-llm#212)", schema: closed({}) },
  {
    provider: "openai",
    strict: true,
    says: "format 'uri' (Supported schemas)",
    schema: closed({ type: "string", format: "uri" }),
  },
  {
    provider: "openai",
    strict: true,
    says: "minLength (Supported schemas)",
    schema: closed({ type: "string", minLength: 1 }),
  },
  {
    provider: "openai",
    strict: true,
    says: "identical first keys (openai-python#2193)",
    schema: closed({ anyOf: [object("a"), object("a")] }),
  },
  { provider: "openai", strict: true, says: "levels of nesting (ellmer#671; 10 by now)", schema: nested(11) },
  {
    provider: "openai",
    strict: true,
    says: "1000 enum values (Supported schemas)",
    schema: closed({ type: "string", enum: many(1_001, 4) }),
  },
  {
    provider: "openai",
    strict: true,
    says: "15,000 characters in an enum (Supported schemas)",
    schema: closed({ type: "string", enum: many(300, 60) }),
  },
  {
    provider: "openai",
    strict: true,
    says: "5000 properties (Supported schemas)",
    schema: {
      type: "object",
      properties: wide(5_001),
      required: Object.keys(wide(5_001)),
      additionalProperties: false,
    },
  },
];
