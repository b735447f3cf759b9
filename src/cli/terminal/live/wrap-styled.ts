// Breaks a line that has styles in it, so that each line begins with the styles that are open and ends them.
import { type Span, wrapSpans } from "../spans.js";

const PARTS = /\u001b\[[0-9;]*m|\u001b\]8;;[^\u001b]*\u001b\\|[^\u001b]+/gu;
const ENDS: ReadonlySet<string> = new Set(["0", "22", "23", "24", "27", "29", "39"]);
const LINK_END = "\u001b]8;;\u001b\\";

/** Lines after the first are indented; the first one keeps its own blanks, whichever style they are in. */
export function wrapStyled(line: string, columns: number, indent: number): string[] {
  const open: string[] = [];
  const spans: Span[] = [];
  for (const [part] of line.matchAll(PARTS)) {
    const code = /^\u001b\[([0-9;]*)m$/u.exec(part)?.[1];
    if (code !== undefined) {
      if (ENDS.has(code)) open.length = 0;
      else open.push(part);
    } else if (part === LINK_END) open.length = 0;
    else if (part.startsWith("\u001b]8")) open.push(part);
    else spans.push({ text: part, style: styleOf(open.join("")) });
  }
  const blanks = " ".repeat(indent);
  const own = /^\s*/u.exec(spans.map(({ text }) => text).join(""))?.[0] ?? "";
  const leading = own.slice(0, Math.max(indent, Math.floor(columns / 2)));
  const lines = wrapSpans(spans, Math.max(10, columns - Math.max(indent, leading.length)));
  return lines.map((parts, index) => {
    const text = parts.map(({ text, style }) => (style ? style(text) : text)).join("");
    return (index === 0 ? leading : blanks) + text;
  });
}

function styleOf(opening: string): ((text: string) => string) | undefined {
  if (opening === "") return undefined;
  return (text) => `${opening}${text}\u001b[0m${opening.includes("\u001b]8") ? LINK_END : ""}`;
}
