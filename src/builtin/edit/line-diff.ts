// The lines in which two texts differ, by the shortest way from one to the other (Myers), bounded.
import { LIMITS } from "../../base/limits.js";

/** Lines `oldStart…oldEnd` of the old text give way to `newStart…newEnd` of the new one; ends excluded, from 0. */
export interface LineChange {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** With their line ends, so that a missing last one counts. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/gu) ?? [];
}

export function diffLines(before: readonly string[], after: readonly string[]): readonly LineChange[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let oldEnd = before.length;
  let newEnd = after.length;
  while (oldEnd > start && newEnd > start && before[oldEnd - 1] === after[newEnd - 1]) {
    oldEnd -= 1;
    newEnd -= 1;
  }
  if (start === oldEnd && start === newEnd) return [];
  const kept = commonLines(before.slice(start, oldEnd), after.slice(start, newEnd));
  return gaps(kept, oldEnd - start, newEnd - start).map((gap) => ({
    oldStart: gap.oldStart + start,
    oldEnd: gap.oldEnd + start,
    newStart: gap.newStart + start,
    newEnd: gap.newEnd + start,
  }));
}

interface Pair {
  readonly before: number;
  readonly after: number;
}

/** What lies between the lines that stayed. */
function gaps(kept: readonly Pair[], oldLength: number, newLength: number): LineChange[] {
  const changes: LineChange[] = [];
  let oldStart = 0;
  let newStart = 0;
  for (const { before, after } of [...kept, { before: oldLength, after: newLength }]) {
    if (before > oldStart || after > newStart) changes.push({ oldStart, oldEnd: before, newStart, newEnd: after });
    oldStart = before + 1;
    newStart = after + 1;
  }
  return changes;
}

/** Myers' greedy search, its furthest points kept per round to walk back. None when the texts differ too much. */
function commonLines(before: readonly string[], after: readonly string[]): readonly Pair[] {
  const most = Math.min(before.length + after.length, LIMITS.diffMaxLines);
  const furthest = new Int32Array(2 * most + 3);
  const at = (diagonal: number): number => furthest[diagonal + most + 1] ?? 0;
  const rounds: Int32Array[] = [];
  for (let round = 0; round <= most; round++) {
    rounds.push(furthest.slice(most + 1 - round - 1, most + 1 + round + 2));
    for (let diagonal = -round; diagonal <= round; diagonal += 2) {
      const isDown = diagonal === -round || (diagonal !== round && at(diagonal - 1) < at(diagonal + 1));
      let x = isDown ? at(diagonal + 1) : at(diagonal - 1) + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      furthest[diagonal + most + 1] = x;
      if (x >= before.length && x - diagonal >= after.length) return walkBack(rounds, before.length, after.length);
    }
  }
  return [];
}

/** `rounds[n]` holds the diagonals from `-n - 1` to `n + 1` as they were before round n. */
function walkBack(rounds: readonly Int32Array[], oldLength: number, newLength: number): readonly Pair[] {
  const pairs: Pair[] = [];
  let x = oldLength;
  let y = newLength;
  for (let round = rounds.length - 1; round >= 0; round--) {
    const at = (diagonal: number): number => rounds[round]?.[diagonal + round + 1] ?? 0;
    const diagonal = x - y;
    const isDown = diagonal === -round || (diagonal !== round && at(diagonal - 1) < at(diagonal + 1));
    const fromDiagonal = isDown ? diagonal + 1 : diagonal - 1;
    const fromX = round === 0 ? 0 : at(fromDiagonal);
    const fromY = round === 0 ? 0 : fromX - fromDiagonal;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      pairs.push({ before: x, after: y });
    }
    x = fromX;
    y = fromY;
  }
  return pairs.reverse();
}
