// Globs on names: `*` stands for any text, `?` for one character, `\` before either for itself.

export type GlobMatcher = (text: string) => boolean;

/** Linear in the text for each star: a glob comes from a project's files too. */
export function compileGlob(glob: string): GlobMatcher {
  const signs = [...glob.matchAll(/\\[\s\S]|[\s\S]/gu)].map(([sign]) => sign);
  if (!signs.some((sign) => sign === "*" || sign === "?")) {
    const literal = signs.map(literalOf).join("");
    return (text) => text === literal;
  }
  return (text) => isMatch(signs, Array.from(text));
}

export function isGlobMatch(glob: string, text: string): boolean {
  return compileGlob(glob)(text);
}

/** A glob that matches the name and nothing else. */
export function literalGlob(name: string): string {
  return name.replaceAll(/[*?\\]/gu, "\\$&");
}

function literalOf(sign: string): string {
  return sign.replace(/^\\(?=[\s\S])/u, "");
}

function isMatch(signs: readonly string[], letters: readonly string[]): boolean {
  let sign = 0;
  let letter = 0;
  let star = -1;
  let resume = 0;
  while (letter < letters.length) {
    const current = signs[sign];
    if (current === "*") {
      star = sign++;
      resume = letter;
    } else if (current !== undefined && (current === "?" || literalOf(current) === letters[letter])) {
      sign++;
      letter++;
    } else if (star >= 0) {
      sign = star + 1;
      letter = ++resume;
    } else return false;
  }
  return signs.slice(sign).every((rest) => rest === "*");
}
