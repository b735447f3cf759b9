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
  const words = platform === "win32" ? plainWords(text) : quotedWords(text);
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
function plainWords(text: string): readonly string[] | string {
  const odd = Array.from(text).find((letter) => letter !== " " && letter !== "\t" && !PLAIN_ON_WINDOWS.test(letter));
  return odd === undefined ? text.split(/[ \t]+/u).filter((word) => word !== "") : special(odd);
}

function quotedWords(text: string): readonly string[] | string {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (const letter of text) {
    if (/\p{Cc}/u.test(letter) && letter !== "\t") return special(letter);
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

/** Words of the shell that a program follows. */
const KEYWORDS: ReadonlySet<string> = new Set("if elif while until then do else ! eval".split(" "));
/** Programs that run the words after their options. Which options have a value differs, so any later word may be the program. */
const WRAPPERS: ReadonlySet<string> = new Set(
  "sudo doas env nohup nice ionice setsid stdbuf timeout time command builtin exec coproc xargs busybox toybox chroot watch strace flock unshare parallel".split(
    " ",
  ),
);
/** Programs that read the words after their options as commands of their own. */
const SHELLS: ReadonlySet<string> = new Set("sh bash dash zsh ksh ash fish su cmd".split(" "));
const NO_PROGRAM = /^(?:-|\d|[A-Za-z_]\w*\+?=)/u;
const JOINTS = /[;&|\n\r(){}`]+/u;
/** In the name of a program: the shell makes another one of it. */
const ODD = /["'$\\*?[\]{}^]/u;

/** Where the programs of a text begin, each with the words after it. */
export interface CommandStarts {
  readonly sure: readonly string[];
  /** If quotes, escapes or options of a program that runs another are read so. */
  readonly maybe: readonly string[];
  /** Whether the shell makes another program of a name that is in it. */
  readonly isOdd: boolean;
}

export function commandStarts(text: string, platform?: NodeJS.Platform): CommandStarts {
  const parsed = parseCommand(text, platform);
  const plain = parsed.kind === "simple" ? [parsed.words.join(" ")] : undefined;
  const first = startsIn(plain ?? partsOf(text));
  const unquoted = text.replaceAll("\\", "").split(/["']/u);
  const isQuoted = unquoted.length > 1 || text.includes("\\");
  const others = isQuoted ? startsIn([...partsOf(unquoted.join("")), ...unquoted.flatMap(partsOf)]) : [];
  const outer = plain || (!isQuoted && !/[{}]/u.test(text)) ? first : startsIn(outerParts(text));
  return {
    sure: [text, oneBlank(text), ...first.filter(({ kind }) => kind === "sure").map(({ rest }) => rest)],
    maybe: [...first.filter(({ kind }) => kind !== "sure"), ...others].map(({ rest }) => rest),
    isOdd: outer.some(({ kind, word }) => kind !== "loose" && ODD.test(word)),
  };
}

function startsIn(parts: readonly string[]): readonly ProgramStart[] {
  return parts.flatMap((part) => Array.from(programStarts(part)));
}

/**
 * Whether an `ask` or `deny` rule is about any of the commands in a text: `yes` where a command of the text is meant,
 * `unclear` where that depends on quotes, escapes, patterns, variables or on options of a program that runs another.
 */
export function mayRun(isMeant: (start: string) => boolean, starts: CommandStarts): "yes" | "no" | "unclear" {
  if (starts.sure.some(isMeant)) return "yes";
  return starts.isOdd || starts.maybe.some(isMeant) ? "unclear" : "no";
}

export function mayHavePrefix(prefix: string, starts: CommandStarts): "yes" | "no" | "unclear" {
  const wanted = oneBlank(prefix);
  return mayRun((start) => start.startsWith(wanted), starts);
}

function oneBlank(text: string): string {
  return text.trimStart().replaceAll(/[ \t]+/gu, " ");
}

/** The commands of a text: as they are, and without redirections, which may stand anywhere among the words. */
function partsOf(text: string): readonly string[] {
  // The `&` and `|` of a redirection join nothing.
  return text
    .replaceAll(/[<>][&|]|&>/gu, ">")
    .split(JOINTS)
    .flatMap(asWritten);
}

function asWritten(part: string): readonly string[] {
  const written = oneBlank(part);
  const bare = oneBlank(written.replaceAll(/(?:(?<= |^)\d{1,9})?[<>]{1,3} ?[^ <>]*/gu, ""));
  return bare === written ? [written] : [written, bare];
}

/** The same, but what stands in quotes is not taken apart, where it is plain which parts do. */
function outerParts(text: string): readonly string[] {
  if (/\$[('"]|`|<<|(?:^|\s)#/u.test(text)) return partsOf(text);
  const parts: string[] = [];
  let part = "";
  let quote = "";
  let isEscaped = false;
  for (const letter of text.replaceAll(/[<>][&|]|&>/gu, ">")) {
    const isJoint = quote === "" && !isEscaped && /[;&|\n\r()]/u.test(letter);
    if (isEscaped) isEscaped = false;
    else if (letter === "\\" && quote !== "'") isEscaped = true;
    else if (letter === quote) quote = "";
    else if (quote === "" && (letter === '"' || letter === "'")) quote = letter;
    if (isJoint) parts.push(part);
    part = isJoint ? "" : part + letter;
  }
  return quote === ""
    ? [...parts, part].flatMap(asWritten).map((one) => one.replace(/^[{} ]+(?= |$)/u, "").trimStart())
    : partsOf(text);
}

/** `maybe`: a word before it may be the value of an option. `loose`: some word after a program that runs others. */
type StartKind = "sure" | "maybe" | "loose";

interface ProgramStart {
  readonly kind: StartKind;
  /** The program as written, without its folder. */
  readonly word: string;
  readonly rest: string;
}

/** Where programs may begin in one command. */
function* programStarts(part: string): Generator<ProgramStart> {
  let kind: StartKind = "sure";
  let isWrapped = false;
  let isShell = false;
  let isAfterOption = false;
  for (const { 0: word, index } of part.matchAll(/[^ ]+/gu)) {
    const name = word.slice(word.lastIndexOf("/") + 1);
    if (NO_PROGRAM.test(word) && (isWrapped || word.includes("="))) {
      isAfterOption = word.startsWith("-");
      if (isWrapped) continue;
      yield { kind, word: "", rest: part.slice(index) };
      continue;
    }
    yield { kind, word, rest: part.slice(index) };
    if (name !== word) yield { kind, word: name, rest: part.slice(index + word.length - name.length) };
    if (!isWrapped && KEYWORDS.has(name)) continue;
    if (name === "find") [isWrapped, kind] = [true, "loose"];
    else if (kind !== "loose" && (WRAPPERS.has(name) || SHELLS.has(name))) {
      isWrapped = true;
      isShell ||= SHELLS.has(name);
      if (isShell) kind = "maybe";
    } else if (!isWrapped) return;
    else if (isShell || (isAfterOption && kind === "sure")) kind = "maybe";
    else kind = "loose";
    isAfterOption = false;
  }
}
