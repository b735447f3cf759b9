// A server's tool definition as a model and a screen may be shown it: nothing hidden, nothing that passes for Tenon's words.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import { markExactly, markForeign } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ToolDefinition } from "../tool.js";

export interface MarkedDefinition {
  /** The same object when there is nothing to mark, which is nearly always. */
  readonly definition: ToolDefinition;
  /** Arguments by the marked schema, with the server's own names and values put back. */
  readonly toOwn: (args: JsonObject) => JsonObject;
}

export function markDefinition(definition: ToolDefinition): MarkedDefinition {
  if (hasNothingToMark(definition)) return { definition, toOwn: asItIs };
  const marker = new SchemaMarker();
  const description = markForeign(cut(definition.description, TOOL_LIMITS.descriptionMaxChars));
  const title =
    definition.title === undefined ? undefined : markForeign(cut(definition.title, LIMITS.shownNameMaxChars));
  const inputSchema = marker.schema(definition.inputSchema);
  const isSame =
    description === definition.description && title === definition.title && inputSchema === definition.inputSchema;
  const marked = { ...definition, description, inputSchema, ...defined({ title }) };
  return { definition: isSame ? definition : marked, toOwn: (args) => marker.toOwn(args) };
}

function asItIs(args: JsonObject): JsonObject {
  return args;
}

/** Any other character may have to be marked, or may be a mark that has to be told from ours: bracket and backslash too. */
const MAY_NEED_MARK = /[^\n\t\x20-\x5a\x5d-\x7e]/;

/** A quick look, without making anything. True of most. */
function hasNothingToMark({ description, title = "", inputSchema }: ToolDefinition): boolean {
  if (description.length > TOOL_LIMITS.descriptionMaxChars || title.length > LIMITS.shownNameMaxChars) return false;
  return !MAY_NEED_MARK.test(description) && !MAY_NEED_MARK.test(title) && needsNoMark(inputSchema, 0);
}

function needsNoMark(value: JsonValue | undefined, depth: number): boolean {
  if (typeof value === "string") return value.length <= TOOL_LIMITS.descriptionMaxChars && !MAY_NEED_MARK.test(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth > MAX_DEPTH) return false;
  if (!isJsonObject(value)) return value.every((item) => needsNoMark(item, depth + 1));
  return Object.entries(value).every(([key, field]) => !MAY_NEED_MARK.test(key) && needsNoMark(field, depth + 1));
}

function cut(words: string, maxChars: number): string {
  return words.length > maxChars ? `${words.slice(0, maxChars)}…` : words;
}

/** Keys whose own keys are freely chosen names: one called `default` holds a schema like any other. */
const NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Keys whose values are data that a call may repeat. */
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "example"]);
/** Keys whose values are names of properties. */
const NAMES: ReadonlySet<string> = new Set(["required", "dependentRequired", "dependencies"]);
const WORDS: ReadonlySet<string> = new Set(["description", "title", "$comment"]);

/** Arguments are no deeper: what lies below is passed on as it is. */
const MAX_DEPTH = 256;

/** Recursive: how deep a listed schema may be is bounded. */
class SchemaMarker {
  /** From the marked name of a property to the server's own. */
  readonly #names = new Map<string, string>();
  readonly #values = new Map<string, string>();

  schema(schema: JsonObject): JsonObject {
    return edited(schema, (key, value) => {
      if (NAMED.has(key)) return [this.#name(key), this.#named(value)];
      // Regular expressions say nothing to a model once they are marked; the server's own schema is what is checked.
      if (key === "pattern") return isPlainValue(value) ? [key, value] : undefined;
      if (key === "patternProperties") return [key, this.#patterns(value)];
      if (DATA.has(key)) return [key, this.#data(value)];
      if (NAMES.has(key)) return [key, this.#namesIn(value)];
      if (WORDS.has(key) && typeof value === "string") {
        return [key, markForeign(cut(value, TOOL_LIMITS.descriptionMaxChars))];
      }
      if (WORDS.has(key)) return [key, this.#inside(value)];
      return [markExactly(key), this.#inside(value)];
    });
  }

  toOwn(args: JsonObject): JsonObject {
    if (this.#names.size === 0 && this.#values.size === 0) return args;
    const own = this.#own(args, 0);
    return isJsonObject(own) ? own : args;
  }

  #own(value: JsonValue, depth: number): JsonValue {
    if (typeof value === "string") return this.#values.get(value) ?? value;
    if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
    if (!isJsonObject(value)) return value.map((item) => this.#own(item, depth + 1));
    const pairs = Object.entries(value).map(([key, field]): [string, JsonValue | undefined] => [
      this.#names.get(key) ?? key,
      field === undefined ? undefined : this.#own(field, depth + 1),
    ]);
    return Object.fromEntries(pairs);
  }

  #inside(value: JsonValue): JsonValue {
    if (typeof value === "string") return markExactly(value);
    if (isJsonObject(value)) return this.schema(value);
    return Array.isArray(value) ? editedList(value, (item) => this.#inside(item)) : value;
  }

  #named(value: JsonValue): JsonValue {
    if (!isJsonObject(value)) return this.#inside(value);
    return edited(value, (name, schema) => [this.#name(name), this.#inside(schema)]);
  }

  #patterns(value: JsonValue): JsonValue {
    if (!isJsonObject(value)) return this.#inside(value);
    return edited(value, (pattern, schema) => (isPlainValue(pattern) ? [pattern, this.#inside(schema)] : undefined));
  }

  /** `dependencies` of old schemas holds names or schemas. */
  #namesIn(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.#name(value);
    if (Array.isArray(value)) return editedList(value, (item) => this.#namesIn(item));
    if (!isJsonObject(value)) return value;
    return edited(value, (name, inside) => [
      this.#name(name),
      isJsonObject(inside) ? this.schema(inside) : this.#namesIn(inside),
    ]);
  }

  #data(value: JsonValue): JsonValue {
    if (typeof value === "string") return this.#kept(this.#values, value);
    if (Array.isArray(value)) return editedList(value, (item) => this.#data(item));
    return isJsonObject(value) ? edited(value, (key, field) => [this.#name(key), this.#data(field)]) : value;
  }

  #name(name: string): string {
    return this.#kept(this.#names, name);
  }

  #kept(own: Map<string, string>, text: string): string {
    const marked = markExactly(text);
    if (marked !== text) own.set(marked, text);
    return marked;
  }
}

function isPlainValue(value: JsonValue): boolean {
  return typeof value !== "string" || markForeign(value) === value;
}

function editedList(items: readonly JsonValue[], edit: (item: JsonValue) => JsonValue): readonly JsonValue[] {
  const changed = items.map((item) => edit(item));
  return changed.every((item, index) => item === items[index]) ? items : changed;
}

/** A pair that is left out is taken away. */
function edited(
  object: JsonObject,
  edit: (key: string, value: JsonValue) => readonly [string, JsonValue] | undefined,
): JsonObject {
  let isSame = true;
  const pairs: (readonly [string, JsonValue])[] = [];
  for (const [key, value] of Object.entries(object)) {
    const pair = value === undefined ? undefined : edit(key, value);
    if (pair?.[0] !== key || pair[1] !== value) isSame = false;
    if (pair) pairs.push(pair);
  }
  return isSame ? object : Object.fromEntries(pairs);
}
