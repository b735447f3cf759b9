// Which images, sounds and documents of a result the model is given as they are, and what it is told of the others.

import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import type { ContentBlock } from "../../base/text/content.js";
import { hostLine } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import { cleanBase64, describeMedia, type Media } from "./parts.js";
import type { KeepFacts, ResultStore } from "./store.js";

/** What the model at hand takes as it is. */
export interface ModelMedia {
  readonly images: boolean;
  readonly audio: boolean;
  /** PDF. */
  readonly documents: boolean;
}

export type MediaPlace =
  | { readonly kind: "native"; readonly block: ContentBlock }
  | { readonly kind: "label"; readonly label: string };

/** One for each result: what has been given counts against what comes after. */
export class MediaAllowance {
  readonly #store: ResultStore;
  readonly #accepts: ModelMedia;
  readonly #facts: KeepFacts;
  #count = 0;
  #bytes = 0;
  #keptCount = 0;

  constructor(store: ResultStore, accepts: ModelMedia, facts: KeepFacts) {
    this.#store = store;
    this.#accepts = accepts;
    this.#facts = facts;
  }

  async place(media: Media): Promise<MediaPlace> {
    const obstacle = this.#obstacle(media);
    if (obstacle !== undefined) return { kind: "label", label: await this.#label(media, obstacle) };
    const data = cleanBase64(media.data);
    if (data === undefined) {
      return { kind: "label", label: hostLine(`${describeMedia(media)}: its data is no base64, so nobody can see it`) };
    }
    this.#count += 1;
    this.#bytes += media.bytes;
    return { kind: "native", block: data === media.data ? media.block : withData(media.block, data) };
  }

  #obstacle({ kind, bytes }: Media): string | undefined {
    if (kind === "data") return "not text, so not shown";
    const { images, audio, documents } = this.#accepts;
    const isTaken = kind === "image" ? images : kind === "audio" ? audio : documents;
    if (!isTaken) return "this model does not take it; the person has it";
    if (bytes > LIMITS.resultMaxImageBytes) return "too large for the model; the person has it";
    const { max, maxBytes } = TOOL_LIMITS.resultMedia;
    const isOver = this.#count >= max || this.#bytes + bytes > maxBytes;
    return isOver ? "one too many for the model; the person has it" : undefined;
  }

  /** Kept, so that other tools can be given it. Not all of a flood: each takes a file. */
  async #label(media: Media, obstacle: string): Promise<string> {
    const told = `${describeMedia(media)}: ${obstacle}`;
    if (this.#keptCount >= TOOL_LIMITS.resultMedia.max || media.bytes === 0) return hostLine(told);
    this.#keptCount += 1;
    const { mimeType, uri } = media;
    const kept = await this.#store.keepBase64(media.data, {
      ...this.#facts,
      mimeType,
      ...defined({ uri }),
    });
    return hostLine(kept.ok ? `${told}. ${passOn(kept.result.handle)} as base64` : told);
  }
}

/** How a model hands on what it cannot see. */
export function passOn(handle: string): string {
  return `Kept as ${handle}; pass it to a tool as {"$result":"${handle}"}`;
}

function withData(block: ContentBlock, data: string): ContentBlock {
  switch (block.type) {
    case "image":
    case "audio":
      return { ...block, data };
    case "resource":
      return { ...block, blob: data };
    case "text":
    case "resource_link":
    case "spilled":
    case "unknown":
      return block;
  }
}
