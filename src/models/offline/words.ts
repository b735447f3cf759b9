// Text as comparable words: split at case and punctuation, lower-cased, lightly stemmed, with a few groups of synonyms.

/** Words that say nothing about which tool is meant. */
const STOP_WORDS = new Set(
  (
    "a an the this that these those my your our its it me i you we us he she they them is are was were be been am does did " +
    "can could would should will shall may might must please pls kindly want wants need needs like lets let to of for in on at " +
    "by with from into onto as and or but so then also now just about than there what which who how when where why if not no " +
    "hey hi hello ok okay thanks thank s t m ll re ve d some any tool tools mcp using"
  ).split(" "),
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

/** A form in which `files`, `file`, `listing` and `list` meet. Not English: only for comparing. */
export function stem(word: string): string {
  let root = word;
  if (/[^aeiou]ies$/.test(root)) root = `${root.slice(0, -3)}y`;
  else if (/(?:s|x|z|ch|sh)es$/.test(root)) root = root.slice(0, -2);
  else if (root.length > 3 && /[^su]s$/.test(root)) root = root.slice(0, -1);
  const verb = /^(.*[aeiouy].*)(?:ing|ed)$/.exec(root)?.[1];
  if (verb !== undefined && verb.length > 2) root = verb.replace(/([bcfgkmnprtv])\1$/, "$1");
  return root.length > 3 && root.endsWith("e") ? root.slice(0, -1) : root;
}

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

export function isInvocation(word: string): boolean {
  return INVOCATIONS.has(word);
}

/** The stems that carry meaning, in order. */
export function contentStems(text: string): string[] {
  return words(text)
    .filter((word) => !STOP_WORDS.has(word))
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
