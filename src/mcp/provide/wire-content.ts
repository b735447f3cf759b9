// Our content blocks and answers in the protocol's own form, for clients that are served over MCP.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { ContentBlock } from "../../base/text/content.js";
import type { ElicitAnswer } from "../protocol/peer.js";
import type { RpcErrorBody } from "../transport/transport.js";

/** A content block as the protocol has it. */
export function toWire(block: ContentBlock): JsonObject {
  switch (block.type) {
    case "text":
    case "image":
    case "audio":
    case "resource_link":
      return { ...block };
    case "resource": {
      const { type, ...resource } = block;
      return { type, resource };
    }
    case "spilled":
      return { type: "text", text: leftOut(block.bytes, block.preview) };
    case "unknown":
      return isJsonObject(block.raw) ? block.raw : { type: "text", text: JSON.stringify(block.raw) };
  }
}

/** As one of the contents of a resource. */
export function toResource(block: ContentBlock): JsonObject {
  if (block.type === "resource") {
    const { type: _, ...resource } = block;
    return resource;
  }
  if (block.type === "spilled") return { uri: block.uri ?? "", text: leftOut(block.bytes, block.preview) };
  return toWire(block);
}

function leftOut(bytes: number, preview: string): string {
  const words = `[${bytes} bytes were left out: so much cannot be passed on at once]`;
  return preview === "" ? words : `${preview}\n${words}`;
}

/** Its form was checked when it came. */
export function toElicitAnswer({ action, content }: JsonObject): ElicitAnswer {
  if (action === "accept") return { action, ...defined({ content: isJsonObject(content) ? content : undefined }) };
  return { action: action === "decline" ? "decline" : "cancel" };
}

/** Of the server itself: passed on as it came. */
export function isErrorBody(cause: unknown): cause is RpcErrorBody {
  if (cause instanceof Error || typeof cause !== "object" || cause === null) return false;
  return "code" in cause && typeof cause.code === "number" && "message" in cause && typeof cause.message === "string";
}
