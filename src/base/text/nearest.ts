// The known word that an unknown word was probably meant to be.

/** The nearest of the known words, if it is near enough to be a slip of the keyboard. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > MAX_CHARS) return undefined;
  const wanted = plain(word);
  const sameLetters = known.find((candidate) => candidate.length <= MAX_CHARS && plain(candidate) === wanted);
  if (sameLetters !== undefined) return sameLetters;
  // Up to a third of the letters, and never more than two: beyond that it is another word.
  const limit = Math.min(2, Math.ceil(word.length / 3));
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), limit);
    if (distance <= limit && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** No longer word is a slip of the keyboard. */
const MAX_CHARS = 200;

/** `MCPServers`, `mcp_servers` and `mcp-servers` are one word written by different habits. */
function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ ]/gu, "");
}

/**
 * Damerau-Levenshtein, restricted form: insert, delete, replace, or swap two neighbours. Distances above the limit are
 * infinite: only columns near the diagonal are looked at, so that a word costs its length, not its square.
 */
export function editDistance(one: string, other: string, limit: number = Number.POSITIVE_INFINITY): number {
  if (Math.abs(one.length - other.length) > limit) return Number.POSITIVE_INFINITY;
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current: number[] = row > limit ? [] : [row];
    let least = row;
    for (let column = Math.max(1, row - limit); column <= Math.min(other.length, row + limit); column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwap ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
      least = Math.min(least, at(current, column));
    }
    if (least > limit) return Number.POSITIVE_INFINITY;
    beforeLast = last;
    last = current;
  }
  const distance = at(last, other.length);
  return distance > limit ? Number.POSITIVE_INFINITY : distance;
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
