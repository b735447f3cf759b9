// Words of servers on one line, for people and for indexes.
import { markForeign } from "../base/text/marking.js";

/** What is looked at of a text: some descriptions are books. */
const MAX_CHARS = 4_000;

export function firstSentence(text: string): string {
  const line = plain(
    text
      .slice(0, MAX_CHARS)
      .trimStart()
      .split(/\n\s*\n/u, 1)[0] ?? "",
  );
  return /^.*?[.!?](?=\s|$)/u.exec(line)?.[0] ?? line;
}

/** On one line, what does not show marked. */
export function plain(text: string): string {
  return markForeign(text.replaceAll(/[\s\u0085]+/gu, " ").trim());
}

export function cut(text: string, maxChars: number): string {
  const letters = Array.from(text);
  return letters.length <= maxChars ? text : `${letters.slice(0, maxChars - 1).join("")}…`;
}
