// Command lines as data: options and positions of a launcher, shell text, and what a guard adds to them. Pure.
import { posix, win32 } from "node:path";

export interface CommandWords {
  readonly command: string;
  readonly args: readonly string[];
}

/** The options of one program that take the next word as their value. */
export type ValueOptions = ReadonlySet<string>;

export interface PositionalWord {
  readonly word: string;
  readonly at: number;
}

export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" ").filter((word) => word !== ""));
}

/** The first word from `from` that is neither an option nor the value of one. */
export function firstWord(args: readonly string[], takesValue: ValueOptions, from = 0): PositionalWord | undefined {
  for (let at = from; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") return args[at + 1] === undefined ? undefined : { word: args[at + 1] ?? "", at: at + 1 };
    if (!word.startsWith("-") || word === "-") return { word, at };
    if (takesValue.has(word)) at += 1;
  }
  return undefined;
}

/** Every value given to one of the options before `end`, as `--name value`, `--name=value` or `-nvalue`. */
export function optionValues(
  args: readonly string[],
  names: readonly string[],
  end: number = args.length,
): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at < end; at++) {
    const word = args[at] ?? "";
    if (names.includes(word)) values.push(args[++at] ?? "");
    else {
      const name = names.find((one) => word.startsWith(`${one}=`));
      const joined = names.find((one) => /^-[A-Za-z]$/u.test(one) && word.startsWith(one) && word.length > 2);
      if (name !== undefined) values.push(word.slice(name.length + 1));
      else if (joined !== undefined) values.push(word.slice(2));
    }
  }
  return values;
}

export interface Line {
  /** The word that says what is run. */
  readonly target: PositionalWord | undefined;
  /** Where the launcher's own options end. */
  readonly end: number;
  /** The values of these options. */
  readonly values: (...names: readonly string[]) => readonly string[];
}

export function readLine(args: readonly string[], takesValue: ValueOptions, from = 0): Line {
  const target = firstWord(args, takesValue, from);
  const end = target?.at ?? args.length;
  return { target, end, values: (...names) => optionValues(args, names, end) };
}

/** `npx` of `/usr/bin/npx`, `npx.cmd` and `NPX.EXE`. */
export function programName(command: string, isWindows: boolean): string {
  const base = isWindows ? win32.basename(command) : posix.basename(command);
  return isWindows ? base.toLowerCase().replace(/\.(?:exe|cmd|bat|com|ps1)$/u, "") : base;
}

export function isAbsolutePath(path: string, isWindows: boolean): boolean {
  return isWindows ? win32.isAbsolute(path) : posix.isAbsolute(path);
}

/** The words of shell text that is one plain command; undefined when a shell would do more with it. */
export function plainShellWords(text: string): readonly string[] | undefined {
  if (/[`$;&|<>(){}*?[\]!#\\\n\r]/u.test(text)) return undefined;
  const words: string[] = [];
  const pattern = /\s*((?:[^\s'"]+|'[^']*'|"[^"]*")+)/uy;
  let end = 0;
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    words.push((found[1] ?? "").replaceAll(/'([^']*)'|"([^"]*)"/gu, (quoted: string) => quoted.slice(1, -1)));
    end = pattern.lastIndex;
  }
  return text.slice(end).trim() === "" && words.length > 0 ? words : undefined;
}

export function shellText(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** More words than any real entry names files. */
const MAX_NAMED_FILES = 200;
const MAX_FOLDERS = 4;
/** Such files change with every run, and are not executed. */
const DATA_FILE = /\.(?:db|sqlite3?|duckdb|log|jsonl|csv|tsv|md|txt)$/iu;

/** Every path that the words of a launch may name: words, values of options, Python modules, and the words of a shell's text. */
export function namedFiles(args: readonly string[]): readonly string[] {
  const files: string[] = [];
  for (const [at, word] of args.entries()) {
    const inText = /[\s;&|<>()`]/u.test(word) ? word.split(/[\s;&|<>()"'`=]+/u, MAX_NAMED_FILES) : [];
    const folders = inText.filter((_, index) => inText[index - 1] === "cd").slice(0, MAX_FOLDERS);
    const value = word.replace(/^--?[\w-]+=/u, "").replace(/^file:(?:\/\/)?/u, "");
    const words = [word, value, ...(/^-[A-Za-z]./u.test(word) ? [word.slice(2)] : [])];
    files.push(...words.filter((one) => !DATA_FILE.test(one)), ...inText);
    files.push(...folders.flatMap((folder) => inText.map((part) => `${folder}/${part}`)));
    files.push(
      ...[args.slice(at, at + 2), ...inText.map((_, index) => inText.slice(index, index + 2))].flatMap(moduleFiles),
    );
  }
  return [...new Set(files)].filter((file) => file !== "" && !file.includes("\0")).slice(0, MAX_NAMED_FILES);
}

/** `-m a.b` is `a/b.py` or the package `a/b`. */
function moduleFiles([option = "", next = ""]: readonly string[]): readonly string[] {
  const found = /^-[A-Za-ln-z]*m([\w.]*)$/u.exec(option);
  if (!found) return [];
  const path = (found[1] || next).replaceAll(".", "/");
  return /^[\w/]+$/u.test(path) ? [`${path}.py`, `${path}/__main__.py`, `${path}/__init__.py`] : [];
}

/** The words after `#!`; none when the text is no script. */
export function shebang(text: string): readonly string[] {
  const [line = ""] = text.split("\n", 1);
  return line.startsWith("#!")
    ? line
        .slice(2)
        .split(/[ \t\r]+/u)
        .filter((word) => word !== "")
    : [];
}

/** Something in the working directory that would decide what runs. */
export interface Concern {
  /** After "in this folder": what would happen, in words for a person. */
  readonly reason: string;
  /** The file that would run, as it is written. */
  readonly file?: string;
}

export interface GuardedWords extends CommandWords {
  /** Variables that keep the launcher from reading the working directory. */
  readonly env: Readonly<Record<string, string>>;
  readonly concerns: readonly Concern[];
  /** A folder to stand first in PATH. */
  readonly pathFirst?: string;
  /** The Python whose version must be 3.11 or later: the program itself, or the one its first line names. */
  readonly python?: "program" | "shebang";
}

/** Paths in a private folder that holds nothing a launcher could run by mistake. */
export interface PrivatePaths {
  /** An empty folder. */
  readonly empty: string;
  /** A shell that takes `node_modules/.bin` of the working directory and above out of PATH. */
  readonly shell: string;
  /** A folder with a `node` that returns to the server's directory and runs the real one. */
  readonly nodeFolder: string;
  readonly bunfig: string;
  readonly emptyEnv: string;
  readonly tsconfig: string;
  /** An unguessable file name. */
  readonly unusedName: string;
}

export interface GuardContext {
  readonly isWindows: boolean;
  /** The server's working directory. */
  readonly cwd: string;
  readonly paths: PrivatePaths;
  /** Whether a relative path leads to a file in the working directory. */
  readonly exists: (path: string) => boolean;
  /** The first of these files or folders that is in the working directory or above it, the home and above left out. */
  readonly trap: (names: readonly string[]) => string | undefined;
  /** The user's own configuration file of uv, where there is one. */
  readonly uvConfig: string | undefined;
}

export function unchanged(words: CommandWords, concerns: readonly Concern[] = []): GuardedWords {
  return { ...words, env: {}, concerns };
}

export function concernIf(isSo: boolean, reason: string): readonly Concern[] {
  return isSo ? [{ reason }] : [];
}

/** Options that name a file or folder: a relative one means the working directory's. */
export function relativeValues(
  name: string,
  values: readonly string[],
  { isWindows }: GuardContext,
): readonly Concern[] {
  const relative = values.filter((value) => !isAbsolutePath(value, isWindows) && !isAddress(value));
  return relative.map((value) => ({ reason: `${name} would use ${JSON.stringify(value)} of the folder` }));
}

export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/iu.test(text) && !/^file:/iu.test(text);
}
