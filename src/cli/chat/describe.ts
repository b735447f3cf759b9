// Protocol data in words for a terminal: content as lines, arguments in short and in full. All of it made visible first.
import type { ContentBlock, ToolCallContent } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { base64Bytes } from "../../base/text/content.js";
import { clipToWidth, graphemesOf, visible, visibleLine } from "../terminal/text.js";

/** Structured values longer than this are spread over lines. */
const COMPACT_LENGTH = 80;

export function describeBlock(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return visible(block.text);
    case "image":
    case "audio":
      return `[${block.type} ${visibleLine(block.mimeType)}, ${base64Bytes(block.data)} bytes]`;
    case "resource_link":
      return `[${visibleLine(block.title ?? block.name)}] ${visibleLine(block.uri)}`;
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return visible(resource.text);
      return `[resource ${visibleLine(resource.uri)}, ${base64Bytes(resource.blob)} bytes]`;
    }
  }
}

function describeContent(content: ToolCallContent): string {
  switch (content.type) {
    case "content":
      return describeBlock(content.content);
    case "diff":
      return `[change of ${visibleLine(content.path)}]`;
    case "terminal":
      return `[terminal ${visibleLine(content.terminalId)}]`;
  }
}

/** The lines of a result; parts without any text give none. */
export function contentLines(content: readonly ToolCallContent[]): string[] {
  return content.flatMap((item) => {
    const text = describeContent(item).replace(/^\n+/u, "").trimEnd();
    return text === "" ? [] : text.split("\n");
  });
}

/** The first lines that fit, and a line that says how many were left out. */
export function preview(
  lines: readonly string[],
  { maxLines, columns }: { maxLines: number; columns: number },
): string[] {
  const shown = lines.slice(0, maxLines).map((line) => clipToWidth(line.replaceAll("\t", "  "), columns));
  const hidden = lines.length - shown.length;
  return hidden === 0 ? shown : [...shown, `… ${hidden} more ${hidden === 1 ? "line" : "lines"}`];
}

/** The first and the last lines that fit, and between them how many were left out; of a long line its beginning and end. */
export function previewEnds(
  lines: readonly string[],
  { maxLines, maxChars, where }: { maxLines: number; maxChars: number; where: string },
): { readonly shown: string[]; readonly isWhole: boolean } {
  const isWhole = lines.length <= maxLines && lines.every((line) => graphemesOf(line).length <= maxChars);
  const end = Math.floor(maxChars / 2);
  const fit = (line: string) => {
    const characters = graphemesOf(line.replaceAll("\t", "  "));
    if (characters.length <= maxChars) return characters.join("");
    const gap = ` … ${characters.length - 2 * end} more characters${where} … `;
    return characters.slice(0, end).join("") + gap + characters.slice(-end).join("");
  };
  const hidden = lines.length - maxLines;
  if (hidden <= 0) return { shown: lines.map(fit), isWhole };
  const last = Math.floor(maxLines / 3);
  const words = `… ${hidden} more ${hidden === 1 ? "line" : "lines"}${where}`;
  return { shown: [...lines.slice(0, maxLines - last).map(fit), words, ...lines.slice(-last).map(fit)], isWhole };
}

/** Arguments on one line: `path=a.txt content="two words"`. */
export function shortArguments(input: unknown): string {
  if (!isJsonObject(input)) return input === undefined || input === null ? "" : visibleLine(JSON.stringify(input));
  return Object.entries(input)
    .map(([key, value]) => `${visibleLine(key)}=${shortValue(value)}`)
    .join(" ");
}

function shortValue(value: unknown): string {
  const json = visibleLine(JSON.stringify(value) ?? "");
  return typeof value === "string" && /^[^\s"=]+$/u.test(value) ? visibleLine(value) : json;
}

/** Arguments as a person must see them before saying yes: every one, with its line breaks. */
export function fullArguments(input: unknown): string[] {
  if (!isJsonObject(input)) return input === undefined || input === null ? [] : valueLines(input);
  return Object.entries(input).flatMap(([key, value]) => {
    const lines = valueLines(value);
    const name = visibleLine(key);
    return lines.length === 1 ? [`${name}: ${lines[0]}`] : [`${name}:`, ...lines.map((line) => `  ${line}`)];
  });
}

function valueLines(value: unknown): string[] {
  if (typeof value === "string") return visible(value).split("\n");
  const compact = JSON.stringify(value) ?? "";
  return visible(compact.length <= COMPACT_LENGTH ? compact : JSON.stringify(value, null, 2)).split("\n");
}

/** An outage, with the seconds that are left until the next attempt. */
export function retryWords(title: string, { reason, untilMs, attempt, attempts }: JsonObject): string {
  const left = Math.max(0, Math.ceil((Number(untilMs) - Date.now()) / 1_000));
  const words = typeof reason === "string" ? reason : title;
  return `trying again in ${left} s (${Number(attempt)} of ${Number(attempts)}): ${words}`;
}
