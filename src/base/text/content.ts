// Our content blocks: what prompts, tool results and answers are made of, free of any wire format.
import type { JsonValue } from "../json/json.js";

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

export interface ImageBlock {
  readonly type: "image";
  /** base64 */
  readonly data: string;
  readonly mimeType: string;
  readonly uri?: string;
}

export interface AudioBlock {
  readonly type: "audio";
  /** base64 */
  readonly data: string;
  readonly mimeType: string;
}

export interface ResourceBlock {
  readonly type: "resource";
  readonly uri: string;
  readonly mimeType?: string;
  /** Exactly one of the two is set: text, or base64. */
  readonly text?: string;
  readonly blob?: string;
}

export interface ResourceLinkBlock {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

/** Something too large for memory that a server sent: kept in a file that goes with the connection. */
export interface SpilledBlock {
  readonly type: "spilled";
  /** What it would have been. `structured` is JSON. */
  readonly kind: "text" | "image" | "audio" | "resource" | "structured";
  /** Size of the file: text as UTF-8, images, audio and blobs decoded. */
  readonly bytes: number;
  readonly path: string;
  readonly mimeType?: string;
  /** Of a resource. */
  readonly uri?: string;
  /** How a text begins; empty for images, audio and blobs. */
  readonly preview: string;
}

/** A block of a kind we do not know: kept and labelled, so that one new kind never loses a whole result. */
export interface UnknownBlock {
  readonly type: "unknown";
  readonly kind: string;
  readonly raw: JsonValue;
}

/**
 * A part of a prompt or of a result.
 *
 * @example
 * const block: ContentBlock = { type: "text", text: "hello" };
 */
export type ContentBlock =
  | TextBlock
  | ImageBlock
  | AudioBlock
  | ResourceBlock
  | ResourceLinkBlock
  | SpilledBlock
  | UnknownBlock;

export function text(value: string): TextBlock {
  return { type: "text", text: value };
}

/** The words of some blocks, for search, titles and models that take text only. */
export function plainText(blocks: readonly ContentBlock[]): string {
  let whole = "";
  for (const block of blocks) {
    const part = describe(block);
    if (part !== "") whole = whole === "" ? part : `${whole}\n${part}`;
  }
  return whole;
}

function describe(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return `[image ${block.mimeType}, ${base64Bytes(block.data)} bytes]`;
    case "audio":
      return `[audio ${block.mimeType}, ${base64Bytes(block.data)} bytes]`;
    case "resource":
      return block.text ?? `[resource ${block.uri}, ${base64Bytes(block.blob ?? "")} bytes]`;
    case "resource_link":
      return `[${block.title ?? block.name}](${block.uri})`;
    case "spilled":
      return describeSpilled(block);
    case "unknown":
      return `[unsupported content block "${block.kind}"]`;
  }
}

/** Where the whole is, after what can be shown of it. */
export function describeSpilled({ kind, bytes, path, mimeType, uri, preview }: SpilledBlock): string {
  const what = [kind, uri, mimeType].filter((word) => word !== undefined).join(" ");
  const place = `[${what}, ${bytes} bytes, kept in the file ${path}]`;
  return preview === "" ? place : `${preview}…\n${place}`;
}

/** Size of the data behind a base64 text, without decoding it. */
export function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding);
}
