// Help for every entry of the table, made from its declaration.

import { VERSION } from "../base/version.js";
import type { ArgumentDescriptor, Command, Group, OptionDescriptor, TableEntry } from "./command.js";
import type { CommandContext } from "./context.js";
import { displayWidth, wrapText } from "./terminal/text.js";

type HelpStyle = Pick<CommandContext, "columns" | "palette">;

/** A left side wider than this has its text below it. */
const LEFT_COLUMNS = 34;
/** Longer lines are hard to read, however wide the screen is. */
const MAX_COLUMNS = 100;
const INDENT = "  ";

/** For the last entry of the path; for the whole table where it is empty. */
export function helpLines(
  table: readonly TableEntry[],
  path: readonly TableEntry[],
  style: HelpStyle,
): readonly string[] {
  const entry = path.at(-1);
  if (!entry) return tableHelp(table, style);
  const before = ["tenon", ...path.slice(0, -1).map(({ name }) => name)];
  return entry.kind === "command" ? commandHelp(entry, before, style) : groupHelp(entry, before, style);
}

/** `path` are the words before the name: `["tenon", "mcp"]`. */
function commandHelp(command: Command, path: readonly string[], style: HelpStyle): readonly string[] {
  const { palette } = style;
  const whole = [...path, command.name].join(" ");
  const words = [...(command.arguments ?? []), ...(command.after ? [command.after] : [])];
  const rows = words.map((word) => [word.name, withChoices(word)] as const);
  return [
    `${palette.bold(whole)}: ${command.summary}`,
    "",
    `${palette.bold("Usage:")} ${usageLine(command, path)}`,
    ...paragraphs(command.details, style),
    ...section("Words", rows, style),
    ...section("Options", optionRows(command), style),
    ...exampleLines(command, style),
  ];
}

function groupHelp(group: Group, path: readonly string[], style: HelpStyle): readonly string[] {
  const whole = [...path, group.name].join(" ");
  const rows = group.commands.map(({ name, summary }) => [name, summary] as const);
  const fallback = group.fallback === undefined ? [] : ["", `Without a command: ${whole} ${group.fallback}.`];
  return [
    `${style.palette.bold(whole)}: ${group.summary}`,
    "",
    `${style.palette.bold("Usage:")} ${whole} COMMAND …`,
    ...paragraphs(group.details, style),
    ...section("Commands", rows, style),
    ...fallback,
    "",
    `${whole} COMMAND --help says more about each.`,
  ];
}

function tableHelp(table: readonly TableEntry[], style: HelpStyle): readonly string[] {
  const rows = table.map((entry) => {
    const inside = entry.kind === "group" ? ` (${entry.commands.map(({ name }) => name).join(", ")})` : "";
    return [entry.name, `${entry.summary}${inside}`] as const;
  });
  return [
    style.palette.bold(`tenon ${VERSION}: an agent that joins ACP editors and MCP tools`),
    "",
    `${style.palette.bold("Usage:")} tenon COMMAND …`,
    ...section("Commands", rows, style),
    "",
    "tenon COMMAND --help says more about each, with examples. Almost all take --json.",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 configuration or trust, 4 authentication, 5 denied, 130 interrupted.",
  ];
}

/** One line: `tenon mcp add NAME [options] [-- COMMAND…]`. */
export function usageLine(command: Command, path: readonly string[]): string {
  const words = (command.arguments ?? []).map((word) => {
    const name = word.isMany ? `${word.name}…` : word.name;
    return word.isOptional ? `[${name}]` : name;
  });
  const options = shownOptions(command).length > 0 ? ["[options]"] : [];
  const { after } = command;
  const behind = after ? [after.isOptional ? `[-- ${after.name}]` : `-- ${after.name}`] : [];
  return [...path, command.name, ...words, ...options, ...behind].join(" ");
}

/** `-p, --prompt TEXT` and what it is, for help and for the reference. */
export function optionRows(command: Pick<Command, "options">): readonly (readonly [string, string])[] {
  return shownOptions(command).map(([name, option]) => {
    const value = option.type === "string" ? ` ${option.value ?? "VALUE"}` : "";
    const short = option.short === undefined ? "" : `-${option.short}, `;
    const again = option.multiple ? "; may be given again" : "";
    return [`${short}--${name}${value}`, `${withChoices(option)}${again}`];
  });
}

function shownOptions({ options }: Pick<Command, "options">): readonly (readonly [string, OptionDescriptor])[] {
  return Object.entries(options).filter(([, { isHidden }]) => isHidden !== true);
}

function withChoices({ summary, choices }: Pick<ArgumentDescriptor, "summary" | "choices">): string {
  return choices ? `${summary}: ${choices.join(", ")}` : summary;
}

function paragraphs(texts: readonly string[] | undefined, { columns }: HelpStyle): readonly string[] {
  return (texts ?? []).flatMap((text) => ["", ...wrapText(text, Math.min(columns, MAX_COLUMNS))]);
}

function section(title: string, rows: readonly (readonly [string, string])[], style: HelpStyle): readonly string[] {
  if (rows.length === 0) return [];
  const left = Math.min(LEFT_COLUMNS, Math.max(...rows.map(([name]) => displayWidth(name))));
  const width = Math.max(20, Math.min(style.columns, MAX_COLUMNS) - left - 2 * INDENT.length);
  const lines = rows.flatMap(([name, text]) => {
    const [first = "", ...more] = wrapText(text, width);
    const margin = " ".repeat(INDENT.length + left) + INDENT;
    if (displayWidth(name) > left) return [INDENT + name, ...[first, ...more].map((line) => margin + line)];
    return [`${INDENT}${name.padEnd(left)}${INDENT}${first}`, ...more.map((line) => margin + line)];
  });
  return ["", style.palette.bold(`${title}:`), ...lines];
}

function exampleLines({ examples }: Command, { palette, columns }: HelpStyle): readonly string[] {
  if (Object.keys(examples).length === 0) return [];
  const lines = Object.entries(examples).flatMap(([line, does]) => [
    `${INDENT}${palette.cyan(line)}`,
    ...wrapText(does, Math.min(columns, MAX_COLUMNS) - 3 * INDENT.length).map((text) => `${INDENT.repeat(3)}${text}`),
  ]);
  return ["", palette.bold("Examples:"), ...lines];
}
