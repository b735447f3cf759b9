// Which regular expressions may take long: a repetition of what is itself repeated without a bound.

/** `(a+)+`, `(\s*x?)*`: Node's engine tries every way to divide a text among the two. Counts with a bound do not matter. */
export function hasNestedRepetition(pattern: string): boolean {
  const groups: { isRepeated: boolean }[] = [{ isRepeated: false }];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    let inner = false;
    if (char === "\\") at += 1;
    else if (char === "[") at = classEnd(pattern, at);
    else if (char === "(") {
      groups.push({ isRepeated: false });
      at += /^\((?:\?(?:<?[=!]|:|<[^>]*>))?/u.exec(pattern.slice(at))?.[0].length ?? 1;
      at -= 1;
      continue;
    } else if (char === ")") inner = groups.pop()?.isRepeated ?? false;
    const top = groups.at(-1);
    if (!top) return false;
    const isRepeated = /^(?:[*+]|\{\d+,\})/u.test(pattern.slice(at + 1));
    if (inner && isRepeated) return true;
    top.isRepeated ||= inner || isRepeated;
  }
  return false;
}

function classEnd(pattern: string, start: number): number {
  let at = start + 1;
  while (at < pattern.length && pattern[at] !== "]") at += pattern[at] === "\\" ? 2 : 1;
  return at;
}
