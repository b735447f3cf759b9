// Content that may be put before a model: words of others marked, and the type that proves it.

import type { Brand } from "../brand.js";
import { defined } from "../json/defined.js";
import { LIMITS } from "../limits.js";
import { type ContentBlock, plainText, text } from "./content.js";
import { markForeign, markHidden } from "./marking.js";

/** Only `markContent` and `alreadyMarked` make it. A conversation takes user content of no other type. */
export type MarkedContent = Brand<readonly ContentBlock[], "MarkedContent">;

/** Words of a person, a file or a server as a model may read them; the very same blocks where there is nothing to mark. */
export function markContent(blocks: readonly ContentBlock[]): MarkedContent {
  return alreadyMarked(blocks.map((block) => markBlock(block)));
}

/**
 * For content that Tenon put together from marked words and lines of its own, and for content of a journal, which was
 * marked before it was written. The architecture test names the modules that may use it.
 */
export function alreadyMarked(blocks: readonly ContentBlock[]): MarkedContent {
  return blocks as MarkedContent;
}

/** Every text of the block, names and addresses included. Data in base64 stays as it is. */
export function markBlock(block: ContentBlock): ContentBlock {
  switch (block.type) {
    case "text":
      return changed(block, { text: markForeign(block.text) });
    case "image":
      return changed(block, { mimeType: markLine(block.mimeType), ...lineOf("uri", block.uri) });
    case "audio":
      return changed(block, { mimeType: markLine(block.mimeType) });
    case "resource":
      return changed(block, {
        uri: markLine(block.uri),
        ...lineOf("mimeType", block.mimeType),
        ...defined({ text: block.text === undefined ? undefined : markForeign(block.text) }),
      });
    case "resource_link":
      return changed(block, {
        uri: markLine(block.uri),
        name: markLine(block.name),
        ...lineOf("title", block.title),
        ...lineOf("mimeType", block.mimeType),
        ...defined({ description: block.description === undefined ? undefined : markForeign(block.description) }),
      });
    case "spilled":
    case "unknown":
      return text(markForeign(plainText([block])));
  }
}

/** Names and addresses on one line: they stand inside lines of other words. Longer ones are cut. */
export function markLine(words: string): string {
  const cut = words.length > LIMITS.shownNameMaxChars ? `${words.slice(0, LIMITS.shownNameMaxChars)}…` : words;
  return markForeign(cut.replaceAll(/\s+/gu, " "));
}

function lineOf<Key extends string>(key: Key, words: string | undefined): { [K in Key]?: string } {
  const given: { [K in Key]?: string } = {};
  if (words !== undefined) given[key] = markLine(words);
  return given;
}

function changed<Block extends ContentBlock>(block: Block, marked: Partial<Block>): Block {
  const isSame = Object.entries(marked).every(([key, value]) => Reflect.get(block, key) === value);
  return isSame ? block : { ...block, ...marked };
}

/** The name of a frame, with its number. */
const FRAME_NAME = /resource(?:-(\d{1,9}))?/giu;

/** Whether a tag opens before an index: `<`, perhaps a slash, perhaps blanks. Each blank is looked at twice at most. */
function isInTag(words: string, at: number): boolean {
  const before = (index: number): number => {
    let place = index;
    while (place > 0 && /\s/u.test(words.charAt(place - 1))) place -= 1;
    return place;
  };
  let place = before(at);
  if (/[/／]/u.test(words.charAt(place - 1))) place = before(place - 1);
  return /[<＜﹤]/u.test(words.charAt(place - 1));
}

/**
 * A text in a frame that it cannot close: `<resource uri="…">`, or `<resource-2 uri="…">` and so on where the text itself
 * has such tags. The text stays as it is, so that a model can edit the file it comes from.
 */
export function framed(uri: string, words: string): string {
  let number = 0;
  for (const { 1: taken, index } of words.matchAll(FRAME_NAME))
    if (isInTag(words, index)) number = Math.max(number, Number(taken ?? 1));
  const tag = number === 0 ? "resource" : `resource-${number + 1}`;
  return `<${tag} uri=${JSON.stringify(markHidden(uri))}>\n${words}\n</${tag}>`;
}
