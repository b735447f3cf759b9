// Text as comparable words: split at case and punctuation, lower-cased, lightly stemmed, with a few groups of synonyms.

/** Words that say nothing about which tool is meant. */
const STOP_WORDS = new Set(
  (
    "a an the this that these those my your our its it me i you we us he she they them is are was were be been am do does did " +
    "can could would should will shall may might must please pls kindly want wants need needs like lets let to of for in on at " +
    "by with from into onto as and or but so then also now just about than there what which who how when where why if not no " +
    "hey hi hello ok okay thanks thank s t m ll re ve d some any tool tools mcp using"
  ).split(" "),
);

/** Words that ask for a tool to be used without saying which. */
const INVOCATIONS = new Set(["use", "call", "run", "invoke", "execute", "try", "tell"]);

/** Words people use for what tools call otherwise; within a group each stands for the others. */
const SYNONYM_GROUPS: readonly (readonly string[])[] = [
  ["read", "show", "display", "view", "cat", "print", "open", "get", "fetch", "retrieve", "see"],
  ["list", "show", "ls", "enumerate"],
  ["write", "save", "store", "put"],
  ["create", "make", "new", "add"],
  ["delete", "remove", "erase", "drop", "rm"],
  ["search", "find", "look", "lookup", "grep", "locate"],
  ["directory", "folder", "dir", "here"],
  ["file", "document"],
  ["add", "sum", "plus", "total", "addition"],
  ["subtract", "minus", "difference"],
  ["multiply", "times", "product"],
  ["divide", "quotient"],
  ["calculate", "compute", "calculator", "evaluate", "math", "calc"],
  ["image", "picture", "photo", "logo", "img"],
  ["environment", "env"],
  ["move", "rename", "mv"],
  ["copy", "duplicate", "cp"],
  ["edit", "change", "modify", "update", "replace"],
  ["run", "execute", "start", "launch", "trigger"],
  ["echo", "say", "repeat"],
  ["navigate", "go", "visit", "browse"],
  ["slow", "long"],
  ["job", "task", "operation"],
  ["info", "information", "details", "metadata"],
  ["history", "log"],
];

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

/** The stems that carry meaning, in order, without the words that only ask for a tool to be used. */
export function contentStems(text: string): string[] {
  const kept = words(text).filter((word) => !STOP_WORDS.has(word));
  const start = kept.findIndex((word) => !INVOCATIONS.has(word));
  return (start < 0 ? kept : kept.slice(start)).map((word) => stem(word));
}

export function stems(text: string): Set<string> {
  return new Set(words(text).map((word) => stem(word)));
}

export function operatorStems(text: string): string[] {
  return OPERATORS.flatMap(([pattern, meant]) => (pattern.test(text) ? meant.map((word) => stem(word)) : []));
}

const SYNONYMS = new Map<string, Set<string>>();
for (const group of SYNONYM_GROUPS) {
  const members = group.map((word) => stem(word));
  for (const member of members) SYNONYMS.set(member, new Set([...(SYNONYMS.get(member) ?? []), ...members]));
}

export function areSynonyms(one: string, other: string): boolean {
  return one === other || SYNONYMS.get(one)?.has(other) === true;
}
