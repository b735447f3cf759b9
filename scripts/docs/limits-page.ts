// docs/reference/limits.md, from the files of limits with the comments beside them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../lib/run.js";
import { cell, code, page, table } from "./markdown.js";

const FOLDER = join(ROOT, "src/base");

export interface DescribedLimit {
  readonly name: string;
  readonly value: string;
  readonly reason: string;
}

export function limitsPage(): string {
  const files = readdirSync(FOLDER)
    .filter((name) => /^limits(?:-[a-z-]+)?\.ts$/u.test(name))
    .sort();
  const body = files.flatMap((name) => {
    const limits = limitsIn(readFileSync(join(FOLDER, name), "utf8"));
    const title = name === "limits.ts" ? "General" : titleOf(name);
    const rows = limits.map((limit) => [code(limit.name), code(limit.value), cell(limit.reason)]);
    return [`## ${title}`, "", ...table(["limit", "value", "why"], rows)];
  });
  const intro = [
    "Every default that bounds something. Names end in their unit. Those that can be changed say so in",
    "[the configuration](configuration.md); the others are as they are.",
  ];
  return page("Limits", intro, body);
}

function titleOf(name: string): string {
  const word = name.replace(/^limits-/u, "").replace(/\.ts$/u, "");
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/** The fields of the one object such a file exports; one without a comment of its own shares that above it. */
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
