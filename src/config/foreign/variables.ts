// Texts of other clients in Tenon's words: their references become ours, and what is plain text there stays plain text here.
import { defined } from "../../base/json/defined.js";
import type { ForeignInput } from "./inputs.js";

/** What a client fills in. What it does not is plain text to it, whatever it looks like. */
export interface VariableSyntax {
  /** `${NAME}`, `${NAME:-default}`. */
  readonly shell?: boolean;
  /** `${env:NAME}`, `${userHome}`, `${workspaceFolder}`, `${/}`. */
  readonly editor?: boolean;
  /** `${input:id}`. */
  readonly inputs?: boolean;
  /** `${file:/path}`. */
  readonly dollarFile?: boolean;
  /** `{env:NAME}`, `{file:path}`. */
  readonly braces?: boolean;
}

export type Slot = "command" | "args" | "cwd" | "env" | "url" | "headers";

export interface TextContext {
  readonly syntax: VariableSyntax;
  /** Whose file it is for: a project's cannot have the keyring. */
  readonly layer: "user" | "project";
  readonly platform: NodeJS.Platform;
  /** The folder of the file it stands in. */
  readonly folder: string;
  readonly resolve: (...parts: string[]) => string;
  readonly inputs: ReadonlyMap<string, ForeignInput>;
  /** The server would run elsewhere than in the session's directory: `.` would mean that place. */
  readonly runsElsewhere: boolean;
}

/** `problem` says why the text has no equal here; `notes` what the person should know of it. */
export interface TranslatedText {
  readonly text: string;
  readonly notes: readonly string[];
  readonly problem?: string;
}

const REFERENCE = /\$\{([^{}]*)\}|\{(env|file):([^{}]*)\}|\$\{|\{(?:env|file):/gu;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/u;
const NAME_WITH_DEFAULT = /^[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?$/u;

interface Part {
  readonly text: string;
  readonly note?: string;
  readonly problem?: string;
}

export function translateText(given: string, slot: Slot, context: TextContext): TranslatedText {
  const parts: Part[] = [];
  let end = 0;
  for (const match of given.matchAll(REFERENCE)) {
    parts.push({ text: given.slice(end, match.index) });
    end = match.index + match[0].length;
    const before = given.slice(0, match.index);
    const part = partOf(match, { slot, context, before, after: given.slice(end) });
    // `$` and then `${` would be the sign for a plain `${`.
    const isSpoilt = before.endsWith("$") && part.text.startsWith("${");
    parts.push(isSpoilt ? { text: match[0], problem: `${match[0]} stands behind a $` } : part);
  }
  parts.push({ text: given.slice(end) });
  const joined = parts.map(({ text }) => text).join("");
  const whole = slot === "env" || slot === "headers" ? unsecret(given, joined) : { text: joined };
  const problem = [...parts, whole].find((part) => part.problem !== undefined)?.problem;
  const notes = [...parts.flatMap(({ note }) => note ?? []), ...shellNotes(given, slot)];
  return { text: whole.text, notes, ...defined({ problem }) };
}

interface Around {
  readonly slot: Slot;
  readonly context: TextContext;
  readonly before: string;
  readonly after: string;
}

function partOf([written, dollar, kind, rest = ""]: RegExpExecArray, around: Around): Part {
  const isReference = { text: written, problem: `${written} is plain text there, and a reference in Tenon` };
  if (dollar !== undefined) return dollarPart(dollar, written, around);
  if (written === "${") return { text: "$${" }; // never closed
  return kind !== undefined && around.context.syntax.braces ? bracePart(kind, rest, written, around) : isReference;
}

function dollarPart(inner: string, written: string, around: Around): Part {
  const { syntax } = around.context;
  const plain: Part = { text: `$\${${inner}}` };
  const unknown: Part = { text: written, problem: `${written} is filled in by that client only` };
  if (syntax.shell) return NAME_WITH_DEFAULT.test(inner) ? { text: written } : unknown;
  if (syntax.braces && /^(?:env|file):/u.test(inner)) return unknown;
  if (!syntax.editor) return plain;
  const [, kind, name = ""] = /^([a-z]+):([\s\S]*)$/iu.exec(inner) ?? [];
  if (kind === "env" && NAME.test(name)) return { text: `\${${name}}` };
  if (kind === "input" && syntax.inputs) return inputPart(name, around.context);
  if (kind === "file" && syntax.dollarFile) return bracePart("file", name, written, around);
  return folderPart(inner, written, around) ?? unknown;
}

/** `.` is the session's directory, where servers run unless they say otherwise. */
function folderPart(inner: string, written: string, { slot, context, before, after }: Around): Part | undefined {
  const isWindows = context.platform === "win32";
  switch (inner) {
    case "userHome":
      return { text: isWindows ? "${USERPROFILE}" : "${HOME}" };
    case "/":
    case "pathSeparator":
      return { text: isWindows ? "\\" : "/" };
    case "workspaceFolder":
    case "cwd": {
      const isPath = /(?:^|[\s=,;:"'])$/u.test(before) && /^(?:$|[\s,;:"'/\\]|\$\{(?:\/|pathSeparator)\})/u.test(after);
      if (!isPath || slot === "url" || slot === "headers") {
        return { text: written, problem: `${written} stands where no path relative to the project can stand` };
      }
      if (slot !== "cwd" && context.runsElsewhere) {
        return { text: written, problem: `${written} cannot be told: the server runs in another folder` };
      }
      return { text: "." };
    }
    default:
      return undefined;
  }
}

function inputPart(id: string, { inputs }: TextContext): Part {
  const input = inputs.get(id);
  const name = variableOf(id);
  const asked = input?.description === undefined ? "" : ` (${input.description})`;
  if (input?.fallback !== undefined && !input.isPassword && !input.fallback.includes("}")) {
    return {
      text: `\${${name}:-${input.fallback}}`,
      note: `it asks for "${id}"${asked}: here that is the variable ${name}, or ${JSON.stringify(input.fallback)}`,
    };
  }
  return { text: `\${${name}}`, note: `it asks for "${id}"${asked}: set the variable ${name}` };
}

/** `github-token` -> `GITHUB_TOKEN`. */
function variableOf(id: string): string {
  const name = id.toUpperCase().replaceAll(/[^A-Z0-9]+/gu, "_");
  return /^[0-9]|^$/u.test(name) ? `_${name}` : name;
}

function bracePart(kind: string, rest: string, written: string, { context }: Around): Part {
  if (kind === "env") {
    return NAME.test(rest) ? { text: `\${${rest}}` } : { text: written, problem: `${written} names no variable` };
  }
  const path = rest.trim();
  if (path === "") return { text: written, problem: `${written} names no file` };
  // In another file's folder the same words would mean another file.
  return { text: path.startsWith("~/") ? `{file:${path}}` : `{file:${context.resolve(context.folder, path)}}` };
}

/** Values that Tenon would run or look up are plain text there. */
function unsecret(given: string, text: string): Part {
  if (given.startsWith("keyring:")) {
    return { text, problem: "a value that begins with keyring: is plain text there, and a reference in Tenon" };
  }
  return { text: given.startsWith("!") ? `!${text}` : text };
}

function shellNotes(given: string, slot: Slot): readonly string[] {
  const found = slot === "url" || slot === "headers" ? null : /\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\$\(|`/u.exec(given);
  return found ? [`${found[0]} is passed on as it is: no shell fills it in`] : [];
}
