// A change as a unified diff, for the model and for people without an editor. Bounded by steps, not by time: a diff is the same everywhere.
import { type ChangeObject, diffArrays } from "diff";
import { BUILTIN_LIMITS } from "./limits.js";

const CONTEXT = 3;

export interface UnifiedDiff {
  /** Hunks only, without a file header. Empty when nothing differs. Cut at `BUILTIN_LIMITS.diff.maxShownBytes`. */
  readonly text: string;
  readonly added: number;
  readonly removed: number;
  /** The first changed line of the new text, from 1. */
  readonly firstLine: number;
}

export function unifiedDiff(oldText: string, newText: string): UnifiedDiff {
  if (oldText === newText) return { text: "", added: 0, removed: 0, firstLine: 1 };
  const { start, tail } = commonEnds(oldText, newText);
  const before = oldText.slice(start, oldText.length - tail);
  const after = newText.slice(start, newText.length - tail);
  const counts = [countLines(before), countLines(after)] as const;
  const maxEditLength = editLimit(before, after, counts);
  // Lines are split here: `structuredPatch` of the package takes 100 ms for 130,000.
  const parts = maxEditLength < 1 ? undefined : diffArrays(linesOf(before), linesOf(after), { maxEditLength });
  const skipped = countLines(oldText, start);
  const last = Math.max(1, skipped + counts[1] + (tail > 0 ? 1 : 0));
  if (!parts) {
    const [removed, added] = counts;
    const header = headerOf({ oldStart: 1, oldLines: removed, newStart: 1, newLines: added }, skipped);
    return { text: wholeChange(header, before, after), added, removed, firstLine: Math.min(skipped + 1, last) };
  }
  const counted = (kind: "added" | "removed") => parts.reduce((sum, part) => sum + (part[kind] ? part.count : 0), 0);
  const unchanged = parts[0]?.added || parts[0]?.removed ? 0 : (parts[0]?.count ?? 0);
  return {
    text: shown(hunksOf(parts).flatMap((hunk) => [headerOf(hunk, skipped), ...hunk.lines])),
    added: counted("added"),
    removed: counted("removed"),
    firstLine: Math.min(skipped + unchanged + 1, last),
  };
}

/** With their ends, so that a missing last one counts. By `indexOf`: a pattern takes four times as long. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start) + 1 || text.length;
    lines.push(text.slice(start, end));
    start = end;
  }
  return lines;
}

interface Range {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
}

type Hunk = Range & { readonly lines: string[] };

/** Changes with the lines around them; those with little in between are one. */
function hunksOf(parts: readonly ChangeObject<string[]>[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let hunk: Hunk | undefined;
  let [oldLine, newLine] = [1, 1];
  const add = (mark: " " | "+" | "-", lines: readonly string[]) => {
    hunk ??= { oldStart: oldLine, oldLines: 0, newStart: newLine, newLines: 0, lines: [] };
    for (const line of lines) {
      if (line.endsWith("\n")) hunk.lines.push(mark + line.slice(0, -1));
      else hunk.lines.push(mark + line, "\\ No newline at end of file");
    }
    const [oldCount, newCount] = [mark === "+" ? 0 : lines.length, mark === "-" ? 0 : lines.length];
    hunk.oldLines += oldCount;
    hunk.newLines += newCount;
    oldLine += oldCount;
    newLine += newCount;
  };
  for (const [index, { added, removed, value }] of parts.entries()) {
    if (added || removed) {
      add(added ? "+" : "-", value);
      continue;
    }
    const isLast = index === parts.length - 1;
    if (hunk && !isLast && value.length <= 2 * CONTEXT) {
      add(" ", value);
      continue;
    }
    const above = hunk ? CONTEXT : 0;
    if (hunk) {
      add(" ", value.slice(0, CONTEXT));
      hunks.push(hunk);
      hunk = undefined;
    }
    const below = Math.max(above, value.length - CONTEXT);
    oldLine += Math.max(0, below - above);
    newLine += Math.max(0, below - above);
    if (!isLast) add(" ", value.slice(below));
  }
  if (hunk) hunks.push(hunk);
  return hunks;
}

/** How many edited lines the search may try (its cost is quadratic in them); 0 when the texts are not compared at all. */
export function editLimit(before: string, after: string, counts?: readonly [number, number]): number {
  const { maxLines, maxEdits, maxComparedLines, maxComparedChars } = BUILTIN_LIMITS.diff;
  const [oldLines, newLines] = counts ?? [countLines(before), countLines(after)];
  if (Math.max(oldLines, newLines) >= maxLines) return 0;
  const chars = Math.max(1, before.length + after.length);
  return Math.floor(Math.min(maxEdits, maxComparedLines / (oldLines + newLines), maxComparedChars / chars));
}

/** The parts that need no comparison: where the lines around the change begin, and the length of the text after them. */
function commonEnds(oldText: string, newText: string): { start: number; tail: number } {
  const shorter = Math.min(oldText.length, newText.length);
  // Whole blocks first: comparing texts is much faster than comparing characters.
  let same = 0;
  while (same + BLOCK <= shorter && oldText.slice(same, same + BLOCK) === newText.slice(same, same + BLOCK))
    same += BLOCK;
  while (same < shorter && oldText.charCodeAt(same) === newText.charCodeAt(same)) same += 1;
  let start = same === 0 ? 0 : oldText.lastIndexOf("\n", same - 1) + 1;
  for (let lines = 0; lines < CONTEXT && start > 0; lines++) {
    start = start < 2 ? 0 : oldText.lastIndexOf("\n", start - 2) + 1;
  }
  const most = shorter - same;
  const blockAt = (text: string, end: number) => text.slice(text.length - end - BLOCK, text.length - end);
  let tail = 0;
  while (tail + BLOCK <= most && blockAt(oldText, tail) === blockAt(newText, tail)) tail += BLOCK;
  while (tail < most && oldText.charCodeAt(oldText.length - 1 - tail) === newText.charCodeAt(newText.length - 1 - tail))
    tail += 1;
  // On to the end of the third line after the one in which the change ends; the rest is the same in both texts.
  let end = oldText.length - tail;
  for (let lines = 0; lines <= CONTEXT && end < oldText.length; lines++) {
    end = oldText.indexOf("\n", end) + 1 || oldText.length;
  }
  return { start, tail: oldText.length - end };
}

const BLOCK = 4_096;

/** A last line without an end counts too. */
function countLines(text: string, end: number = text.length): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) lines += 1;
  return end > 0 && text.charCodeAt(end - 1) !== 10 ? lines + 1 : lines;
}

function headerOf({ oldStart, oldLines, newStart, newLines }: Range, skipped: number): string {
  // In a unified diff an empty range starts at the line before it.
  const range = (start: number, lines: number) => `${skipped + start - (lines === 0 ? 1 : 0)},${lines}`;
  return `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`;
}

/** For texts that differ too much, or are too long, to be compared. No more lines are made than are shown. */
function wholeChange(header: string, before: string, after: string): string {
  const marked = (mark: string, text: string) => {
    const lines = text.slice(0, BUILTIN_LIMITS.diff.maxShownBytes + 1).split("\n");
    const isEnded = lines.at(-1) === "";
    const all = (isEnded ? lines.slice(0, -1) : lines).map((line) => mark + line);
    return isEnded ? all : [...all, "\\ No newline at end of file"];
  };
  return shown([header, ...marked("-", before), ...marked("+", after)]);
}

function shown(lines: readonly string[]): string {
  let bytes = 0;
  const end = lines.findIndex((line) => {
    bytes += line.length + 1;
    return bytes > BUILTIN_LIMITS.diff.maxShownBytes;
  });
  const kept = end === -1 ? lines : [...lines.slice(0, end), "[The diff is cut here: it is too long to be shown.]"];
  return kept.join("\n");
}
