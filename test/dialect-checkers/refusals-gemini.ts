// Schemas that Gemini is known to refuse, frozen: a checker that passes one proves nothing about what passes it.
import { type Case, deep, rooted, text } from "./cases.js";

export const GEMINI_REFUSALS: readonly Case[] = [
  { provider: "gemini", says: 'unknown name "$schema" (CLIProxyAPI#97)', schema: rooted(text, { $schema: "x" }) },
  { provider: "gemini", says: 'unknown name "const" (zed#44875)', schema: rooted({ type: "string", const: "x" }) },
  {
    provider: "gemini",
    says: 'unknown name "propertyNames" (code_puppy#923)',
    schema: rooted({ type: "object", properties: { a: text }, propertyNames: text }),
  },
  {
    provider: "gemini",
    says: 'unknown name "additionalProperties" (cuplivo#506)',
    schema: rooted(text, { additionalProperties: false }),
  },
  {
    provider: "gemini",
    says: 'unknown name "exclusiveMinimum"',
    schema: rooted({ type: "number", exclusiveMinimum: 0 }),
  },
  { provider: "gemini", says: 'unknown name "$ref"', schema: rooted({ $ref: "#/$defs/a" }, { $defs: { a: text } }) },
  { provider: "gemini", says: 'unknown name "oneOf"', schema: rooted({ oneOf: [text] }) },
  {
    provider: "gemini",
    says: "a list of types (google_workspace_mcp#1099)",
    schema: rooted({ type: ["string", "null"] }),
  },
  {
    provider: "gemini",
    says: "items: missing field (opensquilla#1263)",
    schema: rooted({ type: "array", items: { type: "array" } }),
  },
  {
    provider: "gemini",
    says: "properties: only allowed for OBJECT (opencode#11889)",
    schema: rooted({ type: "string", properties: { a: text } }),
  },
  {
    provider: "gemini",
    says: "required: property is not defined (AIStudioToAPI#154)",
    schema: rooted(text, { required: ["q"] }),
  },
  {
    provider: "gemini",
    says: "required in any_of (home-generative-agent#525)",
    schema: rooted({ anyOf: [{ required: ["a"] }] }),
  },
  {
    provider: "gemini",
    says: "properties: should be non-empty (langchain-google#416)",
    schema: { type: "object", properties: {} },
  },
  {
    provider: "gemini",
    says: "format: only 'enum' and 'date-time' (gemini-cli#5450)",
    schema: rooted({ type: "string", format: "uri" }),
  },
  {
    provider: "gemini",
    says: "enum: only allowed for STRING (directus#27100)",
    schema: rooted({ type: "integer", enum: ["1"] }),
  },
  {
    provider: "gemini",
    says: "enum: invalid value (azure-devops-mcp#139)",
    schema: rooted({ type: "string", enum: [0, 2] }),
  },
  {
    provider: "gemini",
    says: "enum: cannot be empty (ha-claude#32)",
    schema: rooted({ type: "string", enum: ["a", ""] }),
  },
  {
    provider: "gemini",
    says: "enum format without values (kibana#286302)",
    schema: rooted({ type: "string", format: "enum", enum: [] }),
  },
  { provider: "gemini", says: "type: must be specified (LibreChat#6971)", schema: rooted({ description: "x" }) },
  {
    provider: "gemini",
    says: "any_of must be the only field (opencode#14659)",
    schema: rooted({ type: "string", anyOf: [text] }),
  },
  { provider: "gemini", says: "nesting depth (gemini-cli#5923)", schema: rooted(deep(40)) },
];
