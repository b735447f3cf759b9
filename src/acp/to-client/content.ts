// Our content blocks as ACP's.
import type * as acp from "@agentclientprotocol/sdk";
import { unreachable } from "../../base/id.js";
import { type ContentBlock, plainText } from "../../base/text/content.js";

export function toolContent(blocks: readonly ContentBlock[]): acp.ToolCallContent[] {
  return blocks.map((block) => ({ type: "content", content: toAcpBlock(block) }));
}

export function toAcpBlock(block: ContentBlock): acp.ContentBlock {
  switch (block.type) {
    case "text":
    case "image":
    case "audio":
    case "resource_link":
      return { ...block };
    case "resource": {
      const mimeType = block.mimeType === undefined ? {} : { mimeType: block.mimeType };
      const resource =
        block.text === undefined
          ? { uri: block.uri, blob: block.blob ?? "", ...mimeType }
          : { uri: block.uri, text: block.text, ...mimeType };
      return { type: "resource", resource };
    }
    case "spilled":
    case "unknown":
      return { type: "text", text: plainText([block]) };
    default:
      return unreachable(block);
  }
}
