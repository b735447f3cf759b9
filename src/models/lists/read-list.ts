// The model lists of providers, read leniently: each server adds to the same few fields in its own way.

import { unreachable } from "../../base/brand.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { KnownAbilities, ModelPrice, ThinkingLevel } from "../abilities.js";

/** `openai` is what compatible servers speak too, and add to. */
export type ListFormat = "anthropic" | "openai" | "gemini";

export interface ListedModel {
  /** At the provider. */
  readonly name: string;
  readonly title?: string;
  readonly abilities: KnownAbilities;
}

export interface ListPage {
  readonly models: readonly ListedModel[];
  /** What to add to the address for the rest. */
  readonly next?: Readonly<Record<string, string>>;
}

export function readList(format: ListFormat, body: JsonValue): ListPage {
  switch (format) {
    case "anthropic":
      return anthropicPage(body);
    case "gemini":
      return geminiPage(body);
    case "openai":
      return { models: entries(body, "data").flatMap((entry) => openaiModel(entry)) };
    default:
      return unreachable(format);
  }
}

function anthropicPage(body: JsonValue): ListPage {
  const models = entries(body, "data").flatMap((entry): ListedModel[] => {
    const name = text(entry["id"]);
    if (name === undefined) return [];
    const can = object(entry["capabilities"]);
    const thinks = flag(object(can["thinking"])["supported"]);
    return [
      named(name, text(entry["display_name"]), {
        contextTokens: count(entry["max_input_tokens"]),
        maxOutputTokens: count(entry["max_tokens"]),
        images: flag(object(can["image_input"])["supported"]),
        pdf: flag(object(can["pdf_input"])["supported"]),
        thinking: thinks === undefined ? undefined : thinks ? ALL : [],
      }),
    ];
  });
  const last = isJsonObject(body) && body["has_more"] === true ? text(body["last_id"]) : undefined;
  return last === undefined ? { models } : { models, next: { after_id: last } };
}

const ALL: readonly ThinkingLevel[] = ["off", "low", "medium", "high"];
const ON: readonly ThinkingLevel[] = ["low", "medium", "high"];

function geminiPage(body: JsonValue): ListPage {
  const models = entries(body, "models").flatMap((entry): ListedModel[] => {
    const name = text(entry["name"])?.replace(/^models\//, "");
    const methods = entry["supportedGenerationMethods"];
    if (name === undefined || (Array.isArray(methods) && !methods.includes("generateContent"))) return [];
    const thinks = flag(entry["thinking"]);
    return [
      named(name, text(entry["displayName"]), {
        contextTokens: count(entry["inputTokenLimit"]),
        maxOutputTokens: count(entry["outputTokenLimit"]),
        thinking: thinks === undefined ? undefined : thinks ? ["low", "high"] : [],
      }),
    ];
  });
  const token = isJsonObject(body) ? text(body["nextPageToken"]) : undefined;
  return token === undefined ? { models } : { models, next: { pageToken: token } };
}

/** OpenRouter, vLLM, Groq, Mistral, LM Studio, llama.cpp, Together: what they add, by the names they add it under. */
function openaiModel(entry: JsonObject): ListedModel[] {
  const name = text(entry["id"]) ?? text(entry["name"]);
  if (name === undefined) return [];
  const top = object(entry["top_provider"]);
  const can = object(entry["capabilities"]);
  const inputs = object(entry["architecture"])["input_modalities"];
  const takes = (kind: string): boolean | undefined => (Array.isArray(inputs) ? inputs.includes(kind) : undefined);
  const parameters = entry["supported_parameters"];
  const context = [
    entry["loaded_context_length"],
    top["context_length"],
    entry["context_length"],
    entry["context_window"],
    entry["max_model_len"],
    entry["max_context_length"],
    object(entry["meta"])["n_ctx"],
  ];
  return [
    named(name, name === text(entry["name"]) ? undefined : text(entry["name"]), {
      contextTokens: context.flatMap((value) => count(value) ?? [])[0],
      maxOutputTokens: count(top["max_completion_tokens"]) ?? count(entry["max_completion_tokens"]),
      images: takes("image") ?? flag(can["vision"]),
      audio: takes("audio"),
      pdf: takes("file"),
      thinking: Array.isArray(parameters) && parameters.includes("reasoning") ? ON : undefined,
      price: priceOf(object(entry["pricing"])),
    }),
  ];
}

/** OpenRouter's: dollars per token, as texts. */
function priceOf(pricing: JsonObject): ModelPrice | undefined {
  const perMTok = (value: JsonValue | undefined): number | undefined => {
    const amount = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
    return amount >= 0 && Number.isFinite(amount) ? Math.round(amount * 1e12) / 1e6 : undefined;
  };
  const input = perMTok(pricing["prompt"]);
  const output = perMTok(pricing["completion"]);
  if (input === undefined || output === undefined) return undefined;
  const cacheRead = perMTok(pricing["input_cache_read"]);
  const cacheWrite = perMTok(pricing["input_cache_write"]);
  return {
    inputPerMTok: input,
    outputPerMTok: output,
    ...defined({ cacheReadPerMTok: cacheRead, cacheWritePerMTok: cacheWrite }),
  };
}

function named(name: string, title: string | undefined, abilities: KnownAbilities): ListedModel {
  return { name, ...defined({ title }), abilities };
}

/** Some servers answer with the bare list. */
function entries(body: JsonValue, key: string): readonly JsonObject[] {
  const list: JsonValue | undefined = isJsonObject(body) ? body[key] : body;
  if (!Array.isArray(list)) return [];
  const values: readonly JsonValue[] = list;
  return values.filter((entry) => isJsonObject(entry));
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function flag(value: JsonValue | undefined): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
