// Globs on tool names, for allow and deny.
import type { ServerSettings } from "./settings.js";

/** Whether a tool may be used at all, by its server's own name for it. */
export function isToolAllowed(settings: Pick<ServerSettings, "allow" | "deny">, tool: string): boolean {
  const matches = (glob: string) => isGlobMatch(glob, tool);
  return (settings.allow === undefined || settings.allow.some(matches)) && !settings.deny.some(matches);
}

/** `*` stands for any text, `?` for one character, `\` before either for itself. Linear: a glob comes from a project too. */
export function isGlobMatch(glob: string, text: string): boolean {
  const signs = [...glob.matchAll(/\\[\s\S]|[\s\S]/gu)].map(([sign]) => sign);
  const letters = Array.from(text);
  let sign = 0;
  let letter = 0;
  let star = -1;
  let resume = 0;
  while (letter < letters.length) {
    const current = signs[sign];
    if (current === "*") {
      star = sign++;
      resume = letter;
    } else if (
      current !== undefined &&
      (current === "?" || current.replace(/^\\(?=[\s\S])/u, "") === letters[letter])
    ) {
      sign++;
      letter++;
    } else if (star >= 0) {
      sign = star + 1;
      letter = ++resume;
    } else return false;
  }
  return signs.slice(sign).every((rest) => rest === "*");
}

/** A glob that matches the name and nothing else. */
export function literalGlob(name: string): string {
  return name.replaceAll(/[*?\\]/gu, "\\$&");
}
