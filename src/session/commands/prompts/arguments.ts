// What is typed after a server's prompt -> its arguments: one after the other, or `name=value`.
import type { McpPromptArgument } from "../../../mcp/index.js";

export type ReadArguments =
  | { readonly ok: true; readonly given: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly reason: string; readonly missing: readonly string[] };

/**
 * `name=value` counts only for names the prompt has, so that a text with `=` in it is a text. What is left over at the end
 * belongs to the last argument: most prompts take one text, and nobody wants to quote it.
 */
export function readArguments(words: string, known: readonly McpPromptArgument[]): ReadArguments {
  const names = known.map(({ name }) => name);
  const given = new Map<string, string>();
  const loose: Word[] = [];
  for (const word of split(words)) {
    const [, name = "", value = ""] = word.isQuoted ? [] : (/^([^=]+)=([\s\S]*)$/u.exec(word.text) ?? []);
    if (names.includes(name)) given.set(name, value);
    else loose.push(word);
  }
  const open = names.filter((name) => !given.has(name));
  for (const [index, name] of open.entries()) {
    const rest = index === open.length - 1 ? loose.splice(0) : loose.splice(0, 1);
    if (rest.length > 0) given.set(name, rest.map(({ text }) => text).join(" "));
  }
  if (loose.length > 0)
    return { ok: false, reason: `it takes no ${names.length === 0 ? "" : "more "}words`, missing: [] };
  const missing = known.filter(({ name, isRequired }) => isRequired && !given.has(name)).map(({ name }) => name);
  if (missing.length > 0) return { ok: false, reason: `it needs ${missing.join(", ")}`, missing };
  return { ok: true, given: Object.fromEntries(given) };
}

interface Word {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Words in double quotes are one; `name="a b"` too. A quote that is never closed is a quote. */
function split(words: string): Word[] {
  return [...words.matchAll(/([^\s"]*)"((?:[^"\\]|\\.)*)"(?=\s|$)|\S+/gu)].map(([whole, before, quoted]) => {
    if (quoted === undefined) return { text: whole, isQuoted: false };
    return { text: `${before}${quoted.replaceAll(/\\(.)/gu, "$1")}`, isQuoted: before === "" };
  });
}

/** For people: required ones in angle brackets. */
export function argumentHint(known: readonly McpPromptArgument[]): string {
  return known.map(({ name, isRequired }) => (isRequired ? `<${name}>` : `[${name}]`)).join(" ");
}
