// What pinned arguments and defaults do to the schema a model is shown. The source's own schema stays what is checked.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "../../base/json/json.js";

/** Pinned arguments vanish from the schema: a model cannot get wrong what it does not see. */
export function withoutArguments(schema: JsonSchema, pinned: JsonObject): JsonSchema {
  const names = new Set(Object.keys(pinned));
  if (names.size === 0) return schema;
  return edited(schema, (name, property) => (names.has(name) ? undefined : property), names);
}

/** Arguments with a default are optional, and say what it is. One the schema does not name is sent all the same. */
export function withDefaults(schema: JsonSchema, defaults: JsonObject): JsonSchema {
  const names = new Set(Object.keys(defaults));
  if (names.size === 0) return schema;
  const describe = (name: string, property: JsonValue): JsonValue =>
    names.has(name) && isJsonObject(property) ? { ...property, default: defaults[name] } : property;
  return edited(schema, describe, names);
}

function edited(
  schema: JsonSchema,
  edit: (name: string, property: JsonValue) => JsonValue | undefined,
  optional: ReadonlySet<string>,
): JsonSchema {
  const { properties, required, ...rest } = schema;
  const kept = isJsonObject(properties) ? editedProperties(properties, edit) : properties;
  const needed = Array.isArray(required)
    ? required.filter((name) => typeof name !== "string" || !optional.has(name))
    : undefined;
  return {
    ...rest,
    ...defined({ properties: kept, required: needed === undefined || needed.length === 0 ? undefined : needed }),
  };
}

function editedProperties(
  properties: JsonObject,
  edit: (name: string, property: JsonValue) => JsonValue | undefined,
): JsonObject {
  const pairs: [string, JsonValue][] = [];
  for (const [name, property] of Object.entries(properties)) {
    const next = property === undefined ? undefined : edit(name, property);
    if (next !== undefined) pairs.push([name, next]);
  }
  return Object.fromEntries(pairs);
}
