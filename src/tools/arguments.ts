// Reads the arguments a model wrote. Whatever is wrong with them becomes words for the model, never a lost turn.
import { isJsonObject, type JsonObject, parseJson } from "../base/json.js";
import type { ToolDefinition } from "./tool.js";

export type ReadArguments =
  | { readonly ok: true; readonly arguments: JsonObject }
  | { readonly ok: false; readonly reason: string };

export function readArguments(json: string, definition: ToolDefinition): ReadArguments {
  const parsed = parseJson(json.trim() === "" ? "{}" : json);
  if (!parsed.ok) return { ok: false, reason: `the arguments are not valid JSON: ${parsed.reason}` };
  if (!isJsonObject(parsed.value)) return { ok: false, reason: "the arguments must be a JSON object" };
  const given = parsed.value;
  const required = definition.inputSchema["required"];
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const missing = names.filter((name) => !Object.hasOwn(given, name));
  if (missing.length > 0) return { ok: false, reason: `required arguments are missing: ${missing.join(", ")}` };
  return { ok: true, arguments: given };
}
