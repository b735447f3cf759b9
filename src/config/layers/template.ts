// The references a text may hold: `${VAR}`, `${VAR:-default}`, `{env:VAR}`, `{file:path}`, and as a whole `!command` or `keyring:name`.
import { defined } from "../../base/json/defined.js";

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string; readonly fallback?: string; readonly written: string }
  | { readonly kind: "file"; readonly path: string; readonly written: string }
  | { readonly kind: "command"; readonly command: string; readonly written: string }
  | { readonly kind: "keyring"; readonly name: string; readonly written: string }
  /** Begins like a reference and is none. */
  | { readonly kind: "malformed"; readonly written: string };

const REFERENCE =
  /\$\$\{|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\{env:([A-Za-z_][A-Za-z0-9_]*)\}|\{file:([^{}]+)\}|\$\{[^}]*\}?|\{(?:env|file):[^}]*\}?/gu;

const KEYRING = "keyring:";

/** Only values that carry secrets may be fetched as a whole: an argument such as `!node_modules` is just that. */
export function parseTemplate(text: string, { mayBeSecret }: { readonly mayBeSecret: boolean }): readonly Part[] {
  if (mayBeSecret) {
    if (text.startsWith("!!")) return parseReferences(text.slice(1)); // a value that really begins with "!"
    if (text.startsWith("!")) {
      const command = text.slice(1).trim();
      return [command === "" ? { kind: "malformed", written: text } : { kind: "command", command, written: text }];
    }
    if (text.startsWith(KEYRING)) {
      const name = text.slice(KEYRING.length).trim();
      return [name === "" ? { kind: "malformed", written: text } : { kind: "keyring", name, written: text }];
    }
  }
  return parseReferences(text);
}

function parseReferences(text: string): readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(REFERENCE)) {
    if (match.index > end) parts.push({ kind: "text", text: text.slice(end, match.index) });
    parts.push(partOf(match));
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ kind: "text", text: text.slice(end) });
  return parts;
}

function partOf([written, variable, fallback, envVariable, path]: RegExpExecArray): Part {
  if (written === "$${") return { kind: "text", text: "${" };
  const name = variable ?? envVariable;
  if (name !== undefined) return { kind: "variable", name, written, ...defined({ fallback }) };
  if (path !== undefined) return { kind: "file", path, written };
  return { kind: "malformed", written };
}

export function hasReferences(text: string): boolean {
  return parseReferences(text).some(({ kind }) => kind !== "text");
}

/** Every text in a value, but no keys: references stand in values only. */
export function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}
