// The API report: every exported name of the library with its declaration, from the built declarations.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";
import { LIBRARY_ENTRIES } from "../lib/bundle.js";
import { ROOT } from "../lib/run.js";

export const API_REPORT = "docs/reference/api.md";

export interface ExportedName {
  /** `tenon`, `tenon/mcp`, … */
  readonly entry: string;
  readonly name: string;
  /** Without comments. */
  readonly declaration: string;
  /** The doc comment before it; empty where there is none. */
  readonly comment: string;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Module {
  readonly text: string;
  /** By local name: where it is declared, and the comment before it. */
  readonly declared: ReadonlyMap<string, { readonly declaration: Span; readonly comment?: Span }>;
  /** By local name: the module it comes from, and its name there. */
  readonly imported: ReadonlyMap<string, { readonly from: string; readonly name: string }>;
  /** By exported name: the local one. */
  readonly exported: ReadonlyMap<string, string>;
  readonly comments: readonly Span[];
}

/** Of what lies in `dist/`. */
export function exportedNames(): readonly ExportedName[] {
  const modules = new Map<string, Module>();
  return LIBRARY_ENTRIES.flatMap((entry) => {
    const file = join(ROOT, "dist", `${entry}.d.ts`);
    const names = [...moduleOf(file, modules).exported.keys()].toSorted();
    const shown = entry === "index" ? "tenon" : `tenon/${entry}`;
    return names.map((name): ExportedName => ({ entry: shown, name, ...found(file, name, modules) }));
  });
}

export function apiReport(): string {
  const names = exportedNames();
  const entries = [...new Set(names.map(({ entry }) => entry))];
  const parts = entries.map((entry) => {
    const own = names.filter((one) => one.entry === entry);
    return [`## ${entry}`, "", ...own.flatMap(({ declaration }) => ["```typescript", declaration, "```", ""])].join(
      "\n",
    );
  });
  const head = [
    "# API report",
    "",
    `Every exported name of the library, ${names.length} in all, written by \`npm run docs\` from the built declarations: a change of the API is a change of this page.`,
    "What each is for, with an example, is in its doc comment, which editors show; [the guide](../how-to/library.md) begins at the beginning.",
    "",
  ];
  return `${[...head, ...parts].join("\n").trimEnd()}\n`;
}

function found(
  file: string,
  name: string,
  modules: Map<string, Module>,
): Pick<ExportedName, "declaration" | "comment"> {
  const module = moduleOf(file, modules);
  const local = module.exported.get(name) ?? name;
  const imported = module.imported.get(local);
  if (imported) return found(imported.from, imported.name, modules);
  const known = module.declared.get(local);
  if (!known) throw new Error(`${file} exports ${name}, which is declared nowhere`);
  const { declaration, comment } = known;
  const inside = module.comments.filter(({ start, end }) => start >= declaration.start && end <= declaration.end);
  const text = inside.reduceRight(
    (rest, { start, end }) => rest.slice(0, start - declaration.start) + rest.slice(end - declaration.start),
    module.text.slice(declaration.start, declaration.end),
  );
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  // What rolldown appends to keep two names of two modules apart is no part of the API.
  const shown = lines
    .join("\n")
    .replaceAll(/\b(\w+)\$\d+\b/gu, "$1")
    .replaceAll(/^declare /gmu, "");
  return { declaration: shown, comment: comment ? module.text.slice(comment.start, comment.end) : "" };
}

function moduleOf(file: string, modules: Map<string, Module>): Module {
  const known = modules.get(file);
  if (known) return known;
  const text = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, text);
  const declared = new Map<string, { declaration: Span; comment?: Span }>();
  const imported = new Map<string, { from: string; name: string }>();
  const exported = new Map<string, string>();
  for (const node of program.body) {
    if (node.type === "ImportDeclaration") {
      const from = join(dirname(file), node.source.value.replace(/\.js$/u, ".d.ts"));
      for (const one of node.specifiers) {
        if (one.type !== "ImportSpecifier" || one.imported.type !== "Identifier") continue;
        imported.set(one.local.name, { from, name: one.imported.name });
      }
    } else if (node.type === "ExportNamedDeclaration") {
      for (const { local, exported: as } of node.specifiers) {
        if (local.type === "Identifier" && as.type === "Identifier") exported.set(as.name, local.name);
      }
    } else {
      const name = nameOf(node);
      if (name === undefined) continue;
      const before = comments.findLast(({ end }) => end <= node.start);
      const isIts = before && before.type === "Block" && text.slice(before.end, node.start).trim() === "";
      // Overloads stand beside each other: the first one has the comment.
      const first = declared.get(name);
      const declaration = { start: first?.declaration.start ?? node.start, end: node.end };
      declared.set(name, {
        declaration,
        ...(isIts ? { comment: before } : {}),
        ...(first && { comment: first.comment }),
      });
    }
  }
  const module = { text, declared, imported, exported, comments };
  modules.set(file, module);
  return module;
}

function nameOf(node: { readonly type: string }): string | undefined {
  if ("id" in node && typeof node.id === "object" && node.id !== null && "name" in node.id) return String(node.id.name);
  if (!("declarations" in node) || !Array.isArray(node.declarations)) return undefined;
  const [first]: unknown[] = node.declarations;
  return typeof first === "object" && first !== null && "type" in first ? nameOf({ ...first, type: "" }) : undefined;
}
