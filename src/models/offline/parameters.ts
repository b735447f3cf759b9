// A tool's JSON Schema as a flat list of parameters that words can be matched to. Reads any schema, however malformed.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { ModelTool } from "../model.js";
import { stem, stems, words } from "./words.js";

export type ValueKind = "string" | "number" | "integer" | "boolean" | "array" | "object" | "any";

/** What kind of text a string parameter wants. */
export type TextRole = "path" | "pattern" | "url" | "plain";

export interface ValueShape {
  readonly kind: ValueKind;
  /** The only values allowed, where the schema lists them. */
  readonly choices: readonly JsonValue[] | undefined;
  readonly schema: JsonObject;
}

export interface Parameter extends ValueShape {
  readonly name: string;
  /** Words of the name, stemmed, in order. */
  readonly stems: readonly string[];
  readonly description: string;
  readonly isRequired: boolean;
  readonly defaultValue: JsonValue | undefined;
  readonly role: TextRole;
  /** Of an array's items. */
  readonly item: ValueShape | undefined;
}

const KINDS: readonly string[] = ["string", "number", "integer", "boolean", "array", "object"];
const PATH_ENDINGS = new Set(
  "path paths file files filename filepath directory directories dir folder cwd workdir".split(" "),
);
const URL_ENDINGS = new Set(["url", "urls", "uri", "uris", "href", "link", "links"]);
const PATTERN_ENDINGS = new Set(["pattern", "glob"]);
/** Names that mean paths only in tools about files. */
const FILE_ENDS = new Set(["source", "destination", "src", "dest", "from", "to"]);

export function readParameters(tool: ModelTool): Parameter[] {
  const root = tool.inputSchema;
  const properties = isJsonObject(root["properties"]) ? root["properties"] : {};
  const required = listOf(root["required"]);
  const isAboutFiles = [...stems(tool.name)].some((word) => ["file", "directori", "folder"].includes(word));
  return Object.entries(properties).map(([name, value]) => {
    const schema = resolve(value, root);
    const shape = shapeOf(schema, root);
    const description = typeof schema["description"] === "string" ? schema["description"] : "";
    return {
      ...shape,
      name,
      stems: words(name).map((word) => stem(word)),
      description,
      isRequired: required.includes(name),
      defaultValue: schema["default"],
      role: roleOf(name, schema, isAboutFiles),
      item: shape.kind === "array" ? shapeOf(resolve(schema["items"], root), root) : undefined,
    };
  });
}

function roleOf(name: string, schema: JsonObject, isAboutFiles: boolean): TextRole {
  const last = words(name).at(-1) ?? "";
  if (URL_ENDINGS.has(last) || schema["format"] === "uri" || schema["format"] === "url") return "url";
  if (PATTERN_ENDINGS.has(last)) return "pattern";
  if (PATH_ENDINGS.has(last) || (isAboutFiles && FILE_ENDS.has(last))) return "path";
  return "plain";
}

function shapeOf(schema: JsonObject, root: JsonObject): ValueShape {
  const choices = choicesOf(schema);
  const said = [schema["type"], ...listOf(schema["type"])].find((type) => isKind(type));
  if (isKind(said)) return { kind: said, choices, schema };
  // One step deep: the alternatives of real tools are plain types, constants and null.
  const options = ["anyOf", "oneOf", "allOf"]
    .flatMap((keyword) => listOf(schema[keyword]))
    .map((option) => resolve(option, root))
    .filter((option) => option["type"] !== "null");
  const usable = options.find((option) => isKind(option["type"]));
  const listed = options.every((option) => choicesOf(option))
    ? options.flatMap((option) => choicesOf(option) ?? [])
    : [];
  const all = choices ?? (listed.length > 0 ? listed : undefined);
  const kind = usable?.["type"];
  if (usable !== undefined && isKind(kind)) return { kind, choices: all, schema: usable };
  const isWords = all?.every((choice) => typeof choice === "string") === true;
  return { kind: isWords ? "string" : "any", choices: all, schema };
}

/** The members of a value that should be a list, and none where it is something else. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isList(value) ? value : [];
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function choicesOf(schema: JsonObject): readonly JsonValue[] | undefined {
  const listed = listOf(schema["enum"]);
  if (listed.length > 0) return listed;
  return schema["const"] === undefined ? undefined : [schema["const"]];
}

function isKind(value: unknown): value is Exclude<ValueKind, "any"> {
  return typeof value === "string" && KINDS.includes(value);
}

/** Follows one local reference; a reference to elsewhere, or in a circle, is an unknown value. */
function resolve(value: JsonValue | undefined, root: JsonObject): JsonObject {
  if (!isJsonObject(value)) return {};
  const reference = value["$ref"];
  if (typeof reference !== "string" || !reference.startsWith("#/")) return value;
  let target: JsonValue | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    if (!isJsonObject(target)) return {};
    target = Object.hasOwn(target, step) ? target[step] : undefined;
  }
  return isJsonObject(target) && target["$ref"] === undefined ? { ...target, ...value } : {};
}

/** A parameter that takes running text, or a list of texts. */
export function isText({ kind, choices, item }: Parameter): boolean {
  if (choices !== undefined) return false;
  return kind === "string" || kind === "any" || (kind === "array" && item?.kind === "string");
}

/** The same, but no list, path, pattern or address. */
export function isPlainText(parameter: Parameter): boolean {
  return isText(parameter) && parameter.kind !== "array" && parameter.role === "plain";
}

/** Of several paths an optional one is meant: rather the file than the repository or directory it is in. */
export function placeWeight(parameter: Parameter): number {
  if (parameter.isRequired) return 2;
  if (/\b(?:repository|working directory|repo)\b/i.test(parameter.description)) return -1;
  return parameter.stems.includes("fil") ? 1 : 0;
}

// How people say a tool's name.

/** The part of a model's tool name that people say. A hint for matching only: tools are looked up by their whole name. */
export function bareName(name: string): string {
  const part = name.slice(name.lastIndexOf("__") + 1).replace(/^_+/, "");
  return part === "" ? name : part;
}

/**
 * Where a text says the name, as a whole word. A name of several words counts wherever it stands, since nobody writes
 * `read_file` by chance; a name of one word is an ordinary word too, and is left to the words around it.
 */
export function whereSaid(text: string, name: string): { start: number; end: number } | undefined {
  if (!/[\p{L}\p{N}][_-]+[\p{L}\p{N}]/u.test(name)) return undefined;
  const start = text.toLowerCase().indexOf(name.toLowerCase());
  const end = start + name.length;
  const isWhole = start >= 0 && !/[\w-]/.test(text[start - 1] ?? "") && !/[\w-]/.test(text[end] ?? "");
  return isWhole ? { start, end } : undefined;
}
