// Tool arguments as HTTP headers (`x-mcp-header` in a schema, `Mcp-Param-*` on the wire): which are valid, what is sent.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json/json.js";

const ANNOTATION = "x-mcp-header";
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: readonly (JsonValue | undefined)[] = ["string", "integer", "boolean"];

/** Far above any real schema; beyond it the search itself would cost more than a tool may. */
const MAX_NODES = 50_000;

/** Keywords under which an annotation is not allowed, by what they hold. */
const HOLDS_SCHEMA = [
  ...["items", "additionalItems", "contains", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"],
  ...["propertyNames", "not", "if", "then", "else"],
];
const HOLDS_LIST = ["prefixItems", "items", "allOf", "anyOf", "oneOf"];
const HOLDS_MAP = ["patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];

interface HeaderParam {
  readonly header: string;
  readonly path: readonly string[];
}

type Found = { readonly params: readonly HeaderParam[] } | { readonly problem: string };

/** The way from the root, written backwards: copying it at each level would cost the square of the depth. */
interface Step {
  readonly name: string;
  readonly parent: Step | undefined;
}

interface Place {
  readonly node: JsonValue | undefined;
  /** `hidden` is below anything but `properties`: no single argument is meant there. */
  readonly at: Step | "root" | "hidden";
}

/** A schema object stays the same from its listing to its last call. */
const found = new WeakMap<JsonObject, Found>();

/** Why a tool with this schema must not be offered over modern HTTP, or nothing. */
export function checkParamHeaders(schema: JsonObject): string | undefined {
  const search = annotationsOf(schema);
  return "problem" in search ? search.problem : undefined;
}

/** The headers that mirror these arguments; none for a schema that `checkParamHeaders` refuses. */
export function paramHeaders(schema: JsonObject, args: JsonObject): Record<string, string> {
  const search = annotationsOf(schema);
  if ("problem" in search) return {};
  const headers: Record<string, string> = {};
  for (const { header, path } of search.params) {
    const text = headerText(valueAt(args, path));
    if (text !== undefined) headers[`Mcp-Param-${header}`] = encodeHeaderValue(text);
  }
  return headers;
}

/** Plain when every HTTP implementation would pass it on unchanged, otherwise base64 of its UTF-8. */
export function encodeHeaderValue(text: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !(text.startsWith("=?base64?") && text.endsWith("?="))) return text;
  return `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

function annotationsOf(schema: JsonObject): Found {
  const known = found.get(schema);
  if (known) return known;
  const search = findAnnotations(schema);
  found.set(schema, search);
  return search;
}

/** Without recursion: a schema may be nested deeper than the call stack. */
function findAnnotations(schema: JsonObject): Found {
  const params = new Map<string, HeaderParam>();
  const places: Place[] = [{ node: schema, at: "root" }];
  let nodes = 0;
  for (let place = places.pop(); place; place = places.pop()) {
    const { node, at } = place;
    if (!isJsonObject(node)) continue;
    nodes += 1;
    if (nodes + places.length > MAX_NODES) return { problem: `its inputSchema has more than ${MAX_NODES} parts` };
    addPlacesBelow(node, at, places);
    if (!Object.hasOwn(node, ANNOTATION)) continue;
    const header = node[ANNOTATION];
    const shown = `the ${ANNOTATION} ${JSON.stringify(header)?.slice(0, 80)}`;
    if (typeof header !== "string" || !TOKEN.test(header)) return { problem: `${shown} is no header name` };
    if (at === "root" || at === "hidden") return { problem: `${shown} is not on a plain property` };
    if (!TYPES.includes(node["type"])) {
      return { problem: `${shown} is on a property that is no string, integer or boolean` };
    }
    if (params.has(header.toLowerCase())) return { problem: `${shown} is used twice` };
    params.set(header.toLowerCase(), { header, path: pathOf(at) });
  }
  return { params: [...params.values()] };
}

function addPlacesBelow(node: JsonObject, at: Place["at"], places: Place[]): void {
  const { properties } = node;
  if (isJsonObject(properties)) {
    const parent = at === "root" || at === "hidden" ? undefined : at;
    for (const [name, child] of Object.entries(properties)) {
      places.push({ node: child, at: at === "hidden" ? "hidden" : { name, parent } });
    }
  }
  for (const keyword of HOLDS_SCHEMA)
    if (isJsonObject(node[keyword])) places.push({ node: node[keyword], at: "hidden" });
  for (const keyword of HOLDS_LIST) {
    const list = node[keyword];
    if (Array.isArray(list)) for (const child of list) places.push({ node: child, at: "hidden" });
  }
  for (const keyword of HOLDS_MAP) {
    const map = node[keyword];
    if (isJsonObject(map)) for (const child of Object.values(map)) places.push({ node: child, at: "hidden" });
  }
}

function pathOf(step: Step): string[] {
  const names: string[] = [];
  for (let at: Step | undefined = step; at; at = at.parent) names.push(at.name);
  return names.reverse();
}

function valueAt(args: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = args;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Undefined for what has no header form: nothing, objects, fractions, integers beyond exact numbers. */
function headerText(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return typeof value === "number" && Number.isSafeInteger(value) ? String(value) : undefined;
}
