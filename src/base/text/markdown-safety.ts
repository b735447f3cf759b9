// What keeps Markdown of models and servers harmless wherever it is rendered: bounded parsing, plain links, marked characters.
import { markHidden } from "./marking.js";
import { isUrl } from "./url.js";

/** Longer texts are shown as they are: parsing takes time with their length. */
const MAX_CHARS = 200_000;
/** Deeper blocks are shown as they are written. */
export const MARKDOWN_DEPTH = 24;
/** The parser's time grows with the square of the marks in a paragraph: a thousand of `*a ` take it 150 ms, 10,000 take 20 s. */
const MAX_MARKS_SQUARED = 1_500_000;

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** The address as the browser reads it; undefined for `javascript:`, `data:` and all others that are no plain address. */
export function safeAddress(text: string): URL | undefined {
  if (!isUrl(text)) return undefined;
  const url = new URL(text);
  return SCHEMES.has(url.protocol) ? url : undefined;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** The parser decodes entities by number, this the others. One that stood for a hidden character is marked. */
export function decoded(text: string): string {
  if (!text.includes("&")) return markHidden(text);
  const plain = text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/giu, (whole, decimal, hex, name) => {
    const code = decimal === undefined ? Number.parseInt(String(hex ?? ""), 16) : Number(decimal);
    if (name !== undefined) return entityOf(String(name)) ?? String(whole);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      ? String.fromCodePoint(code)
      : String(whole);
  });
  return markHidden(plain);
}

function entityOf(name: string): string | undefined {
  return Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
}

/** Whether a parser of Markdown may be given the text: longer or slower ones are shown as they are. */
export function isLexable(text: string): boolean {
  return text.length <= MAX_CHARS && !isSlow(text);
}

/** Whether the parser would take so long that the page stands still, as texts made for that do. Items of lists are parsed each by itself. */
function isSlow(text: string): boolean {
  if (text.length * text.length <= MAX_MARKS_SQUARED) return false;
  let cost = 0;
  for (const paragraph of text.split(/\n[ \t]*\n|\n(?= {0,3}[-+] \S)/u)) {
    const marks = paragraph.match(/[*_~[\]`<!|&\\]/gu)?.length ?? 0;
    cost += marks * marks;
  }
  return cost > MAX_MARKS_SQUARED;
}
