// `tenon completion`: what completes the words of the table in a shell.

import { defined } from "../../../base/json/defined.js";
import {
  type ArgumentDescriptor,
  type Command,
  type Completes,
  misused,
  type OptionDescriptor,
  type Run,
  type TableEntry,
  type Values,
} from "../../command.js";
import { type CommandContext, print, readConfig } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { allSessions } from "../sessions/stored.js";

/** `--names` prints the names of servers or sessions for the scripts themselves. */
export function completionOf(table: readonly TableEntry[]): Run<Values<never, "names">> {
  return async ({ values, words }, context) => {
    const names = values.names === undefined ? undefined : await namesOf(values.names, context);
    if (names) print(context, names.map(visibleLine));
    else context.output.write(scriptFor(words[0] ?? "", wordsOf(table)));
  };
}

/** Runs while a person types: starts nothing and asks nothing. */
async function namesOf(kind: string, context: CommandContext): Promise<readonly string[]> {
  if (kind === "session") return (await allSessions(context)).map(({ id }) => id);
  const { servers } = await readConfig(context);
  return [...new Set(servers.map(({ name }) => name))].filter((name) => /^[\w.:@/+-]+$/u.test(name));
}

function scriptFor(shell: string, table: ReturnType<typeof wordsOf>): string {
  switch (shell) {
    case "bash":
      return bashScript(table);
    case "zsh":
      return zshScript(table);
    case "fish":
      return fishScript(table);
    default:
      throw misused("SHELL must be bash, zsh or fish");
  }
}

// The table as completion scripts need it: for every command its options, and what each of its words may be.

/** What a shell offers for one word. */
type Offer =
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | { readonly kind: Completes }
  | { readonly kind: "nothing" };

interface CompletedOption {
  readonly name: string;
  readonly short?: string;
  readonly summary: string;
  /** Undefined for one that takes no value. */
  readonly value?: Offer;
}

interface CompletedCommand {
  /** `mcp test`. */
  readonly path: string;
  readonly options: readonly CompletedOption[];
  /** By place; the last one stands for all that follow. */
  readonly words: readonly Offer[];
}

interface CompletedName {
  readonly name: string;
  readonly summary: string;
}

interface CompletedTable {
  readonly names: readonly CompletedName[];
  readonly groups: readonly { readonly name: string; readonly names: readonly CompletedName[] }[];
  readonly commands: readonly CompletedCommand[];
}

export function wordsOf(table: readonly TableEntry[]): CompletedTable {
  const groups = table.flatMap((entry) => (entry.kind === "group" ? [entry] : []));
  return {
    names: [...table, { name: "help", summary: "say more about a command" }],
    groups: groups.map(({ name, commands }) => ({ name, names: commands })),
    commands: table.flatMap((entry) =>
      entry.kind === "command" ? [completed(entry, [])] : entry.commands.map((one) => completed(one, [entry.name])),
    ),
  };
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
  return { name, summary, ...defined({ short, value: type === "string" ? offerOf(option) : undefined }) };
}

function offerOf({ choices, completes }: Pick<ArgumentDescriptor, "choices" | "completes">): Offer {
  if (choices) return { kind: "choices", choices };
  return { kind: completes ?? "nothing" };
}

// Completion for bash.

export function bashScript({ names, groups, commands }: CompletedTable): string {
  const group = groups.map((one) => one.name).join("|");
  return `# bash completion for tenon; made by: tenon completion bash
_tenon() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local key="\${COMP_WORDS[1]}" at=1
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names.map(({ name }) => name).join(" ")} --help --version" -- "$cur"))
    return
  fi
  case "$key" in
    ${group})
      if [ "$COMP_CWORD" -eq 2 ]; then
        case "$key" in
${groups.map((one) => `          ${one.name}) COMPREPLY=($(compgen -W "${one.names.map(({ name }) => name).join(" ")} --help" -- "$cur")) ;;`).join("\n")}
        esac
        return
      fi
      key="$key \${COMP_WORDS[2]}" at=2 ;;
  esac
  case "$key $prev" in
${commands.flatMap(valueCases).join("\n")}
  esac
  local options="" words=""
  local place=$((COMP_CWORD - at))
  case "$key" in
${commands.map(bashCase).join("\n")}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
    return
  fi
  case "$words" in
    "@file") COMPREPLY=($(compgen -f -- "$cur")) ;;
    "@server" | "@session") COMPREPLY=($(compgen -W "$(tenon completion bash --names "\${words#@}" 2>/dev/null)" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
}
complete -F _tenon tenon
`;
}

function valueCases({ path, options }: CompletedCommand): readonly string[] {
  return options.flatMap(({ name, short, value }) => {
    if (!value) return [];
    const patterns = [`"${path} --${name}"`, ...(short === undefined ? [] : [`"${path} -${short}"`])];
    return [`    ${patterns.join(" | ")}) ${reply(value)}; return ;;`];
  });
}

function reply(offer: Offer): string {
  switch (offer.kind) {
    case "choices":
      return `COMPREPLY=($(compgen -W "${offer.choices.join(" ")}" -- "$cur"))`;
    case "file":
      return 'COMPREPLY=($(compgen -f -- "$cur"))';
    case "server":
    case "session":
      return `COMPREPLY=($(compgen -W "$(tenon completion bash --names ${offer.kind} 2>/dev/null)" -- "$cur"))`;
    case "nothing":
      return "COMPREPLY=()";
  }
}

function bashCase({ path, options, words }: CompletedCommand): string {
  const flags = options.flatMap(({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]);
  const places = words.map((offer, at) => `${at + 1 === words.length ? "*" : at + 1}) words="${wordText(offer)}" ;;`);
  const chosen = places.length === 0 ? "" : `; case "$place" in ${places.join(" ")} esac`;
  return `    "${path}") options="${flags.join(" ")}"${chosen} ;;`;
}

function wordText(offer: Offer): string {
  if (offer.kind === "choices") return offer.choices.join(" ");
  return offer.kind === "nothing" ? "" : `@${offer.kind}`;
}

// Completion for zsh.

export function zshScript({ names, groups, commands }: CompletedTable): string {
  return `#compdef tenon
# zsh completion for tenon; made by: tenon completion zsh
_tenon_names() {
  local -a found
  found=(\${(f)"$(tenon completion zsh --names $1 2>/dev/null)"})
  compadd -a found
}
_tenon() {
  local key=$words[2]
  if (( CURRENT == 2 )); then
    local -a entries=(${describe(names)})
    _describe command entries
    return
  fi
  local shift_by=1
  case $key in
${groups
  .map(
    ({ name, names: inside }) => `    ${name})
      if (( CURRENT == 3 )); then
        local -a entries=(${describe(inside)})
        _describe command entries
        return
      fi
      key="$key $words[3]"; shift_by=2 ;;`,
  )
  .join("\n")}
  esac
  shift $shift_by words
  (( CURRENT -= shift_by ))
  case $key in
${commands.map(commandCase).join("\n")}
  esac
}
if [ "$funcstack[1]" = "_tenon" ]; then _tenon "$@"; else compdef _tenon tenon; fi
`;
}

function describe(names: readonly CompletedName[]): string {
  return names.map(({ name, summary }) => quoted(`${name}:${summary.replaceAll(":", "\\:")}`)).join(" ");
}

function commandCase({ path, options, words }: CompletedCommand): string {
  const specs = [
    ...options.map(optionSpec),
    ...words.map((offer, at) => wordSpec(offer, at + 1, at + 1 === words.length)),
  ];
  return `    ${quoted(path)}) _arguments ${specs.join(" ")} ;;`;
}

function optionSpec({ name, short, summary, value }: CompletedOption): string {
  const text = summary.replaceAll(/[[\]:]/gu, (sign) => `\\${sign}`);
  const takes = value ? `:value:${action(value)}` : "";
  if (short === undefined) return quoted(`*--${name}[${text}]${takes}`);
  return `'*'{-${short},--${name}}${quoted(`[${text}]${takes}`)}`;
}

function wordSpec(offer: Offer, place: number, isLast: boolean): string {
  return quoted(`${isLast ? "*" : place}::word:${action(offer)}`.replace("*::", "*:"));
}

function action(offer: Offer): string {
  switch (offer.kind) {
    case "choices":
      return `(${offer.choices.join(" ")})`;
    case "file":
      return "_files";
    case "server":
    case "session":
      return `{_tenon_names ${offer.kind}}`;
    case "nothing":
      return " ";
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// Completion for fish.

export function fishScript({ names, groups, commands }: CompletedTable): string {
  return `# fish completion for tenon; made by: tenon completion fish
function __tenon_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l path
  for word in $words
    string match -q -- '-*' $word; and continue
    set -a path $word
    test (count $path) -ge (count $argv); and break
  end
  test "$path" = "$argv"
end
complete -c tenon -f
${names.map(({ name, summary }) => `complete -c tenon -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`).join("\n")}
${groups
  .flatMap(({ name, names: inside }) =>
    inside.map(
      (one) =>
        `complete -c tenon -n '__tenon_at ${name}; and not __fish_seen_subcommand_from ${inside.map((other) => other.name).join(" ")}' -a ${one.name} -d ${fishQuoted(one.summary)}`,
    ),
  )
  .join("\n")}
${commands.flatMap(commandLines).join("\n")}
`;
}

function commandLines({ path, options, words }: CompletedCommand): readonly string[] {
  const here = `-n '__tenon_at ${path}'`;
  const offers = words.flatMap((offer) => (offer.kind === "nothing" ? [] : [offer]));
  return [
    ...options.map(({ name, short, summary, value }) => {
      const flag = `-l ${name}${short === undefined ? "" : ` -s ${short}`}`;
      const takes = value ? ` ${valueFlags(value)}` : "";
      return `complete -c tenon ${here} ${flag}${takes} -d ${fishQuoted(summary)}`;
    }),
    ...offers.map((offer) => `complete -c tenon ${here} ${wordFlags(offer)}`),
  ];
}

function valueFlags(offer: Offer): string {
  return offer.kind === "nothing" ? "-x" : offer.kind === "file" ? "-r -F" : `-x -a ${candidates(offer)}`;
}

function wordFlags(offer: Offer): string {
  return offer.kind === "file" ? "-F" : `-a ${candidates(offer)}`;
}

function candidates(offer: Offer): string {
  if (offer.kind === "choices") return fishQuoted(offer.choices.join(" "));
  return fishQuoted(`(tenon completion fish --names ${offer.kind} 2>/dev/null)`);
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/gu, (sign) => `\\${sign}`)}'`;
}
