// Makes text from models, tools and servers safe to print: nothing in it can move the cursor, hide, or reorder what is read.

import { replaceHidden } from "../../base/text/marking.js";

const DELETE = 0x7f;
const CONTROL_PICTURES = 0x2400;
const DELETE_PICTURE = "\u2421";

/** The text with every hidden character replaced by a visible stand-in; line breaks and tabs are kept. */
export function visible(text: string): string {
  return replaceHidden(text, standIn);
}

/** The same on one line, for titles and table cells: breaks, tabs and runs of blanks become one blank. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll(/\s+/gu, " ").trim();
}

/** JSON text that means the same and holds no hidden character: they are written as escapes. */
export function visibleJson(json: string): string {
  return replaceHidden(json, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at)).toLowerCase()}`).join(""),
  );
}

function standIn(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
  return code === DELETE ? DELETE_PICTURE : `<U+${hex(code)}>`;
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, "0");
}
