// Completion for zsh.
import type { CompletedCommand, CompletedName, CompletedOption, CompletedTable, Offer } from "./words.js";

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
