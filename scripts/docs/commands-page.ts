// docs/reference/commands.md, from the table of commands.
import type { Command, Group } from "../../src/cli/command.js";
import { optionRows, usageLine } from "../../src/cli/help.js";
import { TABLE } from "../../src/cli/table.js";
import { cell, code, page, table } from "./markdown.js";

export function commandsPage(): string {
  const body = TABLE.flatMap((entry) =>
    entry.kind === "command" ? commandLines(entry, ["tenon"], 2) : groupLines(entry),
  );
  const intro = [
    "Every command takes `--help`. `tenon completion bash|zsh|fish` prints a script that completes all of it.",
    "",
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 configuration or trust, 4 authentication, 5 denied, 130 interrupted.",
  ];
  return page("Commands", intro, body);
}

function groupLines(group: Group): readonly string[] {
  const path = ["tenon", group.name];
  return [
    `## ${path.join(" ")}`,
    "",
    sentence(group.summary),
    "",
    ...(group.details ?? []).flatMap((text) => [text, ""]),
    ...(group.fallback === undefined
      ? []
      : [`Without a command it is \`${[...path, group.fallback].join(" ")}\`.`, ""]),
    ...group.commands.flatMap((command) => commandLines(command, path, 3)),
  ];
}

function commandLines(command: Command, path: readonly string[], level: number): readonly string[] {
  const words = [...(command.arguments ?? []), ...(command.after ? [command.after] : [])];
  return [
    `${"#".repeat(level)} ${[...path, command.name].join(" ")}`,
    "",
    sentence(command.summary),
    "",
    "```text",
    usageLine(command, path),
    "```",
    "",
    ...(command.details ?? []).flatMap((text) => [text, ""]),
    ...table(
      ["word", "what it is"],
      words.map(({ name, summary, choices }) => [
        code(name),
        cell(choices ? `${summary}: ${choices.join(", ")}` : summary),
      ]),
    ),
    ...table(
      ["option", "what it does"],
      optionRows(command).map(([name, text]) => [code(name), cell(text)]),
    ),
    ...Object.entries(command.examples).flatMap(([line, does]) => ["```sh", line, "```", "", sentence(does), ""]),
  ];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
