// Makes text from models, tools and servers safe to print: nothing in it can move the cursor, hide, or reorder what is read.

/**
 * Everything that is not seen as itself: controls, format characters (bidi, zero-width, TAG), what renderers ignore by
 * definition, separators that break lines, and lone surrogates. Newline and tab stay, and so do emoji selectors and the
 * few format characters that are visible signs of their scripts.
 */
const HIDDEN =
  /(?![\ufe00-\ufe0f\n\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}]/gu;

const DELETE = 0x7f;
const CONTROL_PICTURES = 0x2400;
const DELETE_PICTURE = "\u2421";

/** The text with every hidden character replaced by a visible stand-in; line breaks and tabs are kept. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(HIDDEN, standIn);
}

/** The same on one line, for titles and table cells: breaks, tabs and runs of blanks become one blank. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll(/\s+/gu, " ").trim();
}

/** JSON text that means the same and holds no hidden character: they are written as escapes. */
export function visibleJson(json: string): string {
  return json.replaceAll(HIDDEN, (character) =>
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
