// Puts one entry into a JSON text with comments: nothing else in it changes, not even in an entry that is there already.
import { TenonError } from "../../base/errors.js";
import { canonicalJson, isJsonObject, type JsonValue } from "../../base/json/json.js";
import { parseDocument, setValue } from "../../config/index.js";
import type { FileRecipe } from "./editors.js";

export interface MergedText {
  readonly change: "added" | "updated" | "unchanged";
  readonly text: string;
}

/** Throws `config.invalid` for a text that must be corrected first. */
export function mergedText(
  before: string,
  { path, entry }: Pick<FileRecipe, "path" | "entry">,
  file: string,
): MergedText {
  const document = parseDocument(before);
  const fault = document.problems.find(({ severity }) => severity === "error");
  if (fault && before.trim() !== "") {
    const { line, column } = fault.position;
    throw refusal(`${file}:${line}:${column}: ${fault.message}`, "Correct that first; nothing was written.");
  }
  for (const length of path.keys()) {
    const outer = valueAt(document.value, path.slice(0, length));
    if (outer !== undefined && !isJsonObject(outer)) {
      throw refusal(`${file}: ${path.slice(0, length).join(".") || "it"} is no object`, "Nothing was written.");
    }
  }
  const present = valueAt(document.value, path);
  if (present === undefined) return { change: "added", text: setValue(before, path, entry) };
  if (!isJsonObject(present)) throw refusal(`${file}: ${path.join(".")} is no object`, "Nothing was written.");
  let text = before;
  for (const [key, value] of Object.entries(entry)) {
    const now = present[key];
    // What the person gave it in the environment is theirs.
    if (value === undefined || key === "env") continue;
    // So are the options behind the words that start it.
    if (key === "args" && beginsWith(now, value)) continue;
    if (now === undefined || canonicalJson(now) !== canonicalJson(value)) text = setValue(text, [...path, key], value);
  }
  return { change: text === before ? "unchanged" : "updated", text };
}

function beginsWith(now: JsonValue | undefined, value: JsonValue): boolean {
  return Array.isArray(now) && Array.isArray(value) && value.every((word, index) => now[index] === word);
}

function valueAt(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let found = value;
  for (const key of path) {
    if (!isJsonObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}

function refusal(message: string, hint: string): TenonError {
  return new TenonError("config.invalid", message, { hint });
}
