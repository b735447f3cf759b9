// From whatever a person calls a tool to the tool: its own name, the model's, `server/tool`, or its title.
import type { KnownTool, KnownTools } from "./sources.js";

export type Resolved =
  | { readonly kind: "one"; readonly known: KnownTool }
  | { readonly kind: "many"; readonly candidates: readonly KnownTool[] }
  | { readonly kind: "none"; readonly similar: readonly KnownTool[] };

const MAX_SIMILAR = 5;

/** The first way that fits anything counts: an exact name is never ambiguous because of a title. */
export function resolveTool(name: string, sources: readonly KnownTools[]): Resolved {
  const all = sources.flatMap(({ tools }) => tools);
  const wanted = name.trim();
  if (wanted === "") return { kind: "none", similar: [] };
  const folded = fold(wanted);
  const ways: readonly ((known: KnownTool) => boolean)[] = [
    ({ tool }) => tool.id === wanted,
    (known) => pathOf(known) === wanted || known.tool.label === wanted,
    ({ raw, tool }) => raw.name === wanted || tool.definition.name === wanted,
    (known) =>
      [known.tool.id, pathOf(known), known.tool.label, known.raw.name, known.tool.definition.title ?? ""].some(
        (one) => fold(one) === folded,
      ),
  ];
  for (const fits of ways) {
    const candidates = all.filter(fits);
    const [first] = candidates;
    if (first && candidates.length === 1) return { kind: "one", known: first };
    if (candidates.length > 1) return { kind: "many", candidates };
  }
  const isSimilar = (known: KnownTool) => {
    const own = fold(known.raw.name);
    return own.includes(folded) || folded.endsWith(own) || fold(known.tool.id).includes(folded);
  };
  return { kind: "none", similar: all.filter(isSimilar).slice(0, MAX_SIMILAR) };
}

/** `server/tool`: the shortest name that means one tool whatever else is connected. */
export function pathOf({ source, raw }: KnownTool): string {
  return `${source.name}/${raw.name}`;
}

function fold(text: string): string {
  return text.toLowerCase();
}

/** What a prompt names as `@tool:name`; the name ends at white space, and punctuation after it is not part of it. */
export function mentionedTools(prompt: string): readonly string[] {
  const names = [...prompt.matchAll(/(?<![\p{L}\p{N}_])@tool:(\S+)/gu)].map(([, name = ""]) =>
    name.replace(/[.,;:!?)\]}"'`]+$/u, ""),
  );
  return [...new Set(names.filter((name) => name !== ""))];
}
