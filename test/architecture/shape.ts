// The shape of the source as numbers: fragments, folders that import each other, words, and the walks of ARCHITECTURE.md.
import { posix } from "node:path";
import type { SourceModule } from "./module.js";
import { ROOMS } from "./rooms.js";
import { isTest, roomOf } from "./rules.js";

const FRAGMENT_LINES = 45;

function targetsOf({ path, imports }: SourceModule): string[] {
  return imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => posix.join(posix.dirname(path), specifier).replace(/\.js$/, ".ts"));
}

/** Short files that a single other file imports: they belong in that file. */
export function fragments(modules: readonly SourceModule[]): string[] {
  const importers = new Map<string, Set<string>>();
  for (const module of modules)
    for (const target of targetsOf(module))
      importers.set(target, (importers.get(target) ?? new Set()).add(module.path));
  return modules
    .filter(({ path, lineCount }) => !path.endsWith("/index.ts") && lineCount <= FRAGMENT_LINES)
    .filter(({ path }) => importers.get(path)?.size === 1)
    .map(({ path }) => path);
}

/** A folder of a module, or a file at its top, which may lie below one folder and above another. */
function partOf(path: string): string {
  const [, , part = ""] = path.split("/");
  return part;
}

/** Pairs of parts of one module that import each other, where at least one is a folder. */
export function mutualImports(modules: readonly SourceModule[]): string[] {
  const edges = new Map<string, string>();
  for (const module of modules) {
    if (/^src\/\w+\/index\.ts$/u.test(module.path)) continue;
    for (const target of targetsOf(module)) {
      const [own, other] = [partOf(module.path), partOf(target)];
      const isInside = roomOf(module.path) === roomOf(target) && own !== other;
      if (isInside && !(own.endsWith(".ts") && other.endsWith(".ts")))
        edges.set(`${roomOf(module.path)}: ${own} ${other}`, `${module.path} imports ${target}`);
    }
  }
  return [...edges].flatMap(([edge, example]) => {
    const [room = "", own = "", other = ""] = edge.split(" ");
    const back = edges.get(`${room} ${other} ${own}`);
    return own < other && back !== undefined ? [`${example}, and ${back}`] : [];
  });
}

/** Words that only this code base used (`style.md`, Words), inside any identifier or text. */
const DIALECT =
  /\w*(?:witness|discreet|slimmer|shelf|lessee|lodger|landlord|spade|courier|lingering|toldSettings|standingStream|permissionDesk|elicitationDesk|glimpse)\w*/giu;

export function dialectWords(path: string, text: string): string[] {
  return Array.from(text.matchAll(DIALECT), ([word]) => `${path}: ${word}`);
}

/** `...(condition ? {} : { x })`: `defined({ x })` says the same. */
export function conditionalSpreads(path: string, text: string): string[] {
  return Array.from(text.matchAll(/\.\.\.\([^()]*(?:\([^()]*\)[^()]*)*\?\s*\{/gu), ([match]) => `${path}: ${match}`);
}

/** Entries of the table of packages that no file of the module makes use of. */
export function unusedPackages(modules: readonly SourceModule[]): string[] {
  return Object.entries(ROOMS).flatMap(([name, { packages = [] }]) => {
    const used = modules
      .filter(({ path }) => roomOf(path) === name && !isTest(path))
      .flatMap(({ imports }) => imports.map(({ specifier }) => specifier));
    const isUsed = (entry: string) =>
      used.some((specifier) => specifier === entry || specifier.startsWith(entry.endsWith("/") ? entry : `${entry}/`));
    return packages.filter((entry) => !isUsed(entry)).map((entry) => `${name}: ${entry}`);
  });
}

/** The file paths of the numbered list below a heading, in their order. */
export function walkOf(document: string, heading: string): string[] {
  const section = document.split(/^## /mu).find((part) => part.startsWith(heading)) ?? "";
  const steps = section.split("\n").filter((line) => /^\d+\. /u.test(line));
  return steps
    .flatMap((line) => /`((?:[\w-]+\/)+[\w-]+\.ts|[\w-]+\.ts)`/u.exec(line)?.[1] ?? [])
    .map((path) => `src/${path}`);
}

/**
 * Steps of a walk whose file does not exist, or has no import to or from the file of the step before. A module's `index.ts` may lie
 * between; what implements a port imports the port.
 */
export function brokenSteps(walk: readonly string[], modules: readonly SourceModule[]): string[] {
  const byPath = new Map(modules.map((module) => [module.path, module]));
  const imports = (from: SourceModule, path: string): boolean => {
    const direct = targetsOf(from);
    const entry = byPath.get(`src/${roomOf(path)}/index.ts`);
    return (
      direct.includes(path) || (entry !== undefined && direct.includes(entry.path) && targetsOf(entry).includes(path))
    );
  };
  const missing = walk.filter((path) => !byPath.has(path)).map((path) => `${path} does not exist`);
  const gaps = walk.slice(1).flatMap((path, index) => {
    const before = byPath.get(walk[index] ?? "");
    const module = byPath.get(path);
    if (!before || !module || imports(before, path) || imports(module, before.path)) return [];
    return [`${before.path} and ${path} do not import each other`];
  });
  return [...missing, ...gaps];
}
