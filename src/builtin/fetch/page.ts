// What came from the web, as content for the model: a page as text, an image as an image, anything else by its type.

import { Pace } from "../../base/async/pace.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { ContentBlock } from "../../base/text/content.js";
import { text } from "../../base/text/content.js";
import { BUILTIN_LIMITS } from "../limits.js";
import { sniff } from "../text/sniff.js";
import type { Got } from "./get.js";

/** Undefined: nothing a model can read. */
export async function pageContent(
  { contentType, body }: Got,
  url: URL,
  world: World,
): Promise<readonly ContentBlock[] | undefined> {
  const sniffed = sniff(body.subarray(0, BUILTIN_LIMITS.sniffBytes));
  if (sniffed.kind === "image" && body.length <= LIMITS.resultMaxImageBytes) {
    return [{ type: "image", mimeType: sniffed.mimeType, data: Buffer.from(body).toString("base64") }];
  }
  if (sniffed.kind !== "text") return undefined;
  const words = new TextDecoder(charsetOf(contentType, body)).decode(body);
  if (!isHtml(contentType, words)) return [text(words)];
  const { pageText } = await import("./html-text.js"); // the parser is loaded with the first page
  const page = await pageText(words, url, Pace.of(world));
  const cut = page.isCut ? [text("[The rest of the page is not shown: it is too long or nested too deeply.]")] : [];
  return [text(page.title === "" ? page.text : `${page.title}\n\n${page.text}`), ...cut];
}

function isHtml(contentType: string, words: string): boolean {
  if (/html/iu.test(contentType)) return true;
  return contentType === "" && /^\s*<(!doctype html|html)/iu.test(words);
}

/** From the header, else from the page's own first lines, else UTF-8; a name nobody knows is UTF-8 too. */
function charsetOf(contentType: string, body: Uint8Array): string {
  const start = new TextDecoder("latin1").decode(body.subarray(0, 1_024));
  const named =
    /charset=["']?([\w-]+)/iu.exec(contentType)?.[1] ?? /<meta[^>]+charset=["']?([\w-]+)/iu.exec(start)?.[1];
  try {
    return new TextDecoder(named ?? "utf-8").encoding;
  } catch {
    return "utf-8";
  }
}
