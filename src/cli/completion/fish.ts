// Completion for fish.
import type { CompletedCommand, CompletedTable, Offer } from "./words.js";

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
${names.map(({ name, summary }) => `complete -c tenon -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`).join("\n")}
${groups
  .flatMap(({ name, names: inside }) =>
    inside.map(
      (one) =>
        `complete -c tenon -n '__tenon_at ${name}; and not __fish_seen_subcommand_from ${inside.map((other) => other.name).join(" ")}' -a ${one.name} -d ${quoted(one.summary)}`,
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
      return `complete -c tenon ${here} ${flag}${takes} -d ${quoted(summary)}`;
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
  if (offer.kind === "choices") return quoted(offer.choices.join(" "));
  return quoted(`(tenon completion fish --names ${offer.kind} 2>/dev/null)`);
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/gu, (sign) => `\\${sign}`)}'`;
}
