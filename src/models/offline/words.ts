// Text as comparable words: split at case and punctuation, lower-cased, stemmed, with a few groups of synonyms.
import { isFunctionWord, stemOf } from "../../base/text/terms.js";

/** Words around a request that say nothing about which tool is meant, beside the function words of English. */
const CHAT_WORDS = new Set(
  "please pls kindly want wants need needs like lets let hey hi hello ok okay thanks thank tool tools mcp using".split(
    " ",
  ),
);

/** Function words that tell tools and requests apart: "list files here", `log_out`, `get_all`. */
const MEANINGFUL = new Set(
  "here off out up down over under above below before after between all each every both one other own same more most".split(
    " ",
  ),
);

/** Words that ask for a tool to be used without saying which. */
const INVOCATIONS = new Set(["use", "call", "run", "invoke", "execute", "try", "tell", "do", "give"]);

/** Words people use for what tools call otherwise. Within a group each stands for the others, with a weight below 1. */
const SYNONYM_GROUPS: readonly (readonly [weight: number, words: readonly string[]])[] = [
  [0.6, ["read", "show", "display", "view", "cat", "print", "open", "see"]],
  [0.6, ["list", "show", "ls", "enumerate"]],
  [0.4, ["get", "fetch", "retrieve", "show", "read", "give", "list"]],
  [0.6, ["write", "save", "store", "put"]],
  [0.4, ["write", "create", "make"]],
  [0.5, ["write", "save", "add", "put"]],
  [0.6, ["create", "make", "new", "add"]],
  [0.6, ["delete", "remove", "erase", "drop", "rm"]],
  [0.6, ["search", "find", "look", "lookup", "grep", "locate"]],
  [0.6, ["directory", "folder", "dir", "here"]],
  [0.6, ["file", "document"]],
  [1, ["add", "adding"]], // the stemmer makes "ad" of the second
  [0.6, ["add", "sum", "plus", "total", "addition"]],
  [0.6, ["subtract", "minus", "difference"]],
  [0.6, ["multiply", "times", "product"]],
  [0.6, ["divide", "quotient"]],
  [0.6, ["calculate", "compute", "calculator", "evaluate", "math", "calc"]],
  [0.6, ["image", "picture", "photo", "logo", "img", "media"]],
  [0.6, ["environment", "env"]],
  [0.6, ["move", "rename", "mv"]],
  [0.6, ["copy", "duplicate", "cp"]],
  [0.6, ["edit", "change", "modify", "update", "replace"]],
  [0.6, ["run", "execute", "start", "launch", "trigger"]],
  [0.6, ["echo", "say", "repeat"]],
  [0.6, ["navigate", "go", "visit", "browse", "open"]],
  [0.6, ["slow", "long"]],
  [0.6, ["job", "task", "operation"]],
  [0.6, ["info", "information", "details", "metadata"]],
  [0.8, ["history", "log"]],
];

/** Words that say what is to be done: a tool that does something else is not meant. */
const ACTIONS = (
  "read open list ls write save store create make add delete remove erase drop rm search find grep " +
  "move rename copy edit change modify update replace navigate visit multiply subtract divide fetch retrieve"
).split(" ");

/** Operators between numbers, as the words they stand for. */
const OPERATORS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\d\s*\+\s*[\d-]/, ["add", "sum", "calculate"]],
  [/\d\s*[*×]\s*[\d-]/, ["multiply", "calculate"]],
  [/\d\s+[-−]\s+\d/, ["subtract", "calculate"]],
  [/\d\s*[÷/]\s*\d/, ["divide", "calculate"]],
];

/** Every word of a text, lower-cased: `readTextFile`, `read_text_file` and `read text file` are the same. */
export function words(text: string): string[] {
  return (
    text
      .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
      .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  );
}

/** A form in which `files`, `file`, `listing` and `list` meet. */
export const stem: typeof stemOf = stemOf;

export function isStopWord(word: string): boolean {
  if (MEANINGFUL.has(word) || INVOCATIONS.has(word)) return false;
  return isFunctionWord(word) || CHAT_WORDS.has(word);
}

export function isInvocation(word: string): boolean {
  return INVOCATIONS.has(word);
}

/** The stems that carry meaning, in order. */
export function contentStems(text: string): string[] {
  return words(text)
    .filter((word) => !isStopWord(word))
    .map((word) => stem(word));
}

export function stems(text: string): Set<string> {
  return new Set(words(text).map((word) => stem(word)));
}

export function operatorStems(text: string): string[] {
  return OPERATORS.flatMap(([pattern, meant]) => (pattern.test(text) ? meant.map((word) => stem(word)) : []));
}

const ACTION_STEMS = new Set(ACTIONS.map((word) => stem(word)));

export function isAction(root: string): boolean {
  return ACTION_STEMS.has(root);
}

const SYNONYMS = new Map<string, Map<string, number>>();
for (const [weight, group] of SYNONYM_GROUPS) {
  const members = group.map((word) => stem(word));
  for (const member of members) {
    const known = SYNONYMS.get(member) ?? new Map<string, number>();
    for (const other of members) known.set(other, Math.max(weight, known.get(other) ?? 0));
    SYNONYMS.set(member, known);
  }
}

/** 1 for the same word, less for a synonym, 0 for words that have nothing to do with each other. */
export function likeness(one: string, other: string): number {
  return one === other ? 1 : (SYNONYMS.get(one)?.get(other) ?? 0);
}
