// Reads the tools servers send without trusting their shape: a bad one is set aside with a reason, the others stay.
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";

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

export type ReadTool =
  | { readonly ok: true; readonly tool: McpTool }
  | { readonly ok: false; readonly name: string; readonly reason: string };

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

export function readTool(raw: JsonValue | undefined): ReadTool {
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
  return { ok: true, tool: toolOf(raw, name, type === undefined ? { ...schema, type: "object" } : schema) };
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

/** A name for people: a server may call a tool by a megabyte of text. */
export function shortName(name: string): string {
  return name.length <= 80 ? name : `${name.slice(0, 77)}...`;
}

export function textField(raw: JsonObject, key: string): string | undefined {
  const value = raw[key];
  return typeof value === "string" ? value : undefined;
}
