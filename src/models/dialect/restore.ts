// Arguments a model wrote to a compiled schema, as the tool's own schema wants them.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { Written } from "./write.js";

/** Deeper arguments are left as they are: no schema is that deep. */
const MAX_DEPTH = 80;

/** Nothing when the form left all names as they were and made nothing nullable. */
export function restorer(written: Written): ((args: JsonValue) => JsonValue) | undefined {
  if (written.names.isEmpty && written.nullables.size === 0) return undefined;
  return (args) => restore(args, written.schema, written, 0);
}

function restore(value: JsonValue, schema: JsonValue | undefined, written: Written, depth: number): JsonValue {
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return value;
  const form = formFor(value, schema);
  if (!isJsonObject(value)) {
    const items = form?.["items"];
    return value.map((item) => restore(item, items, written, depth + 1));
  }
  const properties = isJsonObject(form?.["properties"]) ? form["properties"] : {};
  const nullables = form === undefined ? undefined : written.nullables.get(form);
  const entries: [string, JsonValue][] = [];
  for (const key of Object.keys(value)) {
    const field = value[key];
    // A null that stands for "left out" in the strict form would be no valid value in the tool's own.
    if (field === undefined || (field === null && nullables?.has(key) === true)) continue;
    const inside = Object.hasOwn(properties, key) ? properties[key] : form?.["additionalProperties"];
    entries.push([written.names.original(key) ?? key, restore(field, inside, written, depth + 1)]);
  }
  // Not by assignment: one of the names may be `__proto__`.
  return Object.fromEntries(entries);
}

/** Of several forms the one the value was written to: the first that has all its keys and fits its fixed values. */
function formFor(value: readonly JsonValue[] | JsonObject, schema: JsonValue | undefined): JsonObject | undefined {
  if (!isJsonObject(schema)) return undefined;
  const { anyOf } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const forms = anyOf.map((form) => formFor(value, form)).filter((form) => form !== undefined);
  return forms.find((form) => isFitting(value, form)) ?? forms.find((form) => isKind(value, form));
}

function isKind(value: readonly JsonValue[] | JsonObject, form: JsonObject): boolean {
  const kind = Array.isArray(value) ? "array" : "object";
  const { type } = form;
  return type === undefined || type === kind || (Array.isArray(type) && type.includes(kind));
}

function isFitting(value: readonly JsonValue[] | JsonObject, form: JsonObject): boolean {
  if (!isKind(value, form)) return false;
  if (!isJsonObject(value)) return true;
  const { properties } = form;
  if (!isJsonObject(properties)) return true;
  return Object.keys(value).every((key) => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const field = value[key];
    if (!isJsonObject(property)) return false;
    return !Array.isArray(property["enum"]) || typeof field === "object" || property["enum"].includes(field);
  });
}
