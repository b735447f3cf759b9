// Schemas from the providers' own documentation, which a checker must let through.
import { type Case, closed, object, rooted, text } from "./cases.js";

export const ACCEPTED: readonly Case[] = [
  {
    provider: "anthropic",
    says: "get_weather (Define tools)",
    schema: {
      type: "object",
      properties: {
        location: { type: "string", description: "The city and state" },
        unit: { type: "string", enum: ["celsius", "fahrenheit"] },
      },
      required: ["location"],
    },
  },
  {
    provider: "anthropic",
    strict: true,
    says: "get_weather (Strict tool use)",
    schema: {
      type: "object",
      properties: { location: text, unit: { type: "string", enum: ["celsius"] } },
      required: ["location"],
      additionalProperties: false,
    },
  },
  {
    provider: "openai",
    says: "a tool without strict",
    schema: {
      type: "object",
      properties: { location: { type: "string" }, days: { type: "array", items: {} } },
      required: [],
    },
  },
  {
    provider: "openai",
    strict: true,
    says: "get_weather with an optional unit (Function calling)",
    schema: {
      type: "object",
      properties: { location: text, units: { type: ["string", "null"], enum: ["celsius", "fahrenheit"] } },
      required: ["location", "units"],
      additionalProperties: false,
    },
  },
  {
    provider: "openai",
    strict: true,
    says: "anyOf of two objects (Supported schemas)",
    schema: closed({ anyOf: [object("name"), object("number")] }),
  },
  {
    provider: "gemini",
    says: "set_light_values (Function calling)",
    schema: {
      type: "object",
      properties: {
        brightness: { type: "integer", description: "0 to 100" },
        color_temp: { type: "string", enum: ["daylight", "cool", "warm"] },
      },
      required: ["brightness", "color_temp"],
    },
  },
  {
    provider: "gemini",
    says: "a list of objects (gemini-rust#39)",
    schema: rooted({
      type: "array",
      items: {
        type: "object",
        properties: { n: { type: "number", format: "float", nullable: true } },
        required: ["n"],
      },
    }),
  },
  { provider: "gemini", says: "a declaration without parameters", schema: undefined },
  { provider: "openai-compatible", says: "a plain tool", schema: rooted({ anyOf: [text, { type: "null" }] }) },
];
