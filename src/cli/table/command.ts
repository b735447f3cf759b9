// How a command is declared: what help, usage errors, completion and the reference are made from, and where it runs.
import type { parseArgs } from "node:util";
import type { CommandContext } from "../configuration/context.js";
import { parseWords } from "./parse.js";

/** What a shell offers for a word that is not one of fixed `choices`. */
export type Completes = "file" | "server" | "session";

/** Understood by `parseArgs` of Node as it stands; the rest is for people. */
export interface OptionDescriptor {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  readonly summary: string;
  /** What stands for the value in help, for `string`: `FILE`. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly completes?: Completes;
  /** Taken, and told to nobody. */
  readonly isHidden?: boolean;
}

export type Options = Readonly<Record<string, OptionDescriptor>>;

/** A word that is no option. */
export interface ArgumentDescriptor {
  /** As help writes it: `SERVER`. */
  readonly name: string;
  readonly summary: string;
  readonly isOptional?: boolean;
  /** Takes all the words that are left; at least one unless it is optional. */
  readonly isMany?: boolean;
  readonly choices?: readonly string[];
  readonly completes?: Completes;
}

export interface Example {
  /** The whole line, as it is typed. */
  readonly line: string;
  /** What it does, as a sentence without its end. */
  readonly does: string;
}

/** What people are told of a command. */
export interface CommandAbout {
  readonly name: string;
  /** One line, lower case, no full stop. */
  readonly summary: string;
  /** Paragraphs below the usage. */
  readonly details?: readonly string[];
  readonly arguments?: readonly ArgumentDescriptor[];
  /** What may stand behind `--`; without it `--` only ends the options. */
  readonly after?: ArgumentDescriptor;
  readonly examples: readonly Example[];
}

/** What was typed, read by the declaration. */
export interface Given<Values> {
  readonly values: Values;
  /** The words that are no options; as many as the declaration asks for. */
  readonly words: readonly string[];
  /** What follows `--`, for commands that take it. */
  readonly after?: readonly string[];
  /** Everything, as it was typed. */
  readonly raw: readonly string[];
}

type ValuesOf<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>["values"];

/** Resolves with the exit code. What it throws is told to people, and as JSON with `--json`. */
export type Run<Values> = (given: Given<Values>, context: CommandContext) => Promise<number>;

export interface Declaration<O extends Options> extends CommandAbout {
  readonly options: O;
  /** Imports what runs it: only that command's code is loaded. */
  readonly load: () => Promise<Run<ValuesOf<O>>>;
}

export interface Command extends CommandAbout {
  readonly kind: "command";
  readonly options: Options;
  /** Throws `usage.invalid` for words it does not take; then loads and runs. */
  readonly run: (words: readonly string[], context: () => CommandContext) => Promise<number>;
}

/** Commands under one word: `tenon mcp …`. */
export interface Group {
  readonly kind: "group";
  readonly name: string;
  readonly summary: string;
  readonly details?: readonly string[];
  readonly commands: readonly Command[];
  /** The command that is meant when none is named. */
  readonly fallback?: string;
}

export type TableEntry = Command | Group;

export function command<const O extends Options>(declaration: Declaration<O>): Command {
  const { load, ...about } = declaration;
  return {
    ...about,
    kind: "command",
    run: async (words, context) => {
      const given = parseWords(declaration, words);
      const run = await load();
      return await run(given, context());
    },
  };
}

/** For commands that print something a program may want. */
export const JSON_OPTION = { type: "boolean", summary: "print JSON for programs" } as const;
