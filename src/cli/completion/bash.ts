// Completion for bash.
import type { CompletedCommand, CompletedTable, Offer } from "./words.js";

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
${commands.map(commandCase).join("\n")}
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

function commandCase({ path, options, words }: CompletedCommand): string {
  const flags = options.flatMap(({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]);
  const places = words.map((offer, at) => `${at + 1 === words.length ? "*" : at + 1}) words="${wordText(offer)}" ;;`);
  const chosen = places.length === 0 ? "" : `; case "$place" in ${places.join(" ")} esac`;
  return `    "${path}") options="${flags.join(" ")}"${chosen} ;;`;
}

function wordText(offer: Offer): string {
  if (offer.kind === "choices") return offer.choices.join(" ");
  return offer.kind === "nothing" ? "" : `@${offer.kind}`;
}
