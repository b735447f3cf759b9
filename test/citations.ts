// Reads which requirements the scenarios cite, from their source.
import { parseSync, Visitor } from "oxc-parser";

export interface Citations {
  readonly ids: readonly string[];
  /** Ways around the gate: a bare test that cites nothing, ids that cannot be read from the source, a skipped scenario. */
  readonly faults: readonly string[];
}

const BARE = new Set(["test", "it"]);

export function citationsIn(path: string, text: string): Citations {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const ids: string[] = [];
  const faults: string[] = [];
  new Visitor({
    CallExpression({ callee, arguments: [first] }) {
      const name = callee.type === "MemberExpression" ? callee.object : callee;
      if (name.type !== "Identifier") return;
      if (BARE.has(name.name))
        faults.push(`${path}: ${name.name}() cites no requirement; use scenario([ids], name, run)`);
      if (name.name !== "scenario") return;
      if (callee.type === "MemberExpression")
        faults.push(`${path}: a scenario runs or does not exist; scenario.skip and the like count as neither`);
      const literals = first?.type === "ArrayExpression" ? first.elements.map((element) => literalText(element)) : [];
      if (literals.length === 0 || literals.includes(undefined))
        faults.push(`${path}: the ids of a scenario must be literal strings`);
      ids.push(...literals.filter((id) => id !== undefined));
    },
  }).visit(program);
  return { ids, faults };
}

function literalText(element: { readonly type: string; readonly value?: unknown } | null): string | undefined {
  return element?.type === "Literal" && typeof element.value === "string" ? element.value : undefined;
}
