// The words of a request that are neither its command nor a value already taken: what "echo" is to repeat.
import type { Parameter } from "./parameters.js";
import { isInvocation, isStopWord, likeness, stem, words } from "./words.js";

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Words that lead to a value and go with it when it is taken out of the sentence. */
const LEADING = new Set(
  "to into in at from as on onto of for with and the a an file path folder directory url called named inside under is using".split(
    " ",
  ),
);

/** Words between a command and its text: "search *for* cats". */
const CONNECTORS = /^(?:(?:for|that|about|saying|says|called|named|titled|with|of|on|is|are)\s+|[:=,–—>-]+\s*)+/i;
const POLITE_START =
  /^(?:(?:please|kindly|hey|now|then|and|can you|could you|would you|will you|i want(?: you)? to|i'd like(?: you)? to|let's|just)[\s,]+)+/i;
const QUESTION = /^(?:what is|what's|whats|how much is)\s+(.*?)\s*\?*$/is;
const POLITE_END = /[\s,]+(?:please|thanks|thank you)[\s.!]*$/i;

/** What is left of the text when the used ranges, with the words that lead to them, are cut out. */
export function withoutUsed(text: string, used: readonly Range[]): string {
  const ordered = used.toSorted((one, other) => one.start - other.start);
  let kept = "";
  let at = 0;
  for (const { start, end } of ordered) {
    if (start > at) kept += withoutLeading(text.slice(at, start));
    at = Math.max(at, end);
    kept += " ";
  }
  return `${kept}${text.slice(at)}`.replaceAll(/[^\S\n]+/g, " ").trim();
}

function withoutLeading(text: string): string {
  let kept = text;
  for (;;) {
    const last = /(?:^|[\s,])([\p{L}]+)[\s,:]*$/u.exec(kept);
    if (last === null || !LEADING.has((last[1] ?? "").toLowerCase())) return kept;
    kept = kept.slice(0, last.index);
  }
}

/**
 * Drops the command: the words at the start that name the tool or the parameter, with the small words between them. Only up
 * to the last word that names something, so that "echo the end" keeps its "the".
 */
export function withoutCommand(text: string, toolWords: ReadonlySet<string>, parameter: Parameter | undefined): string {
  const polite = text.replace(POLITE_START, "").replace(POLITE_END, "").trim().replace(QUESTION, "$1");
  const own = new Set([...toolWords, ...(parameter?.stems ?? [])]);
  let cut = 0;
  for (const match of polite.matchAll(/[\p{L}\p{N}_'’-]+/gu)) {
    const parts = words(match[0]);
    const isOwn = parts.length > 0 && parts.every((part) => isOneOf(stem(part), own));
    if (isOwn) cut = match.index + match[0].length;
    else if (!parts.every((part) => isStopWord(part) || isInvocation(part))) break;
  }
  const rest = polite.slice(cut).trimStart();
  return cut === 0 ? rest : rest.replace(CONNECTORS, "").trim();
}

function isOneOf(word: string, own: ReadonlySet<string>): boolean {
  return own.has(word) || [...own].some((one) => likeness(one, word) > 0);
}
