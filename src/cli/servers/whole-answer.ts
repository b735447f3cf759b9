// An answer that was too long for memory, put together again from the files it came in: before those go with the connection.

import { defined } from "../../base/json/defined.js";
import { type JsonValue, parseJson } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import type { ContentBlock, SpilledBlock } from "../../base/text/content.js";
import type { CallOutcome } from "../../mcp/index.js";

type Files = World["files"];

/** `withData`: images, audio and blobs too, which nobody reads as text. */
export async function wholeAnswer(
  outcome: CallOutcome,
  files: Files,
  { withData }: { readonly withData: boolean },
): Promise<CallOutcome> {
  if (outcome.kind !== "answered") return outcome;
  const content: ContentBlock[] = [];
  let { structured } = outcome;
  for (const block of outcome.content) {
    if (block.type !== "spilled") content.push(block);
    else if (block.kind === "structured") structured = await structuredOf(block, files);
    else content.push(await blockOf(block, files, withData));
  }
  return { ...outcome, content, ...defined({ structured }) };
}

export function isCut(outcome: CallOutcome): boolean {
  return outcome.kind === "answered" && outcome.content.some(({ type }) => type === "spilled");
}

/** The server's own JSON; what is none after all is still what it sent. */
async function structuredOf({ path }: SpilledBlock, files: Files): Promise<JsonValue> {
  const text = await files.readText(path);
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

async function blockOf(block: SpilledBlock, files: Files, withData: boolean): Promise<ContentBlock> {
  const { kind, path, preview, mimeType, uri = "" } = block;
  const isText = kind === "text" || (kind === "resource" && preview !== "");
  if (!isText && !withData) return block;
  const typed = mimeType === undefined ? {} : { mimeType };
  if (isText) {
    const text = await files.readText(path);
    return kind === "text" ? { type: "text", text } : { type: "resource", uri, text, ...typed };
  }
  const data = Buffer.from(await files.readBytes(path, { start: 0, length: block.bytes })).toString("base64");
  if (kind === "resource") return { type: "resource", uri, blob: data, ...typed };
  return { type: kind === "audio" ? "audio" : "image", data, mimeType: mimeType ?? "application/octet-stream" };
}
