// Words of servers on one line of Markdown: what they say must not become layout.
import { markForeign } from "../../base/text/marking.js";

export function oneLine(text: string, maxChars = 200): string {
  const line = markForeign(text).replaceAll(/\s+/gu, " ").replaceAll("`", "'").trim();
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1)}…`;
}
