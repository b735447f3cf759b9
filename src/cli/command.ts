// How a command is declared: what help, usage errors, completion and the reference are made from, and where it runs.
import { parseArgs } from "node:util";
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import { nearest } from "../base/text/nearest.js";
import type { CommandContext } from "./context.js";
import { EXIT } from "./exit.js";

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
  /** Accepted, but in no help and no completion. */
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

/** What help and the reference say about a command. */
export interface CommandAbout {
  readonly name: string;
  /** One line, lower case, no full stop. */
  readonly summary: string;
  /** Paragraphs below the usage. */
  readonly details?: readonly string[];
  readonly arguments?: readonly ArgumentDescriptor[];
  /** What may stand behind `--`; without it `--` only ends the options. */
  readonly after?: ArgumentDescriptor;
  /** Whole lines as they are typed, and what each does: a sentence without its end. */
  readonly examples: Readonly<Record<string, string>>;
}

/** What was typed, read by the declaration. */
export interface Given<Values> {
  readonly values: Values;
  /** The words that are no options; as many as the declaration asks for. */
  readonly words: readonly string[];
  /** What follows `--`, for commands that take it. */
  readonly after?: readonly string[];
}

/** The options a command reads: names of flags, of options with a text, and of those that may be given again. */
export type Values<Flag extends string = never, Text extends string = never, Many extends string = never> = {
  readonly [Name in Flag]?: boolean | undefined;
} & { readonly [Name in Text]?: string | undefined } & { readonly [Name in Many]?: string[] | undefined };

type ValuesOf<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>["values"];

/** Resolves with the exit code, or with nothing for 0. What it throws is printed, as JSON too with `--json`. */
// biome-ignore lint/suspicious/noConfusingVoidType: commands that always succeed return nothing
export type Run<V> = (given: Given<V>, context: CommandContext) => Promise<number | void>;

export interface Declaration<O extends Options> extends CommandAbout {
  readonly options: O;
  /** Rewrites the words before they are read: for other programs' spellings of the same. Throws `usage.invalid`. */
  readonly rewrite?: (words: readonly string[]) => Promise<readonly string[]>;
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
  const { load, rewrite, ...about } = declaration;
  return {
    ...about,
    kind: "command",
    run: async (words, context) => {
      const given = parseWords(declaration, rewrite ? await rewrite(words) : words);
      const run = await load();
      return (await run(given, context())) ?? EXIT.done;
    },
  };
}

type Flag = { readonly type: "boolean"; readonly summary: string };
type TextOption = Omit<OptionDescriptor, "multiple"> & { readonly type: "string" };
type TextsOption = TextOption & { readonly multiple: true };

export function flag(summary: string): Flag {
  return { type: "boolean", summary };
}

/** `value` stands for what is given in help: `FILE`. */
export function text(
  value: string,
  summary: string,
  more: Pick<OptionDescriptor, "short" | "choices" | "completes" | "isHidden"> = {},
): TextOption {
  return { type: "string", value, summary, ...more };
}

/** May be given again. */
export function texts(value: string, summary: string): TextsOption {
  return { ...text(value, summary), multiple: true };
}

/** For commands that print something a program may want. */
export const JSON_OPTION: Flag = flag("print JSON for programs");

// The words of one command, read by its declaration; a word it does not take is refused with what was probably meant.

type Token = ReturnType<typeof tokensOf>[number];

/** Throws `usage.invalid`. ValuesOf are never repeated in what it says: they may be secrets. */
function parseWords<const O extends Options>(
  declaration: Declaration<O>,
  words: readonly string[],
): Given<ValuesOf<O>> {
  const tokens = tokensOf(declaration.options, words);
  const end = tokens.find((token) => token.kind === "option-terminator")?.index ?? words.length;
  const isSplit = declaration.after !== undefined && end < words.length;
  checkOptions(
    declaration,
    tokens.filter(({ index }) => index < end),
  );
  const args = isSplit ? words.slice(0, end) : [...words];
  const { values, positionals } = parseArgs({
    args,
    options: declaration.options,
    allowPositionals: true,
    strict: true,
  });
  checkArguments(declaration.arguments ?? [], positionals);
  return { values, words: positionals, ...defined({ after: isSplit ? words.slice(end + 1) : undefined }) };
}

function tokensOf(options: Options, words: readonly string[]) {
  return parseArgs({ args: [...words], options, allowPositionals: true, strict: false, tokens: true }).tokens;
}

function checkOptions({ options, after }: Pick<Declaration<Options>, "options" | "after">, tokens: readonly Token[]) {
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!option) throw unknownOption(rawName, options, after);
    const choices = option.choices ?? [];
    if (option.type === "boolean" && value !== undefined) throw misused(`${rawName} takes no value`);
    if (option.type === "string") {
      const form = `${rawName} ${option.value ?? "VALUE"}`;
      if (value === undefined) throw misused(`${form} lacks its value`);
      // `--prompt --json` is a forgotten value, not one; `--prompt=--json` says that it is meant.
      if (!token.inlineValue && value.startsWith("-") && value !== "-") {
        throw misused(`${form} lacks its value; write ${rawName}=… for one that begins with "-"`);
      }
      if (choices.length > 0 && !choices.includes(value)) throw misused(`${rawName} must be ${oneOf(choices)}`);
    }
  }
}

function unknownOption(rawName: string, options: Options, after: ArgumentDescriptor | undefined): TenonError {
  const known = Object.keys(options).filter((name) => options[name]?.isHidden !== true);
  const near = nearest(rawName.replace(/^-+/u, ""), known);
  const meant = near === undefined ? "" : `; did you mean --${near}?`;
  const behind = after ? `; options of its own command come after --` : "";
  return misused(`there is no option ${rawName}${meant}${behind}`);
}

function checkArguments(declared: readonly ArgumentDescriptor[], words: readonly string[]): void {
  for (const [at, { name, summary, isOptional, choices = [] }] of declared.entries()) {
    const word = words[at];
    if (word === undefined) {
      if (isOptional) return;
      throw misused(`${name} is missing: ${choices.length > 0 ? oneOf(choices) : summary}`);
    }
    if (choices.length > 0 && !choices.includes(word)) {
      const near = nearest(word, choices);
      throw misused(
        `${name} must be ${oneOf(choices)}${near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`}`,
      );
    }
  }
  // Not repeated: it may be a secret that belongs nowhere.
  if (words.length > declared.length && declared.at(-1)?.isMany !== true) {
    const taken = declared.map(({ name }) => name).join(" ");
    throw misused(`one word too many: it takes ${taken === "" ? "options only" : `${taken} and options`}`);
  }
}

function oneOf(choices: readonly string[]): string {
  const quoted = choices.map((choice) => JSON.stringify(choice));
  const last = quoted.at(-1) ?? "";
  return quoted.length < 2 ? last : `${quoted.slice(0, -1).join(", ")} or ${last}`;
}

/** For a configuration that does not allow what was asked for. */
export function refused(message: string, hint: string): TenonError {
  return new TenonError("config.invalid", message, { hint });
}

export function misused(message: string): TenonError {
  return new TenonError("usage.invalid", message, { hint: "" });
}
