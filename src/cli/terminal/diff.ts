// A change of a file for a terminal: its name and size, then the changed lines in colour with their numbers and a few lines around them.
import { diffLines } from "diff";
import type { Palette } from "./stream.js";
import { visible, visibleLine } from "./text.js";

const CONTEXT = 3;
/** Comparing takes time with the product of both sizes: larger texts are shown one after the other. */
const MAX_CHARS = 400_000;
const COMPARE_MS = 200;

interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "fold";
  readonly text: string;
  /** In the new text, or in the old one where it was removed. */
  readonly number?: number;
}

export interface ShownDiff {
  /** `path (+2 −1)` */
  readonly title: string;
  readonly lines: readonly string[];
}

/** `oldText`: nothing for a new file. All of it is made visible here. */
export function renderDiff(
  {
    path,
    oldText,
    newText,
  }: { readonly path: string; readonly oldText?: string | null | undefined; readonly newText: string },
  palette: Palette,
): ShownDiff {
  const lines = changedLines(oldText ?? "", newText);
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  const sizes = `${palette.green(`+${count("added")}`)} ${palette.red(`−${count("removed")}`)}`;
  const isNew = oldText === null || oldText === undefined;
  const width = String(Math.max(1, ...lines.map(({ number = 0 }) => number))).length;
  return {
    title: `${palette.bold(visibleLine(path))} ${isNew ? palette.dim("new file ") : ""}(${sizes})`,
    lines: lines.map((line) => lineText(line, width, palette)),
  };
}

function lineText({ kind, text, number }: DiffLine, width: number, palette: Palette): string {
  const shown = visible(text).replaceAll("\t", "    ");
  const place = String(number ?? "").padStart(width);
  switch (kind) {
    case "same":
      return palette.dim(`${place}   ${shown}`).trimEnd();
    case "added":
      return palette.green(`${place} + ${shown}`);
    case "removed":
      return palette.red(`${place} - ${shown}`);
    case "fold":
      return palette.dim(`${" ".repeat(width)} ⋮ ${shown}`);
  }
}

function changedLines(before: string, after: string): readonly DiffLine[] {
  const isSmall = before.length + after.length <= MAX_CHARS;
  const changes = isSmall ? diffLines(before, after, { timeout: COMPARE_MS }) : undefined;
  const parts = changes ?? [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  const lines: DiffLine[] = [];
  let [old, now] = [1, 1];
  for (const [index, { value, added, removed }] of parts.entries()) {
    if (value === "") continue;
    const texts = value.replace(/\n$/u, "").split("\n");
    if (added) for (const text of texts) lines.push({ kind: "added", text, number: now++ });
    else if (removed) for (const text of texts) lines.push({ kind: "removed", text, number: old++ });
    else {
      const [head, tail] = [index === 0 ? 0 : CONTEXT, index === parts.length - 1 ? 0 : CONTEXT];
      const hidden = texts.length - head - tail;
      for (const [place, text] of texts.entries()) {
        const isFolded = hidden > 1 && place >= head && place < texts.length - tail;
        if (!isFolded) lines.push({ kind: "same", text, number: now });
        else if (place === head) lines.push({ kind: "fold", text: `${hidden} unchanged lines` });
        old += 1;
        now += 1;
      }
    }
  }
  return lines;
}
