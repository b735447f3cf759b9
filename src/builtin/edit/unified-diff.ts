// A change as a unified diff, for the model and for people without an editor.
import { diffLines, type LineChange, splitLines } from "./line-diff.js";

const CONTEXT = 3;

export interface UnifiedDiff {
  /** Hunks only, without a file header. Empty when nothing differs. */
  readonly text: string;
  readonly added: number;
  readonly removed: number;
  /** The first changed line of the new text, from 1. */
  readonly firstLine: number;
}

export function unifiedDiff(oldText: string, newText: string): UnifiedDiff {
  const before = splitLines(oldText);
  const after = splitLines(newText);
  const changes = diffLines(before, after);
  const hunks = groups(changes).map((group) => hunk(group, before, after));
  return {
    text: hunks.join("\n"),
    added: changes.reduce((sum, change) => sum + change.newEnd - change.newStart, 0),
    removed: changes.reduce((sum, change) => sum + change.oldEnd - change.oldStart, 0),
    firstLine: Math.min((changes[0]?.newStart ?? 0) + 1, Math.max(1, after.length)),
  };
}

/** Changes whose context would touch go into one hunk. */
function groups(changes: readonly LineChange[]): LineChange[][] {
  const all: LineChange[][] = [];
  for (const change of changes) {
    const last = all.at(-1);
    const end = last?.at(-1)?.oldEnd;
    if (last && end !== undefined && change.oldStart - end <= 2 * CONTEXT) last.push(change);
    else all.push([change]);
  }
  return all;
}

function hunk(changes: readonly LineChange[], before: readonly string[], after: readonly string[]): string {
  const first = changes[0] ?? NOTHING;
  const last = changes.at(-1) ?? NOTHING;
  const oldStart = Math.max(0, first.oldStart - CONTEXT);
  const oldEnd = Math.min(before.length, last.oldEnd + CONTEXT);
  const newStart = first.newStart - (first.oldStart - oldStart);
  const newEnd = last.newEnd + (oldEnd - last.oldEnd);
  const lines: string[] = [`@@ -${range(oldStart, oldEnd)} +${range(newStart, newEnd)} @@`];
  let at = oldStart;
  for (const change of changes) {
    lines.push(...marked(" ", before.slice(at, change.oldStart)));
    lines.push(...marked("-", before.slice(change.oldStart, change.oldEnd)));
    lines.push(...marked("+", after.slice(change.newStart, change.newEnd)));
    at = change.oldEnd;
  }
  lines.push(...marked(" ", before.slice(at, oldEnd)));
  return lines.join("\n");
}

const NOTHING: LineChange = { oldStart: 0, oldEnd: 0, newStart: 0, newEnd: 0 };

function range(start: number, end: number): string {
  return `${end > start ? start + 1 : start},${end - start}`;
}

function marked(mark: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n") ? [mark + line.slice(0, -1)] : [mark + line, "\\ No newline at end of file"],
  );
}
