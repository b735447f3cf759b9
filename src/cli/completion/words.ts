// The table as completion scripts need it: for every command its options, and what each of its words may be.
import { defined } from "../../base/json/defined.js";
import type { ArgumentDescriptor, Command, Completes, OptionDescriptor, TableEntry } from "../table/command.js";

/** What a shell offers for one word. */
export type Offer =
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | { readonly kind: Completes }
  | { readonly kind: "nothing" };

export interface CompletedOption {
  readonly name: string;
  readonly short?: string;
  readonly summary: string;
  /** Undefined for one that takes no value. */
  readonly value?: Offer;
}

export interface CompletedCommand {
  /** `mcp test`. */
  readonly path: string;
  readonly options: readonly CompletedOption[];
  /** By place; the last one stands for all that follow. */
  readonly words: readonly Offer[];
}

export interface CompletedName {
  readonly name: string;
  readonly summary: string;
}

export interface CompletedTable {
  readonly names: readonly CompletedName[];
  readonly groups: readonly { readonly name: string; readonly names: readonly CompletedName[] }[];
  readonly commands: readonly CompletedCommand[];
}

export function wordsOf(table: readonly TableEntry[]): CompletedTable {
  const groups = table.flatMap((entry) => (entry.kind === "group" ? [entry] : []));
  return {
    names: [...table.map(nameOf), { name: "help", summary: "say more about a command" }],
    groups: groups.map(({ name, commands }) => ({ name, names: commands.map(nameOf) })),
    commands: table.flatMap((entry) =>
      entry.kind === "command" ? [completed(entry, [])] : entry.commands.map((one) => completed(one, [entry.name])),
    ),
  };
}

function nameOf({ name, summary }: { readonly name: string; readonly summary: string }): CompletedName {
  return { name, summary };
}

function completed(command: Command, before: readonly string[]): CompletedCommand {
  const options = Object.entries(command.options).flatMap(([name, option]): CompletedOption[] =>
    option.isHidden ? [] : [optionOf(name, option)],
  );
  return {
    path: [...before, command.name].join(" "),
    options: [...options, { name: "help", summary: "say more" }],
    words: (command.arguments ?? []).map(offerOf),
  };
}

function optionOf(name: string, option: OptionDescriptor): CompletedOption {
  const { short, summary, type } = option;
  return {
    name,
    summary,
    ...defined({ short, value: type === "string" ? offerOf(option) : undefined }),
  };
}

function offerOf({ choices, completes }: Pick<ArgumentDescriptor, "choices" | "completes">): Offer {
  if (choices) return { kind: "choices", choices };
  return { kind: completes ?? "nothing" };
}
