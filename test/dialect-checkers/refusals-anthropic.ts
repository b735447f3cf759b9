// Schemas that Anthropic is known to refuse, frozen: a checker that passes one proves nothing about what passes it.
import { type Case, closed, rooted, text, wide } from "./cases.js";

export const ANTHROPIC_REFUSALS: readonly Case[] = [
  {
    provider: "anthropic",
    says: "anyOf at the top level (claude-code#5319)",
    schema: { type: "object", anyOf: [rooted(text)] },
  },
  {
    provider: "anthropic",
    says: "oneOf at the top level (claude-code#5319)",
    schema: { type: "object", oneOf: [rooted(text)] },
  },
  {
    provider: "anthropic",
    says: "allOf at the top level (claude-code#5319)",
    schema: { type: "object", allOf: [rooted(text)] },
  },
  { provider: "anthropic", says: "input_schema.type: field required", schema: { properties: { p: text } } },
  { provider: "anthropic", says: "type must be object", schema: { type: "string" } },
  {
    provider: "anthropic",
    says: "$ref anywhere (Self-hosted sandboxes)",
    schema: rooted({ $ref: "#/$defs/a" }, { $defs: { a: text } }),
  },
  {
    provider: "anthropic",
    says: "property keys: brackets (appstore-connect-mcp#2)",
    schema: { type: "object", properties: { "filter[id]": text } },
  },
  {
    provider: "anthropic",
    says: "property keys: $ and @ (ComposioHQ/composio#3500)",
    schema: { type: "object", properties: { $top: text } },
  },
  {
    provider: "anthropic",
    says: "property keys: over 64 characters (ComposioHQ/composio#3067)",
    schema: { type: "object", properties: { ["k".repeat(65)]: text } },
  },
  {
    provider: "anthropic",
    says: "not draft 2020-12: items as a list (kintone/mcp-server#553)",
    schema: rooted({ type: "array", items: [text] }),
  },
  {
    provider: "anthropic",
    says: "not draft 2020-12: exclusiveMinimum as a boolean",
    schema: rooted({ type: "number", minimum: 0, exclusiveMinimum: true }),
  },
  {
    provider: "anthropic",
    says: "not draft 2020-12: required as a boolean",
    schema: rooted({ type: "string", required: true }),
  },
  { provider: "anthropic", says: "not draft 2020-12: a type of its own", schema: rooted({ type: "any" }) },
  {
    provider: "anthropic",
    says: "patternProperties (openclaw/openclaw#29416)",
    schema: rooted({ type: "object", patternProperties: { "^(.*)$": {} } }),
  },
  {
    provider: "anthropic",
    says: "propertyNames (can1357/oh-my-pi#1107)",
    schema: rooted({ type: "object", propertyNames: text }),
  },
  {
    provider: "anthropic",
    strict: true,
    says: "additionalProperties must be false (vercel/ai#20681)",
    schema: rooted(text),
  },
  { provider: "anthropic", strict: true, says: "the same, nested (vercel/ai#20681)", schema: closed(rooted(text)) },
  {
    provider: "anthropic",
    strict: true,
    says: "minimum, maximum (earendil-works/pi#9953)",
    schema: closed({ type: "integer", minimum: 1, maximum: 9 }),
  },
  {
    provider: "anthropic",
    strict: true,
    says: "minLength (Structured outputs)",
    schema: closed({ type: "string", minLength: 1 }),
  },
  {
    provider: "anthropic",
    strict: true,
    says: "minItems above 1 (Structured outputs)",
    schema: closed({ type: "array", items: text, minItems: 2 }),
  },
  {
    provider: "anthropic",
    strict: true,
    says: "complex enums (Structured outputs)",
    schema: closed({ type: "object", properties: {}, additionalProperties: false, enum: [{ a: 1 }] }),
  },
  {
    provider: "anthropic",
    strict: true,
    says: "24 optional parameters (Structured outputs)",
    schema: { type: "object", properties: wide(25), additionalProperties: false },
  },
];
