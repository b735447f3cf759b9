// ACP content blocks of a prompt -> our blocks.

import type * as acp from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import type { ContentBlock } from "../base/text/content.js";

export function toBlocks(prompt: readonly acp.ContentBlock[]): ContentBlock[] {
  return prompt.map((block) => toBlock(block));
}

function toBlock(block: acp.ContentBlock): ContentBlock {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return { type: "image", data: block.data, mimeType: block.mimeType, ...defined({ uri: block.uri || undefined }) };
    case "audio":
      return { type: "audio", data: block.data, mimeType: block.mimeType };
    case "resource": {
      const { resource } = block;
      const mimeType = resource.mimeType ? { mimeType: resource.mimeType } : {};
      return "text" in resource
        ? { type: "resource", uri: resource.uri, text: resource.text, ...mimeType }
        : { type: "resource", uri: resource.uri, blob: resource.blob, ...mimeType };
    }
    case "resource_link":
      return {
        type: "resource_link",
        uri: block.uri,
        name: block.name,
        ...defined({
          title: block.title || undefined,
          description: block.description || undefined,
          mimeType: block.mimeType || undefined,
        }),
      };
  }
}
