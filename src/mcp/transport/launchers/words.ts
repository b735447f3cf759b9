// Command lines as data: options and positions of a launcher, and shell text that is one plain command. Pure.
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
/** What programs keep in such files changes with every run, and is not run. */
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
