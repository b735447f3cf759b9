// Reads what servers send without trusting its shape: a bad tool is set aside with a reason, a strange block is labelled.
import type { ContentBlock } from "../base/content.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.js";

/** A tool as its server defines it, checked as far as Tenon relies on it. */
export interface McpTool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: McpToolAnnotations;
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

export function readTool(raw: JsonValue | undefined): ReadTool {
  if (!isJsonObject(raw)) return { ok: false, name: "?", reason: "the entry is not an object" };
  const name = raw["name"];
  if (typeof name !== "string" || name === "") return { ok: false, name: "?", reason: "it has no name" };
  const schema = raw["inputSchema"];
  if (!isJsonObject(schema)) return { ok: false, name, reason: "its inputSchema is not an object" };
  const type = schema["type"];
  if (type !== undefined && type !== "object") {
    return { ok: false, name, reason: `its inputSchema has type ${JSON.stringify(type)} instead of "object"` };
  }
  const annotations = isJsonObject(raw["annotations"]) ? raw["annotations"] : {};
  const title = stringField(raw, "title") ?? stringField(annotations, "title");
  return {
    ok: true,
    tool: {
      name,
      ...(title === undefined ? {} : { title }),
      description: stringField(raw, "description") ?? "",
      inputSchema: type === undefined ? { ...schema, type: "object" } : schema,
      ...(isJsonObject(raw["outputSchema"]) ? { outputSchema: raw["outputSchema"] } : {}),
      annotations: readAnnotations(annotations),
    },
  };
}

function readAnnotations(raw: JsonObject): McpToolAnnotations {
  const hint = (key: string) => (typeof raw[key] === "boolean" ? raw[key] : undefined);
  const hints = {
    readOnlyHint: hint("readOnlyHint"),
    destructiveHint: hint("destructiveHint"),
    idempotentHint: hint("idempotentHint"),
    openWorldHint: hint("openWorldHint"),
  };
  return Object.fromEntries(Object.entries(hints).filter(([, value]) => value !== undefined));
}

/** All blocks of a result; what we do not know becomes an `unknown` block instead of losing the rest. */
export function readContent(raw: JsonValue | undefined): ContentBlock[] {
  return Array.isArray(raw) ? raw.map((block) => readBlock(block)) : [];
}

function readBlock(raw: JsonValue): ContentBlock {
  const kind = isJsonObject(raw) ? (stringField(raw, "type") ?? "without a type") : typeof raw;
  const unknown: ContentBlock = { type: "unknown", kind, raw };
  if (!isJsonObject(raw)) return unknown;
  switch (raw["type"]) {
    case "text": {
      const text = stringField(raw, "text");
      return text === undefined ? unknown : { type: "text", text };
    }
    case "image":
    case "audio": {
      const data = stringField(raw, "data");
      const mimeType = stringField(raw, "mimeType");
      return data === undefined || mimeType === undefined ? unknown : { type: raw["type"], data, mimeType };
    }
    case "resource":
      return isJsonObject(raw["resource"]) ? (readResource(raw["resource"]) ?? unknown) : unknown;
    case "resource_link":
      return readLink(raw) ?? unknown;
    default:
      return unknown;
  }
}

function readResource(raw: JsonObject): ContentBlock | undefined {
  const uri = stringField(raw, "uri");
  const text = stringField(raw, "text");
  const blob = stringField(raw, "blob");
  if (uri === undefined || (text === undefined && blob === undefined)) return undefined;
  const mimeType = stringField(raw, "mimeType");
  return {
    type: "resource",
    uri,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(text === undefined ? { blob: blob ?? "" } : { text }),
  };
}

function readLink(raw: JsonObject): ContentBlock | undefined {
  const uri = stringField(raw, "uri");
  if (uri === undefined) return undefined;
  const optional = {
    title: stringField(raw, "title"),
    description: stringField(raw, "description"),
    mimeType: stringField(raw, "mimeType"),
  };
  const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined));
  return { type: "resource_link", uri, name: stringField(raw, "name") ?? uri, ...given };
}

function stringField(raw: JsonObject, key: string): string | undefined {
  const value = raw[key];
  return typeof value === "string" ? value : undefined;
}
