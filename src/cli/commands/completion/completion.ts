// `tenon completion`: what completes the words of the table in a shell.

import {
  type Completes,
  misused,
  type OptionDescriptor,
  type Run,
  type TableEntry,
  type Values,
} from "../../command.js";
import { type CommandContext, print, readConfig } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { allSessions } from "../sessions/sessions.js";

/** `--names` prints the names of servers or sessions for the scripts themselves. */
export function completionOf(table: readonly TableEntry[]): Run<Values<never, "names">> {
  return async ({ values, words: [shell = ""] }, context) => {
    if (values.names !== undefined) return print(context, (await namesOf(values.names, context)).map(visibleLine));
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (!script) throw misused("SHELL must be bash, zsh, fish or powershell");
    context.output.write(script(wordsOf(table)));
  };
}

const SCRIPTS: Readonly<Record<string, (table: CompletedTable) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  powershell: powershellScript,
};

/** Runs while a person types: starts nothing and asks nothing. */
async function namesOf(kind: string, context: CommandContext): Promise<readonly string[]> {
  if (kind === "session") return (await allSessions(context)).map(({ id }) => id);
  const { servers } = await readConfig(context);
  return [...new Set(servers.map(({ name }) => name))].filter((name) => /^[\w.:@/+-]+$/u.test(name));
}

// The table as completion scripts need it: for every command its options, and what each of its words may be.

/** What a shell offers for one word: fixed choices, names that are looked up, or nothing. */
type Offer = readonly string[] | Completes | undefined;

type CompletedOption = Pick<OptionDescriptor, "short" | "summary"> & {
  readonly name: string;
  readonly takesValue: boolean;
  readonly offer: Offer;
};

interface CompletedCommand {
  /** `mcp test`. */
  readonly path: string;
  readonly options: readonly CompletedOption[];
  /** By place; the last one stands for all that follow. */
  readonly words: readonly Offer[];
}

type CompletedName = Pick<TableEntry, "name" | "summary">;

interface CompletedTable {
  readonly names: readonly CompletedName[];
  readonly groups: readonly { readonly name: string; readonly commands: readonly CompletedName[] }[];
  readonly commands: readonly CompletedCommand[];
}

export function wordsOf(table: readonly TableEntry[]): CompletedTable {
  const groups = table.flatMap((entry) => (entry.kind === "group" ? [entry] : []));
  const commands = table.flatMap((entry) =>
    (entry.kind === "command" ? [entry] : entry.commands).map((one): CompletedCommand => {
      const options = Object.entries(one.options).filter(([, { isHidden }]) => !isHidden);
      return {
        path: entry.kind === "command" ? entry.name : `${entry.name} ${one.name}`,
        options: [
          ...options.map(([name, option]) => {
            return { ...option, name, takesValue: option.type === "string", offer: offerOf(option) };
          }),
          { name: "help", summary: "say more", takesValue: false, offer: undefined },
        ],
        words: (one.arguments ?? []).map(offerOf),
      };
    }),
  );
  return { names: [...table, { name: "help", summary: "say more about a command" }], groups, commands };
}

function offerOf({ choices, completes }: Pick<OptionDescriptor, "choices" | "completes">): Offer {
  return choices ?? completes;
}

/** The candidates as words of a shell: the choices themselves, or the command that prints them. */
function candidates(shell: string, offer: readonly string[] | Completes): string {
  return typeof offer === "string" ? `$(tenon completion ${shell} --names ${offer} 2>/dev/null)` : offer.join(" ");
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
${groups.map((one) => `          ${one.name}) COMPREPLY=($(compgen -W "${one.commands.map(({ name }) => name).join(" ")} --help" -- "$cur")) ;;`).join("\n")}
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
  return options.flatMap(({ name, short, takesValue, offer }) => {
    if (!takesValue) return [];
    const patterns = [`"${path} --${name}"`, ...(short === undefined ? [] : [`"${path} -${short}"`])];
    return [`    ${patterns.join(" | ")}) ${reply(offer)}; return ;;`];
  });
}

function reply(offer: Offer): string {
  if (offer === undefined) return "COMPREPLY=()";
  if (offer === "file") return 'COMPREPLY=($(compgen -f -- "$cur"))';
  return `COMPREPLY=($(compgen -W "${candidates("bash", offer)}" -- "$cur"))`;
}

function bashCase({ path, options, words }: CompletedCommand): string {
  const flags = options.flatMap(({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]);
  const places = words.map((offer, at) => {
    const text = typeof offer === "string" ? `@${offer}` : (offer ?? []).join(" ");
    return `${at + 1 === words.length ? "*" : at + 1}) words="${text}" ;;`;
  });
  const chosen = places.length === 0 ? "" : `; case "$place" in ${places.join(" ")} esac`;
  return `    "${path}") options="${flags.join(" ")}"${chosen} ;;`;
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
    ({ name, commands: inside }) => `    ${name})
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
  const specs = words.map((offer, at) => {
    return quoted(`${at + 1 === words.length ? "*" : `${at + 1}:`}:word:${action(offer)}`);
  });
  return `    ${quoted(path)}) _arguments ${[...options.map(optionSpec), ...specs].join(" ")} ;;`;
}

function optionSpec({ name, short, summary, takesValue, offer }: CompletedOption): string {
  const text = summary.replaceAll(/[[\]:]/gu, (sign) => `\\${sign}`);
  const takes = takesValue ? `:value:${action(offer)}` : "";
  if (short === undefined) return quoted(`*--${name}[${text}]${takes}`);
  return `'*'{-${short},--${name}}${quoted(`[${text}]${takes}`)}`;
}

function action(offer: Offer): string {
  if (typeof offer !== "string") return offer ? `(${offer.join(" ")})` : " ";
  return offer === "file" ? "_files" : `{_tenon_names ${offer}}`;
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
  .flatMap(({ name, commands: inside }) =>
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
  return [
    ...options.map(({ name, short, summary, takesValue, offer }) => {
      const flag = `-l ${name}${short === undefined ? "" : ` -s ${short}`}`;
      const takes = takesValue ? ` ${offer === "file" ? "-r" : "-x"}${offerFlags(offer)}` : "";
      return `complete -c tenon ${here} ${flag}${takes} -d ${fishQuoted(summary)}`;
    }),
    ...words.flatMap((offer) => (offer === undefined ? [] : [`complete -c tenon ${here}${offerFlags(offer)}`])),
  ];
}

function offerFlags(offer: Offer): string {
  if (offer === undefined) return "";
  return offer === "file" ? " -F" : ` -a ${fishQuoted(candidates("fish", offer).replace(/^\$/u, ""))}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/gu, (sign) => `\\${sign}`)}'`;
}

// Completion for PowerShell: one table of words by path, looked up by a script block.

export function powershellScript({ names, groups, commands }: CompletedTable): string {
  const rows = [
    ["", [...names.map(({ name }) => name), "--help", "--version"]],
    ...groups.map(({ name, commands: inside }) => [name, [...inside.map((one) => one.name), "--help"]] as const),
    ...commands.map(({ path, options, words }) => {
      const flags = options.map(({ name }) => `--${name}`);
      return [
        path,
        [...flags, ...words.flatMap((offer) => (typeof offer === "string" ? [`@${offer}`] : (offer ?? [])))],
      ] as const;
    }),
  ] as const;
  const summaries = [...names, ...groups.flatMap((group) => group.commands)];
  const about = new Map(summaries.map(({ name, summary }) => [name, summary]));
  const list = (words: readonly string[]) => words.map(powershellQuoted).join(", ");
  return `# PowerShell completion for tenon; made by: tenon completion powershell
$tenonWords = @{
${rows.map(([path, words]) => `  ${powershellQuoted(path)} = @(${list(words)})`).join("\n")}
}
$tenonAbout = @{
${[...about].map(([name, summary]) => `  ${powershellQuoted(name)} = ${powershellQuoted(summary)}`).join("\n")}
}
Register-ArgumentCompleter -Native -CommandName tenon -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $typed = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" } | Where-Object { $_ -notlike '-*' -and $_ -ne $wordToComplete })
  $path = ''
  foreach ($word in ($typed | Select-Object -First 2)) {
    $next = ("$path $word").Trim()
    if ($tenonWords.ContainsKey($next)) { $path = $next }
  }
  foreach ($word in $tenonWords[$path]) {
    $found = if ($word -eq '@server' -or $word -eq '@session') { tenon completion powershell --names $word.Substring(1) 2>$null } elseif ($word -eq '@file') { @() } else { @($word) }
    foreach ($one in $found) {
      if ($one -like "$wordToComplete*") {
        $tip = if ($tenonAbout.ContainsKey($one)) { $tenonAbout[$one] } else { $one }
        [System.Management.Automation.CompletionResult]::new($one, $one, 'ParameterValue', $tip)
      }
    }
  }
}
`;
}

function powershellQuoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
