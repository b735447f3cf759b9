// How many cells a text takes in a terminal, and cutting it to fit.

const COMBINING = /^[\p{Mn}\p{Me}\ufe00-\ufe0f]$/u;
/** East Asian wide and full-width blocks, and what terminals draw as two-cell pictures. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;
const PICTURE = /^\p{Emoji_Presentation}$/u;

export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += cells(character);
  return width;
}

/** At most `columns` cells of the text; what was cut is marked by an ellipsis. */
export function clipToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return "";
  let kept = "";
  let width = 0;
  for (const character of text) {
    width += cells(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

function cells(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) || PICTURE.test(character) ? 2 : 1;
}
