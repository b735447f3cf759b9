// What a model is given of an outcome: every block kind, clipped to a bound, errors marked as errors, nothing left silent.
import { unreachable } from "../base/brand.js";
import { base64Bytes, type ContentBlock, describeSpilled, text } from "../base/content.js";
import type { JsonValue } from "../base/json.js";
import { LIMITS } from "../base/limits.js";
import type { ToolOutcome } from "./tool.js";

export interface ModelResult {
  readonly isError: boolean;
  readonly content: readonly ContentBlock[];
}

export function toModelResult(outcome: ToolOutcome): ModelResult {
  switch (outcome.kind) {
    case "done":
      return { isError: false, content: modelBlocks(outcome.content, outcome.structured) };
    case "failed":
      return { isError: true, content: modelBlocks(outcome.content, outcome.structured) };
    case "refused":
      return { isError: true, content: [text(`The call was refused: ${outcome.reason}`)] };
    case "cancelled":
      return { isError: true, content: [text("The call was cancelled by the person.")] };
    case "unknown":
      return { isError: true, content: [text(`Outcome unknown: ${outcome.reason}. Do not assume it failed.`)] };
    default:
      return unreachable(outcome);
  }
}

/** Structured content is sent only when the server gave no other form of it. */
function modelBlocks(content: readonly ContentBlock[], structured: JsonValue | undefined): ContentBlock[] {
  const blocks = content.length === 0 && structured !== undefined ? [text(JSON.stringify(structured))] : content;
  if (blocks.length === 0) return [text("(The tool returned nothing.)")];
  let bytesLeft: number = LIMITS.resultMaxBytes;
  return blocks.map((block) => {
    const bounded = boundBlock(block, bytesLeft);
    if (bounded.type === "text") bytesLeft = Math.max(0, bytesLeft - Buffer.byteLength(bounded.text));
    return bounded;
  });
}

function boundBlock(block: ContentBlock, bytesLeft: number): ContentBlock {
  switch (block.type) {
    case "text":
      return text(clip(block.text, bytesLeft));
    case "resource":
      return block.text === undefined ? block : text(clip(`${block.uri}:\n${block.text}`, bytesLeft));
    case "image": {
      const bytes = base64Bytes(block.data);
      if (bytes <= LIMITS.resultMaxImageBytes) return block;
      return text(`[image ${block.mimeType} of ${bytes} bytes: too large for the model, shown to the person]`);
    }
    case "spilled":
      return text(describeSpilled({ ...block, preview: clip(block.preview, bytesLeft) }));
    case "audio":
    case "resource_link":
    case "unknown":
      return block;
    default:
      return unreachable(block);
  }
}

/** Head and tail with the gap named: the end of a log matters as much as its start. */
export function clip(whole: string, maxBytes: number): string {
  const lines = whole.split("\n");
  const isLong = lines.length > LIMITS.resultMaxLines;
  const half = Math.floor(LIMITS.resultMaxLines / 2);
  const byLines = isLong ? [...lines.slice(0, half), "…", ...lines.slice(-half)].join("\n") : whole;
  const bytes = Buffer.from(byLines);
  if (!isLong && bytes.length <= maxBytes) return whole;
  const kept = bytes.length <= maxBytes ? byLines : headAndTail(bytes, maxBytes);
  return `${kept}\n[clipped: the whole text has ${lines.length} lines and ${Buffer.byteLength(whole)} bytes]`;
}

function headAndTail(bytes: Buffer, maxBytes: number): string {
  const half = Math.floor(maxBytes / 2);
  const decode = (part: Buffer) => new TextDecoder().decode(part).replaceAll("\uFFFD", "");
  return `${decode(bytes.subarray(0, half))}\n…\n${decode(bytes.subarray(bytes.length - half))}`;
}
