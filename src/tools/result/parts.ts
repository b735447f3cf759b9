// Each block of a result as what can be shown of it: words of ours, words of the tool, media, or what lies in a file.
import { unreachable } from "../../base/id.js";
import { base64Bytes, type ContentBlock, type SpilledBlock } from "../../base/text/content.js";
import { hostLine, quoted } from "../../base/text/marking.js";
import { TOOL_LIMITS } from "../limits.js";
import { isHostText } from "./host-text.js";
import { jsonStart } from "./json-pieces.js";

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
export function describeMedia({ kind, mimeType, bytes, uri }: Omit<Media, "block" | "data">): string {
  const where = uri === undefined ? "" : ` of the resource ${quoted(uri, 2_000)}`;
  return `${kind} ${quoted(mimeType, 100)}${where}, ${bytes} bytes`;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The data as providers take it, or nothing when it is none: one of them refuses the whole conversation over a bad image.
 * Line breaks and the alphabet for URLs are put right.
 */
export function cleanBase64(data: string): string | undefined {
  if (BASE64.test(data)) return data;
  const plain = data.replaceAll(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/");
  return BASE64.test(plain) ? plain : undefined;
}
