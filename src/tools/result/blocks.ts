// Each block of a result as what can be shown of it: words of ours, words of the tool, media, or what lies in a file.
import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import { LIMITS } from "../../base/limits.js";
import { base64Bytes, type ContentBlock, type SpilledBlock, type TextBlock, text } from "../../base/text/content.js";
import { hostLine, quoted } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import { jsonStart } from "./json-pieces.js";
import type { KeepFacts, ResultStore } from "./store.js";

export interface Media {
  /** The block as the model would get it. */
  readonly block: ContentBlock;
  readonly kind: "image" | "audio" | "document" | "data";
  /** base64 */
  readonly data: string;
  readonly bytes: number;
  readonly mimeType: string;
  readonly uri?: string;
}

export type Part =
  | {
      readonly kind: "words";
      /** A line of ours about what follows, or instead of it. */
      readonly label?: string;
      /** The tool's own, unmarked. */
      readonly text?: string;
      /** Written by Tenon and marked already. */
      readonly ours?: string;
    }
  | { readonly kind: "media"; readonly media: Media }
  | { readonly kind: "spilled"; readonly block: SpilledBlock };

export function toPart(block: ContentBlock): Part {
  switch (block.type) {
    case "text":
      return isHostText(block) ? { kind: "words", ours: block.text } : { kind: "words", text: block.text };
    case "image":
    case "audio": {
      const { type, data, mimeType } = block;
      return { kind: "media", media: { block, kind: type, data, bytes: base64Bytes(data), mimeType } };
    }
    case "resource":
      return resourcePart(block);
    case "resource_link": {
      const { uri, name, title, description, mimeType, size } = block;
      const facts = [mimeType && quoted(mimeType, 100), size !== undefined && `${size} bytes`].filter(Boolean);
      const about = description === undefined ? "" : `\n${description}`;
      const label = hostLine(["link to a resource", ...facts].join(", "));
      return { kind: "words", label, text: `${title ?? name} <${uri}>${about}` };
    }
    case "spilled":
      return { kind: "spilled", block };
    case "unknown": {
      const { text, isWhole } = jsonStart(block.raw, TOOL_LIMITS.resultMaxStrangeBytes);
      const rest = isWhole ? "" : ", which is too long to show";
      const label = hostLine(`a content block of the unknown kind ${quoted(block.kind)}${rest}`);
      return isWhole ? { kind: "words", label, text } : { kind: "words", label };
    }
    default:
      return unreachable(block);
  }
}

function resourcePart(block: Extract<ContentBlock, { type: "resource" }>): Part {
  const { uri, text, blob = "", mimeType = "application/octet-stream" } = block;
  if (text !== undefined) return { kind: "words", label: hostLine(`resource ${quoted(uri, 2_000)}`), text };
  const media = { block, kind: mediaKind(mimeType), data: blob, bytes: base64Bytes(blob), mimeType, uri };
  return { kind: "media", media };
}

function mediaKind(mimeType: string): Media["kind"] {
  const [family] = mimeType.split("/", 1);
  if (family === "image" || family === "audio") return family;
  return mimeType === "application/pdf" ? "document" : "data";
}

/** `image "image/png", 5242880 bytes`. */
function describeMedia({ kind, mimeType, bytes, uri }: Omit<Media, "block" | "data">): string {
  const where = uri === undefined ? "" : ` of the resource ${quoted(uri, 2_000)}`;
  return `${kind} ${quoted(mimeType, 100)}${where}, ${bytes} bytes`;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The data as providers take it, or nothing when it is none: one of them refuses the whole conversation over a bad image.
 * Line breaks and the alphabet for URLs are put right.
 */
function cleanBase64(data: string): string | undefined {
  if (BASE64.test(data)) return data;
  const plain = data.replaceAll(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  return BASE64.test(plain) ? plain : undefined;
}

// Which images, sounds and documents of a result the model is given as they are, and what it is told of the others.
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

// Text that Tenon itself wrote into a result, told apart from what tools write by identity: no tool can make one.
const own = new WeakSet<ContentBlock>();

/**
 * A block that reaches the model as it is, lines of our own included. Whatever of it comes from others must have been
 * through `markForeign`. A copy of the block is no longer ours: its lines are then marked like anybody's.
 */
export function hostText(words: string): TextBlock {
  const block = text(words);
  own.add(block);
  return block;
}

function isHostText(block: ContentBlock): boolean {
  return own.has(block);
}
