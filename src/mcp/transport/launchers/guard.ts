// What a guarded launch consists of, and what its rules may ask about the working directory.
import { type CommandWords, isAbsolutePath } from "./words.js";

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
  /** A file name nobody can guess. */
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
