// A change as a unified diff, for the model and for people without an editor. Bounded by steps, not by time: a diff is the same everywhere.
import { diffArrays } from "diff";
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

/** Lines `oldStart…oldEnd` of the old text give way to `newStart…newEnd` of the new one; ends excluded, from 0. */
interface LineChange {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

export function unifiedDiff(oldText: string, newText: string): UnifiedDiff {
  if (oldText === newText) return { text: "", added: 0, removed: 0, firstLine: 1 };
  const { start, tail } = commonEnds(oldText, newText);
  const removed = oldText.slice(start, oldText.length - tail);
  const added = newText.slice(start, newText.length - tail);
  const before = splitLines(removed);
  const after = splitLines(added);
  const isWhole = Math.max(before.length, after.length) === BUILTIN_LIMITS.diff.maxLines;
  const oldEnd = isWhole ? countLines(removed, removed.length) : before.length;
  const newEnd = isWhole ? countLines(added, added.length) : after.length;
  const changes = isWhole ? [{ oldStart: 0, oldEnd, newStart: 0, newEnd }] : diffLines(before, after);
  const firstLine = countLines(oldText, start);
  const lines = firstLine + newEnd + (tail > 0 ? 1 : 0);
  return {
    text: showHunks(groups(changes), { before, after, firstLine }),
    added: changes.reduce((sum, change) => sum + change.newEnd - change.newStart, 0),
    removed: changes.reduce((sum, change) => sum + change.oldEnd - change.oldStart, 0),
    firstLine: Math.min(firstLine + (changes[0]?.newStart ?? 0) + 1, Math.max(1, lines)),
  };
}

/** What need not be compared line by line: where the lines around the change begin, and the length of what follows them. */
function commonEnds(oldText: string, newText: string): { start: number; tail: number } {
  const shorter = Math.min(oldText.length, newText.length);
  let same = commonBlocks(oldText, newText, shorter);
  while (same < shorter && oldText.charCodeAt(same) === newText.charCodeAt(same)) same += 1;
  let start = same === 0 ? 0 : oldText.lastIndexOf("\n", same - 1) + 1;
  for (let lines = 0; lines < CONTEXT && start > 0; lines++) {
    start = start < 2 ? 0 : oldText.lastIndexOf("\n", start - 2) + 1;
  }
  const most = shorter - same;
  let tail = 0;
  while (tail + BLOCK <= most && blockFromEnd(oldText, tail) === blockFromEnd(newText, tail)) tail += BLOCK;
  while (
    tail < most &&
    oldText.charCodeAt(oldText.length - 1 - tail) === newText.charCodeAt(newText.length - 1 - tail)
  ) {
    tail += 1;
  }
  // On to the end of the third line after the one in which the change ends; what follows is the same in both texts.
  let end = oldText.length - tail;
  for (let lines = 0; lines <= CONTEXT && end < oldText.length; lines++) end = nextLine(oldText, end);
  return { start, tail: oldText.length - end };
}

/** Whole blocks from the start that are the same: compared as texts, which is much faster than by characters. */
function commonBlocks(one: string, other: string, shorter: number): number {
  let same = 0;
  while (same + BLOCK <= shorter && one.slice(same, same + BLOCK) === other.slice(same, same + BLOCK)) same += BLOCK;
  return same;
}

const BLOCK = 4_096;

function blockFromEnd(text: string, tail: number): string {
  return text.slice(text.length - tail - BLOCK, text.length - tail);
}

function nextLine(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found === -1 ? text.length : found + 1;
}

/** A last line without an end counts too. */
function countLines(text: string, end: number): number {
  let lines = 0;
  for (let at = 0; at < end; at++) if (text.charCodeAt(at) === 10) lines += 1;
  return end > 0 && text.charCodeAt(end - 1) !== 10 ? lines + 1 : lines;
}

/** With their line ends, so that a missing last one counts. No more than are compared: more are never shown either. */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length && lines.length < BUILTIN_LIMITS.diff.maxLines; ) {
    const end = nextLine(text, start);
    lines.push(text.slice(start, end));
    start = end;
  }
  return lines;
}

/** The shortest way from one to the other (Myers). Texts that differ too much for their size count as wholly different. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly LineChange[] {
  const whole = { oldStart: 0, oldEnd: before.length, newStart: 0, newEnd: after.length };
  const { maxEdits, maxComparedLines, maxComparedChars } = BUILTIN_LIMITS.diff;
  const charsOf = (lines: readonly string[]) => lines.reduce((sum, { length }) => sum + length, 0);
  const chars = charsOf(before) + charsOf(after);
  const maxEditLength = Math.floor(
    Math.min(maxEdits, maxComparedLines / (before.length + after.length), maxComparedChars / Math.max(1, chars)),
  );
  const parts = maxEditLength < 1 ? undefined : diffArrays([...before], [...after], { maxEditLength });
  if (!parts) return [whole];
  const changes: LineChange[] = [];
  let change = { oldStart: 0, oldEnd: 0, newStart: 0, newEnd: 0 };
  const end = () => {
    if (change.oldEnd > change.oldStart || change.newEnd > change.newStart) changes.push(change);
  };
  for (const { count, added, removed } of parts) {
    if (removed) change = { ...change, oldEnd: change.oldEnd + count };
    else if (added) change = { ...change, newEnd: change.newEnd + count };
    else {
      end();
      const [oldStart, newStart] = [change.oldEnd + count, change.newEnd + count];
      change = { oldStart, oldEnd: oldStart, newStart, newEnd: newStart };
    }
  }
  end();
  return changes;
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

interface Compared {
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** How many lines stand before them, in both texts. */
  readonly firstLine: number;
}

function showHunks(hunks: readonly (readonly LineChange[])[], compared: Compared): string {
  const lines: string[] = [];
  let bytes = 0;
  for (const line of hunkLines(hunks, compared)) {
    bytes += line.length + 1;
    if (bytes > BUILTIN_LIMITS.diff.maxShownBytes) {
      lines.push("[The diff is cut here: it is too long to be shown.]");
      break;
    }
    lines.push(line);
  }
  return lines.join("\n");
}

function* hunkLines(hunks: readonly (readonly LineChange[])[], compared: Compared): Generator<string> {
  const { before, after, firstLine } = compared;
  for (const changes of hunks) {
    const first = changes[0] ?? NOTHING;
    const last = changes.at(-1) ?? NOTHING;
    const oldStart = Math.max(0, first.oldStart - CONTEXT);
    const oldEnd = Math.min(before.length, last.oldEnd + CONTEXT);
    const newStart = first.newStart - (first.oldStart - oldStart);
    const newEnd = last.newEnd + (oldEnd - last.oldEnd);
    yield `@@ -${range(oldStart + firstLine, oldEnd + firstLine)} +${range(newStart + firstLine, newEnd + firstLine)} @@`;
    let at = oldStart;
    for (const change of changes) {
      yield* marked(" ", before, at, change.oldStart);
      yield* marked("-", before, change.oldStart, change.oldEnd);
      yield* marked("+", after, change.newStart, change.newEnd);
      at = change.oldEnd;
    }
    yield* marked(" ", before, at, oldEnd);
  }
}

const NOTHING: LineChange = { oldStart: 0, oldEnd: 0, newStart: 0, newEnd: 0 };

function range(start: number, end: number): string {
  return `${end > start ? start + 1 : start},${end - start}`;
}

function* marked(mark: string, lines: readonly string[], start: number, end: number): Generator<string> {
  for (let at = start; at < end; at++) {
    const line = lines[at] ?? "";
    if (line.endsWith("\n")) yield mark + line.slice(0, -1);
    else {
      yield mark + line;
      yield "\\ No newline at end of file";
    }
  }
}
