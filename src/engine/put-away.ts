// Takes results out of the conversation: each is kept under a handle, and the handle takes its place.

import { base64Bytes, type ContentBlock, text } from "../base/text/content.js";
import { hostLine, quoted } from "../base/text/marking.js";
import type { ModelMessage, ModelToolResult } from "../models/index.js";
import type { ResultStore } from "../tools/index.js";
import { ENGINE_LIMITS } from "./limits.js";

/** Of the messages before `end`. What cannot be kept stays as it is. */
export async function putAwayResults(
  messages: readonly ModelMessage[],
  store: ResultStore,
  end: number,
): Promise<readonly ModelMessage[]> {
  const changed: ModelMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const isLong = message.role === "tool" && index < end && message.results.some((result) => isWorthIt(result));
    changed.push(isLong ? { role: "tool", results: await putAwayAll(message.results, store) } : message);
  }
  return changed;
}

export function hasResultsToPutAway(messages: readonly ModelMessage[]): boolean {
  return messages.some((message) => message.role === "tool" && message.results.some((result) => isWorthIt(result)));
}

async function putAwayAll(
  results: readonly ModelToolResult[],
  store: ResultStore,
): Promise<readonly ModelToolResult[]> {
  const changed: ModelToolResult[] = [];
  for (const result of results) changed.push(isWorthIt(result) ? await putAway(result, store) : result);
  return changed;
}

function isWorthIt({ content }: ModelToolResult): boolean {
  return (
    content.some((block) => dataOf(block) !== undefined) || wordsOf(content).length > ENGINE_LIMITS.putAway.minChars
  );
}

async function putAway(result: ModelToolResult, store: ResultStore): Promise<ModelToolResult> {
  const content: ContentBlock[] = [];
  const words = wordsOf(result.content);
  if (words !== "") content.push(...(await wordsAway(words, result, store)));
  for (const block of result.content) {
    const data = dataOf(block);
    if (data !== undefined) content.push(await dataAway(block, data, { result, store }));
  }
  return { ...result, content };
}

async function wordsAway(words: string, result: ModelToolResult, store: ResultStore): Promise<readonly ContentBlock[]> {
  if (words.length <= ENGINE_LIMITS.putAway.minChars) return [text(words)];
  const handle = (await keptAlready(words, store)) ?? (await kept(words, result, store));
  if (handle === undefined) return [text(words)];
  const shown = words.slice(0, ENGINE_LIMITS.putAway.shownChars).replace(/[\ud800-\udbff]$/u, "");
  const read = `read it with tenon_read_result ${JSON.stringify({ handle })}`;
  return [
    text(
      `${shown}…\n${hostLine(`the rest of this result was moved out of the conversation; kept as ${handle}: ${read}`)}`,
    ),
  ];
}

/** Lines of ours that say where the whole of a text is; nobody else can write lines that begin so. */
const WHOLE_KEPT = [
  /^\[tenon: .*The whole text \([^)]*\) is kept as (r[1-9]\d{0,8}):/m,
  /^\[tenon: (r[1-9]\d{0,8}), data from "/,
] as const;

async function keptAlready(words: string, store: ResultStore): Promise<string | undefined> {
  for (const pattern of WHOLE_KEPT) {
    const handle = pattern.exec(words)?.[1];
    if (handle !== undefined && (await store.find(handle))) return handle;
  }
  return undefined;
}

async function kept(words: string, { origin, name }: ModelToolResult, store: ResultStore): Promise<string | undefined> {
  const answer = await store.keepText([words], { origin: origin ?? name });
  return answer.ok ? answer.result.handle : undefined;
}

async function dataAway(
  block: ContentBlock,
  data: { readonly base64: string; readonly mimeType: string },
  { result, store }: { readonly result: ModelToolResult; readonly store: ResultStore },
): Promise<ContentBlock> {
  const { base64, mimeType } = data;
  const answer = await store.keepBase64(base64, { origin: result.origin ?? result.name, mimeType });
  if (!answer.ok) return block;
  const what = `${block.type} ${quoted(mimeType)}, ${base64Bytes(base64)} bytes`;
  const { handle } = answer.result;
  return text(hostLine(`${what}, was moved out of the conversation; pass it to a tool as {"$result":"${handle}"}`));
}

function wordsOf(content: readonly ContentBlock[]): string {
  const words = content.map((block) =>
    block.type === "text" ? block.text : block.type === "resource" ? (block.text ?? "") : "",
  );
  return words.filter((piece) => piece !== "").join("\n");
}

function dataOf(block: ContentBlock): { base64: string; mimeType: string } | undefined {
  if (block.type === "image" || block.type === "audio") return { base64: block.data, mimeType: block.mimeType };
  if (block.type === "resource" && block.blob !== undefined) {
    return { base64: block.blob, mimeType: block.mimeType ?? "application/octet-stream" };
  }
  return undefined;
}
