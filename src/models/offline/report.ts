// Tool results in plain sentences.
import { base64Bytes, type ContentBlock } from "../../base/text/content.js";
import type { ModelTool, ModelToolResult } from "../model.js";
import { bareName } from "./names.js";

/** What is repeated of a long text: the person sees the whole of it with the call itself. */
const TEXT_MAX_CHARS = 8_000;

export function report(result: ModelToolResult): string {
  const name = bareName(result.name);
  const texts = result.content.flatMap((block) =>
    block.type === "text" && block.text.trim() !== "" ? [block.text] : [],
  );
  const others = result.content.flatMap((block) => sentence(block) ?? []);
  const said =
    texts.length === 0 ? [] : [`${name} ${result.isError ? "failed" : "answered"}:${shown(texts.join("\n"))}`];
  if (said.length === 0 && (result.isError || others.length === 0)) {
    said.push(result.isError ? `${name} failed and did not say why.` : `${name} finished and returned nothing.`);
  }
  return [...said, ...others.map((other) => other.replace("It", said.length === 0 ? name : "It"))].join("\n");
}

export function reportSearch(found: readonly ModelTool[]): string {
  if (found.length === 0) return "I searched for other tools and found none that fits.";
  return `I searched for other tools and found ${found.map(({ name }) => bareName(name)).join(", ")}.`;
}

/** On the same line when it is one, otherwise below. */
function shown(text: string): string {
  const trimmed = text.trim();
  const rest = trimmed.length - TEXT_MAX_CHARS;
  const kept = rest > 0 ? `${trimmed.slice(0, TEXT_MAX_CHARS)}\n… and ${rest} more characters.` : trimmed;
  return kept.includes("\n") ? `\n\n${kept}\n` : ` ${kept}`;
}

function sentence(block: ContentBlock): string | undefined {
  switch (block.type) {
    case "text":
      return undefined;
    case "image":
      return `It returned an image (${block.mimeType}, ${size(base64Bytes(block.data))}).`;
    case "audio":
      return `It returned a sound (${block.mimeType}, ${size(base64Bytes(block.data))}).`;
    case "resource": {
      const type = block.mimeType === undefined ? "" : `${block.mimeType}, `;
      if (block.text !== undefined) return `It returned the resource ${block.uri}:${shown(block.text)}`;
      return `It returned the resource ${block.uri} (${type}${size(base64Bytes(block.blob ?? ""))}).`;
    }
    case "resource_link": {
      const told = block.description === undefined ? "" : `: ${block.description}`;
      return `It points to ${block.title ?? block.name} (${block.uri})${told}`;
    }
    case "spilled":
      return `It returned ${block.kind} of ${size(block.bytes)}, kept in ${block.path}:${shown(block.preview)}`;
    case "unknown":
      return `It returned content of a kind I cannot show ("${block.kind}").`;
  }
}

function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
