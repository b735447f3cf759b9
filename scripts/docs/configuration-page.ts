// docs/reference/configuration.md, from the schema of configuration files.
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../src/base/json/json.js";
import { configJsonSchema } from "../../src/config/layers/schema.js";
import { cell, code, page, table } from "./markdown.js";

export function configurationPage(): string {
  const schema = parseObject(JSON.stringify(configJsonSchema())) ?? {};
  const properties = fieldsOf(schema);
  const servers = isJsonObject(properties["mcpServers"]) ? properties["mcpServers"]["additionalProperties"] : undefined;
  const kinds = isJsonObject(servers) && Array.isArray(servers["anyOf"]) ? servers["anyOf"].filter(isJsonObject) : [];
  const rest = Object.entries(properties).filter(([name]) => name !== "mcpServers");
  const intro = [
    "Keys of your own `config.json` (`$XDG_CONFIG_HOME/tenon/config.json`, or `$TENON_HOME/config.json`) and of a project's",
    "`.tenon/config.json`; a project's `.mcp.json` has `mcpServers` only. JSON with comments and trailing commas.",
    "[`schema/config.schema.json`](../../schema/config.schema.json) completes it in editors.",
  ];
  const body = [
    "## Values",
    "",
    ...keyTable(rest.flatMap(([name, value]) => rowsOf(name, value))),
    ...kinds.flatMap((kind) => [
      `## mcpServers.NAME: ${String(titleOf(kind)).toLowerCase()}`,
      "",
      ...keyTable(Object.entries(fieldsOf(kind)).flatMap(([name, value]) => rowsOf(name, value))),
    ]),
  ];
  return page("Configuration", intro, body);
}

function keyTable(rows: readonly (readonly string[])[]): readonly string[] {
  return table(["key", "takes", "what it does"], rows);
}

function fieldsOf(schema: JsonObject): JsonObject {
  return isJsonObject(schema["properties"]) ? schema["properties"] : {};
}

function titleOf({ title }: JsonObject): string {
  return typeof title === "string" ? title : "a server";
}

/** A key, and those below it: `permissions.mode`, `tools.NAME.include`, `permissions.rules[].effect`. */
function rowsOf(name: string, schema: JsonValue | undefined): readonly (readonly string[])[] {
  if (!isJsonObject(schema)) return [];
  const { description } = schema;
  const own = [code(name), cell(takes(schema)), cell(typeof description === "string" ? description : "")];
  return [own, ...below(name, schema)];
}

function below(name: string, schema: JsonObject): readonly (readonly string[])[] {
  const fields = Object.entries(fieldsOf(schema)).flatMap(([key, value]) => rowsOf(`${name}.${key}`, value));
  const { additionalProperties, items, anyOf } = schema;
  const named = isJsonObject(additionalProperties) ? below(`${name}.NAME`, additionalProperties) : [];
  const listed = isJsonObject(items) ? below(`${name}[]`, items) : [];
  const either = Array.isArray(anyOf) ? anyOf.filter(isJsonObject).flatMap((one) => below(name, one)) : [];
  return [...fields, ...named, ...listed, ...either];
}

function takes(schema: JsonObject): string {
  const { type, enum: choices, const: only, anyOf, items, additionalProperties } = schema;
  if (Array.isArray(choices)) return choices.map((choice) => code(JSON.stringify(choice))).join(", ");
  if (only !== undefined) return code(JSON.stringify(only));
  if (Array.isArray(anyOf)) return anyOf.filter(isJsonObject).map(takes).join(" or ");
  if (type === "array") return `list of ${isJsonObject(items) ? takes(items) : "anything"}`;
  if (type === "object" && isJsonObject(additionalProperties)) return `object: name to ${takes(additionalProperties)}`;
  if (type === "integer" || type === "number") return range(schema);
  return typeof type === "string" ? type : "anything";
}

function range({ type, minimum, maximum }: JsonObject): string {
  const [from, to] = [minimum, maximum].map((bound) => (typeof bound === "number" ? String(bound) : ""));
  const kind = typeof type === "string" ? type : "number";
  return from === "" && to === "" ? kind : `${kind}, ${from} to ${to}`;
}
