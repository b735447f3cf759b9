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

/** Words of a command that neither name the tool nor are its text. */
const FILLERS = new Set("all every each any back following available".split(" "));

/** Words that may stand before the command and mean nothing to us: "I *think* you should *maybe* search". */
const MAX_UNKNOWN = 3;

/** Words between a command and its text: "search *for* cats". */
const CONNECTORS = /^(?:(?:for|that|about|saying|says|called|named|titled|with|of|on|is|are|into)\s+|[:=,–—>-]+\s*)+/i;
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

export interface Command {
  /** Stems that name the tool. */
  readonly words: ReadonlySet<string>;
  /** The parameter the text is for: its name may be said as well. */
  readonly parameter: Parameter | undefined;
  /** Whether the tool's name was said, and taken out, already. */
  readonly isSaid: boolean;
}

/**
 * Drops the command: the words at the start that name the tool or the parameter, with the small words between them. Only up
 * to the last word that names something, so that "echo the end" keeps its "the". A sentence that names nothing near its
 * start is no text for the tool, and leaves nothing.
 */
export function withoutCommand(text: string, command: Command): string {
  const polite = text.replace(POLITE_START, "").replace(POLITE_END, "").trim().replace(QUESTION, "$1");
  const own = [...command.words, ...(command.parameter?.stems ?? [])];
  let cut = command.isSaid ? 0 : -1;
  let unknown = 0;
  for (const match of polite.matchAll(/[\p{L}\p{N}_'’-]+/gu)) {
    const end = match.index + match[0].length;
    const parts = words(match[0]);
    if (parts.length > 0 && parts.every((part) => own.some((word) => likeness(word, stem(part)) > 0))) cut = end;
    else if (parts.every((part) => isStopWord(part) || isInvocation(part) || FILLERS.has(part))) {
      // "Echo this back to me: …" has its text after the colon.
      if (cut >= 0 && polite[end] === ":") cut = end;
    } else if (cut >= 0 || ++unknown > MAX_UNKNOWN) break;
  }
  if (cut >= 0) return polite.slice(cut).trimStart().replace(CONNECTORS, "").trim();
  return /^\p{L}/u.test(polite) ? "" : polite;
}
