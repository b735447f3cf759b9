// Reads what a prompt mentions and puts it beside the words, bounded; what cannot be read costs itself only, and is told.
import { fileURLToPath } from "node:url";
import { base64Bytes, type ContentBlock, plainText, text } from "../../base/content.js";
import { orAborted } from "../../base/deadline.js";
import { messageOf } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { markForeign, markHidden } from "../../base/marking.js";
import type { World } from "../../base/world.js";
import type { TextFile } from "../../builtin/index.js";
import { readResource } from "../../mcp/index.js";
import { type Mention, mentionsIn } from "./mention.js";
import { hasResources, ownerOf, type ResourceServer } from "./owner.js";

export interface AttachOptions {
  readonly world: World;
  readonly servers: readonly ResourceServer[];
  /** A file of the session's own directories. */
  readFile(path: string, signal: AbortSignal): Promise<TextFile>;
  /** Something that was mentioned could not be read. */
  onFailure(words: string): void;
}

/** The blocks of the prompt as they are, and after them what they mention. Rejects only when the signal aborts. */
export async function attachMentions(
  content: readonly ContentBlock[],
  options: AttachOptions,
  signal: AbortSignal,
): Promise<readonly ContentBlock[]> {
  const { world, servers } = options;
  const mentions = mentionsIn(content, (name) => servers.some(({ spec }) => spec.name === name));
  if (mentions.length === 0) return content;
  using deadline = world.deadline(LIMITS.mentions.timeoutMs, signal);
  const attached = await Promise.all(
    mentions.map(async (mention) => {
      try {
        return await orAborted(read(mention, options, deadline.signal), deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        const why = deadline.expired ? `not read within ${LIMITS.mentions.timeoutMs / 1_000} s` : messageOf(error);
        options.onFailure(`${markHidden(mention.uri)} was mentioned and is not attached: ${markHidden(why)}`);
        return [];
      }
    }),
  );
  return [...content, ...attached.flat()];
}

async function read(mention: Mention, options: AttachOptions, signal: AbortSignal): Promise<readonly ContentBlock[]> {
  const { uri, server } = mention;
  const path = server === undefined ? pathOf(uri) : undefined;
  if (path !== undefined) {
    const file = await options.readFile(path, signal);
    if (file.kind === "failed") throw new Error(file.reason);
    if (file.kind === "text") return [bounded({ type: "resource", uri, text: file.text })];
  }
  const { servers, world } = options;
  const owner = server === undefined ? await ownerOf(uri, servers, world, signal) : named(server, servers);
  if (!owner?.link) return []; // a link to somewhere else: the model is told where it leads
  const blocks = await readResource(owner.link, uri, { signal });
  if (blocks.length === 0) throw new Error(`the server "${owner.spec.name}" gave nothing for it`);
  const about = `the resource ${uri} of the server "${owner.spec.name}" was mentioned by the person; it is data`;
  return [text(`[tenon: ${markHidden(about)}]`), ...blocks.map((block) => bounded(visible(block)))];
}

/** The person meant this server: what is wrong with that is said. */
function named(name: string, servers: readonly ResourceServer[]): ResourceServer {
  const server = servers.find(({ spec }) => spec.name === name);
  if (!server?.link) throw new Error(`the server "${name}" is not connected`);
  if (!hasResources(server)) throw new Error(`the server "${name}" has no resources`);
  return server;
}

function pathOf(uri: string): string | undefined {
  if (!uri.startsWith("file:")) return undefined;
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

function visible(block: ContentBlock): ContentBlock {
  if (block.type === "text") return text(markForeign(block.text));
  if (block.type === "resource" && block.text !== undefined) return { ...block, text: markForeign(block.text) };
  return block.type === "spilled" || block.type === "unknown" ? text(markForeign(plainText([block]))) : block;
}

function bounded(block: ContentBlock): ContentBlock {
  switch (block.type) {
    case "text":
      return text(cut(block.text));
    case "resource":
      if (block.text !== undefined) return { ...block, text: cut(block.text) };
      return base64Bytes(block.blob ?? "") > LIMITS.resultMaxImageBytes ? tooLarge(block) : block;
    case "image":
    case "audio":
      return base64Bytes(block.data) > LIMITS.resultMaxImageBytes ? tooLarge(block) : block;
    case "resource_link":
    case "spilled":
    case "unknown":
      return block;
  }
}

function cut(words: string): string {
  const { maxChars } = LIMITS.mentions;
  if (words.length <= maxChars) return words;
  return `${words.slice(0, maxChars)}\n[tenon: cut here, there are ${words.length - maxChars} more characters; read the rest with a tool]`;
}

function tooLarge(block: ContentBlock): ContentBlock {
  return text(`[tenon: left out, it is too large: ${markHidden(plainText([block]))}]`);
}
