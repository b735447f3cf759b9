// Reads the arguments a model wrote. Whatever is wrong with them becomes words for the model, never a lost turn.
import { isJsonObject, type JsonObject, type JsonValue, parseJson, tooDeepReason } from "../../base/json/json.js";
import { jsonFault } from "./json-fault.js";

export type ReadArguments =
  | { readonly ok: true; readonly arguments: JsonObject }
  | { readonly ok: false; readonly reason: string };

/** What is shown of the text on either side of a fault. */
const EXCERPT_CHARS = 40;

/** Nothing and `null` stand for no arguments: that is how some providers write them. */
export function readArguments(json: string): ReadArguments {
  if (json.trim() === "") return { ok: true, arguments: {} };
  const parsed = parseJson(json);
  return parsed.ok ? asArguments(parsed.value) : { ok: false, reason: faultIn(json, parsed.reason) };
}

/** An object, or one written as a text, as some models and gateways do. */
export function asArguments(value: JsonValue | undefined): ReadArguments {
  if (value === undefined || value === null) return { ok: true, arguments: {} };
  if (isJsonObject(value)) return { ok: true, arguments: value };
  const inner = typeof value === "string" ? parseJson(value) : undefined;
  if (inner?.ok && isJsonObject(inner.value)) return { ok: true, arguments: inner.value };
  if (inner?.ok === false && inner.reason === tooDeepReason()) return inner;
  const found = Array.isArray(value) ? "a list" : `a ${typeof value}`;
  return { ok: false, reason: `the arguments must be a JSON object, and are ${found}` };
}

function faultIn(json: string, reason: string): string {
  const fault = jsonFault(json);
  if (!fault) return `the arguments cannot be used: ${reason}`;
  const before = json.slice(Math.max(0, fault.at - EXCERPT_CHARS), fault.at);
  if (fault.isCutOff) {
    return `the arguments are not valid JSON: they break off after ${fault.at} characters, where ${fault.expected} is missing; they end with ${JSON.stringify(before)}. Send the whole call again, in smaller parts if it was too long`;
  }
  const after = json.slice(fault.at, fault.at + EXCERPT_CHARS);
  return `the arguments are not valid JSON: at character ${fault.at + 1} there should be ${fault.expected}; there is ${JSON.stringify(after)} after ${JSON.stringify(before)}`;
}
