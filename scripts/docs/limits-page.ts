// docs/reference/limits.md, from `src/*/limits.ts` with the comments beside them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../lib/run.js";
import { cell, code, page, table } from "./markdown.js";

/** The files of limits: that of every module, and those shared by several. */
export const LIMIT_FILES: readonly string[] = readdirSync(join(ROOT, "src"))
  .map((module) => `src/${module}/limits.ts`)
  .filter((path) => existsSync(join(ROOT, path)))
  .sort();

export interface DescribedLimit {
  readonly name: string;
  readonly value: string;
  readonly reason: string;
}

export function limitsPage(): string {
  const body = LIMIT_FILES.flatMap((path) => {
    const rows = limitsIn(readFileSync(join(ROOT, path), "utf8")).map((limit) => [
      code(limit.name),
      code(limit.value),
      cell(limit.reason),
    ]);
    return [
      `## ${path.split("/")[1] === "base" ? "Shared" : path.split("/")[1]}`,
      "",
      ...table(["limit", "value", "why"], rows),
    ];
  });
  const intro = [
    "Every default that bounds something. Names end in their unit. Those that can be changed say so in",
    "[the configuration](configuration.md); the others are as they are.",
  ];
  return page("Limits", intro, body);
}

/** The fields of the objects such a file exports; one without a comment of its own shares that above it. */
export function limitsIn(source: string): readonly DescribedLimit[] {
  const limits: DescribedLimit[] = [];
  let reason = "";
  const entry =
    /^ {2}\/\*\*(?<comment>[\s\S]*?)\*\/\n|^ {2}(?<name>\w+): (?<value>[[{]\n[\s\S]*?\n {2}[\]}]|[^\n]*?),\n/gmu;
  for (const { groups = {} } of source.matchAll(entry)) {
    const { comment, name, value } = groups;
    if (comment !== undefined) reason = comment.replaceAll(/^\s*\*/gmu, "");
    else if (name !== undefined && value !== undefined)
      limits.push({ name, value: value.replaceAll(/\/\*\*[\s\S]*?\*\//gu, "").replaceAll(/\s+/gu, " "), reason });
  }
  return limits;
}
