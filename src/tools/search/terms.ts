// Text to search terms: identifiers taken apart, stop words left out, English stems, pairs of characters where words have no gaps.
import { stemmer } from "stemmer";
import { STOP_WORDS } from "./stop-words.js";

const ASCII = /^[\x20-\x7e\s]*$/u;
const APOSTROPHE = /(?<=\p{L})['’](?=\p{L})/gu;
/** Accents of Latin, Greek and Cyrillic letters: people leave them out. */
const ACCENTS = /[\u0300-\u036f]/gu;
const RUN = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts that are written without gaps between words. */
const GAPLESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
/** `getHTTPStatus2` is get, HTTP, Status, 2; `listURLs` is list, URLs. */
const PART = /\p{Lu}{2,}s(?![\p{Ll}\p{Lu}])|\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}]+|\p{N}+/gu;
const LOWER = /^[a-z]+$/u;
const LETTERS = /^[a-z]{3,}$/u;
const ONE_LETTER = /^[a-z]$/u;

/** Longer runs are keys, hashes and encoded data. */
const MAX_RUN_CHARS = 64;
/** Enough for the words of 10,000 tools; then the memory of stems starts anew. */
const MAX_REMEMBERED = 16_384;

/** At most this much of a text is looked at, and at most so many words of it. */
export interface TextBounds {
  readonly maxChars: number;
  readonly maxWords: number;
}

/** Lower-case words in order, stop words included. */
export function wordsOf(text: string, { maxChars, maxWords }: TextBounds): string[] {
  const words: string[] = [];
  for (const [run] of plain(text.slice(0, maxChars)).matchAll(RUN)) {
    if (words.length >= maxWords) break;
    if (LOWER.test(run)) {
      if (run.length <= MAX_RUN_CHARS) words.push(run);
    } else addRun(run, words);
  }
  if (words.length > maxWords) words.length = maxWords;
  return words;
}

/** The term a word is found by; undefined for one that says nothing. */
export function termOf(word: string): string | undefined {
  let term = remembered.get(word);
  if (term === undefined) {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    term = STOP_WORDS.has(word) || ONE_LETTER.test(word) ? "" : LETTERS.test(word) ? stemmer(word) : word;
    remembered.set(word, term);
  }
  return term === "" ? undefined : term;
}

export function termsOf(text: string, bounds: TextBounds): string[] {
  return wordsOf(text, bounds).flatMap((word) => termOf(word) ?? []);
}

/** Stems cost more than all the rest. An empty one stands for a word that says nothing. */
const remembered = new Map<string, string>();

function plain(text: string): string {
  const flat = ASCII.test(text) ? text : text.normalize("NFKD").replace(ACCENTS, "").normalize("NFKC");
  return flat.replace(APOSTROPHE, "");
}

function addRun(run: string, words: string[]): void {
  let end = 0;
  for (const gapless of run.matchAll(GAPLESS)) {
    addParts(run.slice(end, gapless.index), words);
    addPairs(gapless[0], words);
    end = gapless.index + gapless[0].length;
  }
  addParts(end === 0 ? run : run.slice(end), words);
}

function addParts(run: string, words: string[]): void {
  if (run.length > MAX_RUN_CHARS) return;
  const parts = run.match(PART) ?? [];
  for (const part of parts) words.push(part.toLowerCase());
  // `GitHub`, `YouTube`: others write them as one word.
  const [first, second] = parts;
  if (parts.length === 2 && first && second && isCapital(first) && isCapital(second)) {
    words.push(`${first}${second}`.toLowerCase());
  }
}

function isCapital(part: string): boolean {
  return /^\p{Lu}/u.test(part);
}

function addPairs(run: string, words: string[]): void {
  const characters = Array.from(run);
  if (characters.length === 1) words.push(run);
  for (const [index, character] of characters.entries()) {
    const next = characters[index + 1];
    if (next !== undefined) words.push(`${character}${next}`);
  }
}
