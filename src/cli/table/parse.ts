// The words of one command, read by its declaration; a word it does not take is refused with what was probably meant.

import { parseArgs } from "node:util";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { nearest } from "../../base/text/nearest.js";
import type { ArgumentDescriptor, Declaration, Given, Options } from "./command.js";

type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>["values"];
type Token = ReturnType<typeof tokensOf>[number];

/** Throws `usage.invalid`. Values are never repeated in what it says: they may be secrets. */
export function parseWords<const O extends Options>(
  declaration: Declaration<O>,
  words: readonly string[],
): Given<Values<O>> {
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
  return { values, words: positionals, raw: words, ...defined({ after: isSplit ? words.slice(end + 1) : undefined }) };
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
      throw misused(`${name} is missing: ${summary}`);
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

export function misused(message: string): TenonError {
  return new TenonError("usage.invalid", message, { hint: "" });
}
