// A server's words about its tool as a model and a screen may be shown them: nothing hidden, nothing that passes for ours.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.js";
import { markForeign } from "../../base/marking.js";
import type { ToolDefinition } from "../tool.js";

/** Keys whose values a call depends on: what is marked there would no longer be what the server means. */
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "required", "pattern", "$ref"]);
/** Keys under which the keys are names that somebody chose: one called `default` holds a schema like any other. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const WORDS: ReadonlySet<string> = new Set(["description", "title", "$comment"]);

/** The same object when there is nothing to mark, which is nearly always. */
export function markDefinition(definition: ToolDefinition): ToolDefinition {
  const description = markForeign(definition.description);
  const title = definition.title === undefined ? undefined : markForeign(definition.title);
  const inputSchema = markSchema(definition.inputSchema);
  const isSame =
    description === definition.description && title === definition.title && inputSchema === definition.inputSchema;
  return isSame ? definition : { ...definition, description, inputSchema, ...(title === undefined ? {} : { title }) };
}

/** Recursive: how deep a listed schema may be is bounded. */
function markSchema(schema: JsonObject): JsonObject {
  return edited(schema, (key, value) => {
    if (VALUES.has(key)) return value;
    if (typeof value === "string") return WORDS.has(key) ? markForeign(value) : value;
    if (isJsonObject(value)) return NAMED.has(key) ? edited(value, (_, one) => markItem(one)) : markSchema(value);
    return Array.isArray(value) ? markList(value) : value;
  });
}

function markList(items: readonly JsonValue[]): readonly JsonValue[] {
  const marked = items.map((item) => markItem(item) ?? item);
  return marked.every((item, index) => item === items[index]) ? items : marked;
}

function markItem(value: JsonValue | undefined): JsonValue | undefined {
  return isJsonObject(value) ? markSchema(value) : value;
}

function edited(
  object: JsonObject,
  edit: (key: string, value: JsonValue | undefined) => JsonValue | undefined,
): JsonObject {
  const pairs = Object.entries(object).map(([key, value]): [string, JsonValue | undefined] => [key, edit(key, value)]);
  return pairs.every(([key, value]) => value === object[key]) ? object : Object.fromEntries(pairs);
}
