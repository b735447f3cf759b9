// Parses a shell command conservatively: what a grant or an allow rule may cover is one program with literal words, nothing else.

/** One program with literal arguments, quotes removed; or the reason why the text is more than that. */
export type ParsedCommand =
  | { readonly kind: "simple"; readonly words: readonly string[] }
  | { readonly kind: "complex"; readonly why: string };

/** Unquoted characters that no POSIX shell treats specially inside a word. */
const PLAIN = /[A-Za-z0-9_@%+=:,./-]/u;
/** cmd.exe expands `%`, and separates words at `=` and `,`; it knows no single quotes. */
const PLAIN_ON_WINDOWS = /[A-Za-z0-9_@+:./\\-]/u;
const PROGRAM = /^[A-Za-z0-9_./\\:+][A-Za-z0-9_./\\:+-]*$/u;

/** Words that are no program: the shell itself reads or runs what follows them. */
const SHELL_WORDS: ReadonlySet<string> = new Set(
  "alias bind builtin case cd command coproc declare do done elif else enable esac eval exec export fi for function if in local popd pushd readonly select set shopt source then time trap type typeset unalias unset until while . :".split(
    " ",
  ),
);

export function parseCommand(text: string, platform: NodeJS.Platform = "linux"): ParsedCommand {
  const words = platform === "win32" ? plainWords(text, PLAIN_ON_WINDOWS) : quotedWords(text);
  if (typeof words === "string") return { kind: "complex", why: words };
  const [program] = words;
  if (program === undefined) return { kind: "complex", why: "it is empty" };
  const first = /^\s*(\S*)/u.exec(text)?.[1] ?? "";
  if (first !== program) return { kind: "complex", why: "the program's name is quoted or escaped" };
  if (program.includes("=")) return { kind: "complex", why: "it sets a variable for the program" };
  if (!PROGRAM.test(program)) return { kind: "complex", why: "the program's name is not a plain word" };
  if (SHELL_WORDS.has(program)) return { kind: "complex", why: `${program} is a word of the shell` };
  return { kind: "simple", words };
}

/** The words, or why there are none. */
function plainWords(text: string, plain: RegExp): readonly string[] | string {
  const odd = Array.from(text).find((letter) => letter !== " " && letter !== "\t" && !plain.test(letter));
  return odd === undefined ? text.split(/[ \t]+/u).filter((word) => word !== "") : special(odd);
}

function quotedWords(text: string): readonly string[] | string {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (const letter of text) {
    if (isControl(letter) && letter !== "\t") return special(letter);
    if (quote !== undefined) {
      if (letter === quote) quote = undefined;
      else if (quote === '"' && /[$`\\!]/u.test(letter)) return special(letter);
      else word = `${word ?? ""}${letter}`;
    } else if (letter === "'" || letter === '"') {
      quote = letter;
      word ??= "";
    } else if (letter === " " || letter === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (PLAIN.test(letter)) word = `${word ?? ""}${letter}`;
    else return special(letter);
  }
  if (quote !== undefined) return "a quote is not closed";
  if (word !== undefined) words.push(word);
  return words;
}

function isControl(letter: string): boolean {
  return /\p{Cc}/u.test(letter);
}

const SPECIALS: readonly (readonly [string, string])[] = [
  [";&|", "it joins several commands"],
  ["\n\r", "it has several lines"],
  ["$`", "it has a substitution or a variable"],
  ["<>", "it redirects input or output"],
  ["*?[]{}", "it has a pattern that the shell expands"],
  ["()", "it has a subshell or a function"],
  ["\\^", "it has an escaped character"],
];

function special(letter: string): string {
  const known = SPECIALS.find(([letters]) => letters.includes(letter))?.[1];
  return known ?? "it has a character with a meaning of its own in a shell";
}

/**
 * Programs and subcommands whose further arguments are names and files to look at or to check. Everything that is not
 * here is granted by its exact words only: it runs other programs, fetches or sends code, or its arguments decide what is changed.
 */
const VARIABLE: Readonly<Record<string, readonly string[] | "any">> = {
  git: ["status", "log", "diff", "show", "blame", "add", "shortlog", "describe", "ls-files", "rev-parse", "cat-file"],
  npm: ["test", "ls", "outdated", "run"],
  pnpm: ["test", "list", "outdated", "run"],
  yarn: ["test", "list", "run"],
  cargo: ["check", "build", "test", "clippy", "fmt", "doc"],
  go: ["build", "test", "vet", "fmt", "list", "doc"],
  ls: "any",
  cat: "any",
  head: "any",
  tail: "any",
  wc: "any",
  stat: "any",
  file: "any",
  du: "any",
  pytest: "any",
  tsc: "any",
};
/** Subcommands whose next word names what is run. */
const NAMES_SCRIPT: ReadonlySet<string> = new Set(["npm run", "pnpm run", "yarn run"]);

/** What of a command a person grants: plain data. */
export interface CommandPattern {
  /** Program and subcommand; for an exact pattern all words. */
  readonly words: readonly string[];
  /** Whether only these words are covered. Otherwise further names and relative paths are, and no options. */
  readonly isExact: boolean;
}

/** The one pattern that is offered for a command; undefined where no grant may cover it. */
export function commandPattern(parsed: ParsedCommand): CommandPattern | undefined {
  if (parsed.kind === "complex") return undefined;
  const { words } = parsed;
  const length = variableHead(words);
  const isVariable = length > 0 && words.slice(length).every(isInner);
  return isVariable ? { words: words.slice(0, length), isExact: false } : { words, isExact: true };
}

/** How many words say what is run; 0 where all of them do. */
function variableHead([program = "", subcommand = "", name = ""]: readonly string[]): number {
  const known = Object.hasOwn(VARIABLE, program) ? VARIABLE[program] : undefined;
  if (known === undefined) return 0;
  if (known === "any") return 1;
  if (!known.includes(subcommand)) return 0;
  if (!NAMES_SCRIPT.has(`${program} ${subcommand}`)) return 2;
  return isInner(name) ? 3 : 0;
}

export function coversCommand({ words, isExact }: CommandPattern, parsed: ParsedCommand): boolean {
  if (parsed.kind === "complex" || words.length === 0) return false;
  if (words.some((word, index) => word !== parsed.words[index])) return false;
  const rest = parsed.words.slice(words.length);
  return isExact ? rest.length === 0 : rest.every(isInner);
}

/** A name, or a path that as written stays in the folder it begins in. No option; `:`, `@` and `=` could name a host, a revision or a setting. */
function isInner(word: string): boolean {
  return word !== "" && !/^[-/~\\]|[:=@]/u.test(word) && !word.split(/[/\\]/u).includes("..");
}

/** Whether an allow rule's prefix is the beginning of a simple command, word by word. Any further literal words are covered. */
export function hasCommandPrefix(prefix: string, parsed: ParsedCommand, platform?: NodeJS.Platform): boolean {
  const wanted = parseCommand(prefix, platform);
  if (parsed.kind === "complex" || wanted.kind === "complex") return false;
  return wanted.words.every((word, index) => word === parsed.words[index]);
}

/** Programs that run the words after them. */
const WRAPPER =
  /^(?:sudo|doas|env|nohup|nice|ionice|setsid|stdbuf|timeout|time|command|builtin|exec|xargs|then|do|else|!)(?:\s+(?:-\S+|[A-Za-z_]\w*=\S*|\d\S*))*\s+/u;
const ASSIGNMENTS = /^(?:[A-Za-z_]\w*=\S*\s+)+/u;

/**
 * Whether an `ask` or `deny` rule's prefix may begin any of the commands in a text: `yes` where a command of the text
 * begins so, `unclear` where that depends on quotes, escapes or variables.
 */
export function mayHavePrefix(prefix: string, text: string): "yes" | "no" | "unclear" {
  const begins = (part: string) => partStarts(part).some((start) => start.startsWith(prefix));
  if (text.startsWith(prefix) || text.split(/[;&|\n\r(){}`]+/u).some(begins)) return "yes";
  if (
    text
      .replaceAll("\\", "")
      .split(/[;&|\n\r(){}`'"]+/u)
      .some(begins)
  )
    return "unclear";
  return text.split(/[;&|\n\r(){}`]+/u).some((part) => /^["'$\\]/u.test(partStarts(part).at(-1) ?? ""))
    ? "unclear"
    : "no";
}

function partStarts(part: string): readonly string[] {
  const starts = [part.trimStart()];
  for (let step = 0; step < 8; step++) {
    const last = starts.at(-1) ?? "";
    const next = last.replace(ASSIGNMENTS, "").replace(WRAPPER, "");
    if (next === last) break;
    starts.push(next);
  }
  const last = starts.at(-1) ?? "";
  return [...starts, last.replace(/^\S*\/(?=[^\s/])/u, ""), last];
}
