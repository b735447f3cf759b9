// What a prompt mentions: resource links, and `@server:uri` in its words.

import type { ContentBlock } from "../../base/text/content.js";
import { SESSION_LIMITS } from "../limits.js";

export interface Mention {
  readonly uri: string;
  /** Named by the person; a link says nothing of whose it is. */
  readonly server?: string;
}

/** In their order, each once, bounded. What is embedded already needs no reading; `@word:` counts for servers only. */
export function mentionsIn(content: readonly ContentBlock[], isServer: (name: string) => boolean): readonly Mention[] {
  const embedded = new Set(content.flatMap((block) => (block.type === "resource" ? [block.uri] : [])));
  const found = new Map<string, Mention>();
  for (const mention of content.flatMap((block) => mentionsOf(block, isServer))) {
    const key = `${mention.server ?? ""} ${mention.uri}`;
    if (!embedded.has(mention.uri) && !found.has(key)) found.set(key, mention);
  }
  return [...found.values()].slice(0, SESSION_LIMITS.mentions.max);
}

function mentionsOf(block: ContentBlock, isServer: (name: string) => boolean): readonly Mention[] {
  if (block.type === "resource_link") return [{ uri: block.uri }];
  if (block.type !== "text") return [];
  return [...block.text.matchAll(/(?<![\p{L}\p{N}_])@([^\s:@]+):(\S+)/gu)].flatMap(([, server = "", rest = ""]) => {
    // A sentence may end with a mention; addresses hardly ever end like this.
    const uri = rest.replace(/[.,;:!?)\]}"'`>]+$/u, "");
    return uri !== "" && isServer(server) ? [{ server, uri }] : [];
  });
}
