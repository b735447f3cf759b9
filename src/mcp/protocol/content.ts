// Reads the content servers send without trusting its shape: a strange block is labelled, the rest of the result stays.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { measure } from "../../base/json/measure.js";
import { LIMITS } from "../../base/limits.js";
import type { ContentBlock } from "../../base/text/content.js";
import { MCP_LIMITS } from "../limits.js";
import { spilledOf } from "../transport/large/spilled.js";
import { shortName, textField } from "./lists.js";

/** All blocks of a result; what we do not know becomes an `unknown` block instead of losing the rest. */
export function readContent(raw: JsonValue | undefined): ContentBlock[] {
  if (typeof raw === "string") return [{ type: "text", text: raw }];
  return readAll(raw, readKnown);
}

/** What `resources/read` sends: bare resources, without the wrapper they have in a tool's result. */
export function readContents(raw: JsonValue | undefined): ContentBlock[] {
  return readAll(raw, readResource);
}

/** A lone block where a list belongs is taken as a list of one: servers do that, and what they mean is plain. */
function readAll(raw: JsonValue | undefined, read: (raw: JsonObject) => ContentBlock | undefined): ContentBlock[] {
  if (raw === undefined || raw === null) return [];
  const list: readonly JsonValue[] = Array.isArray(raw) ? raw : [raw];
  const labeller = new Labeller();
  const blocks: ContentBlock[] = [];
  for (const item of list) {
    if (blocks.length === MCP_LIMITS.contentMaxBlocks) break;
    const block = isJsonObject(item) ? (spilledOf(item) ?? read(item)) : undefined;
    blocks.push(block ?? labeller.label(item));
  }
  const left = list.length - blocks.length;
  if (left > 0) blocks.push({ type: "text", text: `[${left} more content blocks were left out]` });
  return blocks;
}

function readKnown(raw: JsonObject): ContentBlock | undefined {
  switch (raw["type"]) {
    case "text": {
      const text = textField(raw, "text");
      return text === undefined ? undefined : { type: "text", text };
    }
    case "image":
    case "audio": {
      const data = textField(raw, "data");
      const mimeType = textField(raw, "mimeType");
      return data === undefined || mimeType === undefined ? undefined : { type: raw["type"], data, mimeType };
    }
    case "resource":
      return isJsonObject(raw["resource"]) ? readResource(raw["resource"]) : undefined;
    case "resource_link":
      return readLink(raw);
    default:
      return undefined;
  }
}

function readResource(raw: JsonObject): ContentBlock | undefined {
  const uri = textField(raw, "uri");
  const text = textField(raw, "text");
  const blob = textField(raw, "blob");
  if (uri === undefined || (text === undefined && blob === undefined)) return undefined;
  const mimeType = textField(raw, "mimeType");
  return {
    type: "resource",
    uri,
    ...defined({ mimeType }),
    ...(text === undefined ? { blob: blob ?? "" } : { text }),
  };
}

function readLink(raw: JsonObject): ContentBlock | undefined {
  const uri = textField(raw, "uri");
  if (uri === undefined) return undefined;
  const title = textField(raw, "title");
  const description = textField(raw, "description");
  const mimeType = textField(raw, "mimeType");
  const size = raw["size"];
  return {
    type: "resource_link",
    uri,
    name: textField(raw, "name") ?? uri,
    ...defined({ title, description, mimeType, size: typeof size === "number" ? size : undefined }),
  };
}

/** Labels what is strange. All that is strange in one result shares one allowance, however many blocks it comes in. */
class Labeller {
  #nodesLeft: number = MCP_LIMITS.contentMaxStrangeNodes;

  /** Kept as it came, unless it is so large or so deep that nobody could write it down again in passing. */
  label(raw: JsonValue): ContentBlock {
    const extent = { maxNodes: this.#nodesLeft, maxBytes: MCP_LIMITS.mcpMaxLineBytes, maxDepth: LIMITS.dataMaxDepth };
    const { nodes, over } = measure(raw, extent);
    this.#nodesLeft = Math.max(0, this.#nodesLeft - nodes);
    return { type: "unknown", kind: kindOf(raw), raw: over === undefined ? raw : `(left out: ${over})` };
  }
}

function kindOf(raw: JsonValue): string {
  if (isJsonObject(raw)) return shortName(textField(raw, "type") ?? "without a type");
  return raw === null ? "null" : Array.isArray(raw) ? "array" : typeof raw;
}
