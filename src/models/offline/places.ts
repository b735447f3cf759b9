// Paths in plain words: "here", "in docs", "the folder src".
import type { Span } from "./spans.js";
import { isStopWord, stem } from "./words.js";

export interface NamedPlace {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

const HERE =
  /\b(?:(?:in|of|from|at|for)\s+)?(?:here|cwd|(?:this|the|my|our)?\s*(?:current|present|working)(?:\s+working)?\s+(?:folder|directory|dir)|(?:this|the|my|our)\s+(?:project|repo|repository|workspace)|this\s+(?:folder|directory|dir))\b/iu;
const IN_PLACE =
  /\b(?:in|inside|into|under|within|from|at|of|to)\s+(?:(?:the|my|our)\s+)?(?:(?:folder|directory|dir|file)\s+)?(?:(?:called|named)\s+)?([\p{L}\p{N}_.@-]+)(\s+(?:folder|directory|dir|file)\b)?/giu;
const NAMED = /\b(?:called|named|folder|directory|dir|file)\s+([\p{L}\p{N}_.@-]+)/giu;

/** Words for what is in a place, or for all of it. */
const GENERIC = /^(?:files?|folders?|director(?:y|ies)|contents?|everything|all|stuff|things?|documents?)$/i;

export function isGenericPlace(word: string): boolean {
  return GENERIC.test(word);
}

/** Whether a path is said to be where to work: "in /srv/app", or any absolute one. */
export function isPlaceToWorkIn(text: string, span: Span): boolean {
  if (span.kind !== "path") return false;
  return /^(?:[/~]|[A-Za-z]:)/.test(span.text) || /\b(?:in|at|inside)\s+$/i.test(text.slice(0, span.start));
}

/** The place a text speaks of, with the words that say so. */
export function nearbyPlace(text: string, toolWords: ReadonlySet<string>): NamedPlace | undefined {
  const here = HERE.exec(text);
  if (here !== null) return { path: ".", start: here.index, end: here.index + here[0].length };
  for (const form of [IN_PLACE, NAMED]) {
    // The last one: "a list of the files in docs" is about docs.
    const found = [...text.matchAll(form)].findLast((match) => isName(match[1] ?? "", match[2], toolWords));
    const name = found?.[1]?.replace(/[.,:]+$/, "");
    if (found !== undefined && name !== undefined && name !== "") {
      return { path: name, start: found.index, end: found.index + found[0].length };
    }
  }
  return undefined;
}

function isName(word: string, suffix: string | undefined, toolWords: ReadonlySet<string>): boolean {
  const lower = word.toLowerCase();
  if (isStopWord(lower) || isGenericPlace(lower) || lower === "called" || lower === "named") return false;
  return suffix !== undefined || !toolWords.has(stem(lower));
}
