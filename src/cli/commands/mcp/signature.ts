// One tool as people read it: its signature, each argument with type and meaning, and the command that calls it.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";
import type { McpTool } from "../../../mcp/index.js";
import type { CommandContext } from "../../context.js";
import { displayWidth, visible, visibleLine, wrapText } from "../../terminal/text.js";
import type { InspectedTool } from "./inspect.js";
import { shellWord } from "./next-steps.js";

/** Schemas may refer to themselves; deeper types are named, not written out. */
const MOST_DEPTH = 3;
const MOST_CHOICES = 12;
/** Types that are looked at for one signature: a few that refer to each other make millions. */
const MOST_TYPES = 1_000;

/** Where `$ref` looks, and how many types may still be looked at. */
interface Reading {
  readonly whole: JsonObject;
  left: number;
}

export function signatureLines(
  server: string,
  { tool, tokens }: InspectedTool,
  { palette, columns }: Pick<CommandContext, "palette" | "columns">,
): readonly string[] {
  const fields = fieldsOf(tool.inputSchema);
  const hints = hintTexts(tool);
  const title = tool.title === undefined ? "" : `  ${visibleLine(tool.title)}`;
  return [
    palette.bold(visibleLine(`${server}/${tool.name}`)) + palette.dim(`${title}  about ${tokens} tokens`),
    ...visible(tool.description)
      .split("\n")
      .flatMap((line) => wrapText(line, columns)),
    "",
    `${palette.cyan(visibleLine(tool.name))}(${fields.map(fieldText).join(", ")})${resultText(tool)}`,
    ...(fields.length === 0 ? [] : ["", ...fieldLines(fields, columns, palette.dim)]),
    ...(hints.length === 0 ? [] : ["", palette.dim(`The server says: ${hints.join(", ")}.`)]),
    "",
    palette.dim(`tenon mcp call ${shellWord(server)} ${shellWord(tool.name)}${exampleWords(fields)}`),
  ];
}

interface Field {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly about: string;
}

function fieldsOf(schema: JsonObject): readonly Field[] {
  const { properties, required } = schema;
  const needed: readonly JsonValue[] = Array.isArray(required) ? required : [];
  const entries = Object.entries(isJsonObject(properties) ? properties : {});
  const reading: Reading = { whole: schema, left: MOST_TYPES };
  return entries
    .map(([name, field]) => ({
      name: visibleLine(name),
      type: typeText(field, reading, 0),
      isRequired: needed.includes(name),
      about: aboutText(field),
    }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

function fieldText({ name, type, isRequired }: Field): string {
  return `${name}${isRequired ? "" : "?"}: ${type}`;
}

function fieldLines(fields: readonly Field[], columns: number, dim: (text: string) => string): readonly string[] {
  const names = Math.max(...fields.map(({ name }) => displayWidth(name)));
  const indent = " ".repeat(names + 4);
  return fields.flatMap(({ name, type, isRequired, about }) => {
    const head = `  ${name}${" ".repeat(names - displayWidth(name))}  ${type}${dim(isRequired ? ", required" : "")}`;
    const lines = about === "" ? [] : wrapText(about, Math.max(30, columns - indent.length));
    return [head, ...lines.map((line) => `${indent}${dim(line)}`)];
  });
}

function aboutText(field: JsonValue | undefined): string {
  if (!isJsonObject(field)) return "";
  const { description, default: usual } = field;
  const text = typeof description === "string" ? visibleLine(description) : "";
  const unless = usual === undefined ? "" : `Unless given: ${visibleLine(JSON.stringify(usual))}.`;
  return [text, unless].filter((part) => part !== "").join(" ");
}

/** As TypeScript would write it. */
function typeText(schema: JsonValue | undefined, reading: Reading, depth: number): string {
  if (reading.left === 0) return "…";
  reading.left -= 1;
  if (schema === true || !isJsonObject(schema)) return "any";
  const { $ref, const: only, enum: choices, anyOf, oneOf, type, items, properties } = schema;
  if (typeof $ref === "string") return referredText($ref, reading, depth);
  if (only !== undefined) return visibleLine(JSON.stringify(only));
  if (Array.isArray(choices)) {
    const shown = choices.slice(0, MOST_CHOICES).map((choice) => visibleLine(JSON.stringify(choice)));
    return [...shown, ...(choices.length > MOST_CHOICES ? ["…"] : [])].join(" | ");
  }
  const branches: readonly JsonValue[] | undefined = Array.isArray(anyOf)
    ? anyOf
    : Array.isArray(oneOf)
      ? oneOf
      : undefined;
  if (branches) return [...new Set(branches.map((branch) => typeText(branch, reading, depth)))].join(" | ");
  if (Array.isArray(type)) return type.map((one) => typeText({ ...schema, type: one }, reading, depth)).join(" | ");
  if (type === "array") {
    const item = typeText(items, reading, depth);
    return item.includes(" ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  }
  if (type === "object" || properties !== undefined) return objectText(schema, reading, depth);
  return typeof type === "string" ? visibleLine(type) : "any";
}

function objectText(schema: JsonObject, reading: Reading, depth: number): string {
  const { properties, required } = schema;
  if (!isJsonObject(properties) || depth >= MOST_DEPTH) return "object";
  const needed: readonly JsonValue[] = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties).map(([name, field]) => {
    return `${visibleLine(name)}${needed.includes(name) ? "" : "?"}: ${typeText(field, reading, depth + 1)}`;
  });
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

function referredText(reference: string, reading: Reading, depth: number): string {
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/u.exec(reference) ?? [];
  const defined = place === undefined ? undefined : reading.whole[place];
  const found = isJsonObject(defined) && name !== undefined && Object.hasOwn(defined, name) ? defined[name] : undefined;
  if (found === undefined || depth >= MOST_DEPTH) return visibleLine(name ?? "any");
  return typeText(found, reading, depth + 1);
}

function resultText({ outputSchema }: McpTool): string {
  return outputSchema === undefined ? "" : `: ${typeText(outputSchema, { whole: outputSchema, left: MOST_TYPES }, 0)}`;
}

function hintTexts({ annotations = {} }: McpTool): readonly string[] {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const said = (hint: boolean | undefined, yes: string, no: string) => (hint === undefined ? [] : [hint ? yes : no]);
  return [
    ...said(readOnlyHint, "it only reads", "it may change things"),
    ...said(destructiveHint, "it may destroy what is there", "it only adds"),
    ...said(idempotentHint, "calling it twice does no more than once", "each call has an effect of its own"),
    ...said(openWorldHint, "it reaches beyond its own data", "it stays within its own data"),
  ];
}

function exampleWords(fields: readonly Field[]): string {
  const needed = fields.filter(({ isRequired }) => isRequired);
  return needed.map(({ name, type }) => ` ${shellWord(name)}=${type.startsWith("{") ? "'{…}'" : "…"}`).join("");
}
