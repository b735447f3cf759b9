// Reads the tools servers send without trusting their shape: a bad one is set aside with a reason, the others stay.
import type { Pace } from "../../base/async/pace.js";
import { isJsonObject, type JsonObject, type JsonValue, measure, sameJson } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import { MCP_LIMITS } from "../limits.js";
import { checkParamHeaders } from "../transport/http/param-headers.js";
import type { Link } from "./link.js";
import { type Listing, listAll, type ReadEntry, shortName, textField } from "./lists.js";

/** A tool as its server defines it, checked as far as Tenon relies on it. */
export interface McpTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: McpToolAnnotations;
  /** Whether it can be called as a task, or only so. Left out: it cannot. */
  readonly taskSupport?: "optional" | "required";
}

export interface McpToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

export function readTool(raw: JsonValue | undefined): ReadEntry<McpTool> {
  if (!isJsonObject(raw)) return { ok: false, name: "?", reason: "the entry is not an object" };
  const name = raw["name"];
  if (typeof name !== "string" || name === "") return { ok: false, name: "?", reason: "it has no name" };
  if (name.length > LIMITS.nameMaxChars) {
    return { ok: false, name: shortName(name), reason: `its name has more than ${LIMITS.nameMaxChars} characters` };
  }
  const schema = raw["inputSchema"];
  if (!isJsonObject(schema)) return { ok: false, name, reason: "its inputSchema is not an object" };
  const type = schema["type"];
  if (type !== undefined && type !== "object") {
    const given = typeof type === "string" ? JSON.stringify(shortName(type)) : `a ${typeof type}`;
    return { ok: false, name, reason: `its inputSchema has type ${given} instead of "object"` };
  }
  return { ok: true, key: name, item: toolOf(raw, name, type === undefined ? { ...schema, type: "object" } : schema) };
}

/** One that came by itself, within the bounds of an entry of a list. `heapBytes`: what it takes in memory, by a safe estimate. */
export function readSingleTool(raw: JsonValue | undefined): { read: ReadEntry<McpTool>; heapBytes: number } {
  const { heapBytes, over } = measure(raw, MCP_LIMITS.listEntry);
  const read = readTool(raw);
  if (over === undefined || !read.ok) return { read, heapBytes };
  return { read: { ok: false, name: shortName(read.key), reason: `its definition is ${over}` }, heapBytes };
}

type Writable<T> = { -readonly [key in keyof T]: T[key] };

/** Field by field: spreading optional ones would cost a tenth more memory, and there may be ten thousand tools. */
function toolOf(raw: JsonObject, name: string, inputSchema: JsonObject): McpTool {
  const tool: Writable<McpTool> = { name, description: textField(raw, "description") ?? "", inputSchema };
  const annotations = isJsonObject(raw["annotations"]) ? raw["annotations"] : undefined;
  const title = textField(raw, "title") ?? (annotations && textField(annotations, "title"));
  if (title !== undefined) tool.title = title;
  if (isJsonObject(raw["outputSchema"])) tool.outputSchema = raw["outputSchema"];
  if (annotations) tool.annotations = readAnnotations(annotations);
  const support = isJsonObject(raw["execution"]) ? raw["execution"]["taskSupport"] : undefined;
  if (support === "optional" || support === "required") tool.taskSupport = support;
  return tool;
}

function readAnnotations(raw: JsonObject): McpToolAnnotations {
  const hints: Writable<McpToolAnnotations> = {};
  for (const hint of HINTS) {
    const value = raw[hint];
    if (typeof value === "boolean") hints[hint] = value;
  }
  return hints;
}

type Tools = readonly McpTool[];

/** By a cheap hash, then compared in full: hashing every schema would cost as much as parsing the list did. */
const lists = new Map<string, WeakRef<Tools>[]>();

const registry = new FinalizationRegistry<string>((key) => {
  const living = (lists.get(key) ?? []).filter((ref) => ref.deref() !== undefined);
  if (living.length === 0) lists.delete(key);
  else lists.set(key, living);
});

/** The list everybody else has, if they have the same; otherwise this one becomes it. */
export async function internTools(tools: Tools, pace: Pace): Promise<Tools> {
  const key = cheapKey(tools);
  for (const ref of lists.get(key) ?? []) {
    const known = ref.deref();
    if (known && (await sameTools(known, tools, pace))) return known;
  }
  lists.set(key, [...(lists.get(key) ?? []), new WeakRef(tools)]);
  registry.register(tools, key);
  return tools;
}

const CHUNK = 200;

export async function sameTools(one: Tools, other: Tools, pace: Pace): Promise<boolean> {
  if (one === other) return true;
  if (one.length !== other.length) return false;
  for (let start = 0; start < one.length; start += CHUNK) {
    const isSame = await pace.run(() =>
      one.slice(start, start + CHUNK).every((tool, index) => {
        const twin = other[start + index];
        return twin !== undefined && sameTool(tool, twin);
      }),
    );
    if (!isSame) return false;
  }
  return true;
}

export function sameTool(one: McpTool, other: McpTool): boolean {
  if (one === other) return true;
  return (
    one.name === other.name &&
    one.title === other.title &&
    one.description === other.description &&
    one.taskSupport === other.taskSupport &&
    sameJson(one.inputSchema, other.inputSchema) &&
    sameJson(one.outputSchema, other.outputSchema) &&
    sameJson({ ...one.annotations }, { ...other.annotations })
  );
}

/** Of a long list, so many are looked at for its key. */
const KEYED_TOOLS = 100;

/** FNV-1a over names, with the lengths of the descriptions: tells servers apart, and nothing more is asked of it. */
function cheapKey(tools: Tools): string {
  let hash = 0x811c9dc5;
  const step = Math.ceil(tools.length / KEYED_TOOLS);
  for (let at = 0; at < tools.length; at += step) {
    const { name = "", description = "" } = tools[at] ?? {};
    for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
    hash = Math.imul(hash ^ description.length, 0x01000193);
  }
  return `${tools.length}:${hash >>> 0}`;
}

/** Throws a TenonError when the server gave no list. */
export function listTools(link: Link, world: World, signal: AbortSignal): Promise<Listing<McpTool>> {
  const read = link.agreement.era === "modern" ? readModernTool : readTool;
  const kind = { method: "tools/list", field: "tools", capability: "tools", noun: "tool", read } as const;
  return listAll(link, world, kind, signal);
}

/** A modern server would refuse the calls of a tool whose headers cannot be made, so it is not offered at all. */
function readModernTool(raw: JsonValue | undefined): ReadEntry<McpTool> {
  const read = readTool(raw);
  const reason = read.ok ? checkParamHeaders(read.item.inputSchema) : undefined;
  return read.ok && reason !== undefined ? { ok: false, name: read.key, reason } : read;
}
