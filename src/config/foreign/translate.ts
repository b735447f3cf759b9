// Translates one server entry of another client into an entry of Tenon's; reports what cannot be translated.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { kindOf } from "../layers/findings.js";
import type { RawEntry } from "./clients.js";

/** `entry` is there whenever something can be made of it; with `problems` it must not be used. */
export interface TranslatedEntry {
  readonly entry: JsonObject;
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export function translateEntry(raw: RawEntry, context: Omit<TextContext, "runsElsewhere">): TranslatedEntry {
  return new Translation(raw, context).run();
}

const WHOLE_INPUT = /^\$\{input:([^{}]+)\}$/u;
const BEARER_INPUT = /^Bearer \$\{input:([^{}]+)\}$/iu;

class Translation {
  readonly #raw: RawEntry;
  readonly #context: TextContext;
  readonly #problems: string[] = [];
  readonly #notes: string[];

  constructor(raw: RawEntry, context: Omit<TextContext, "runsElsewhere">) {
    this.#raw = raw;
    this.#context = { ...context, runsElsewhere: raw.cwd !== undefined && !isWorkspace(raw.cwd) };
    this.#notes = [...(raw.notes ?? [])];
  }

  run(): TranslatedEntry {
    const { isDisabled, extras = {}, url, command } = this.#raw;
    const reached = url !== undefined && command === undefined ? this.#remote() : this.#stdio();
    const entry: JsonObject = { ...reached, ...extras, ...defined({ disabled: isDisabled ? true : undefined }) };
    return { entry, problems: this.#problems, notes: [...new Set(this.#notes)] };
  }

  #stdio(): JsonObject {
    const { type, command, args, env, cwd, url, references } = this.#raw;
    const variables = { ...this.#record(env, "env"), ...references?.env };
    const folder = cwd === undefined || isWorkspace(cwd) ? undefined : this.#text(cwd, "cwd", "cwd");
    return {
      // Left to be remarked on: neither or both is a fault of the entry as it stands.
      ...defined({
        type: type === undefined || type === "stdio" || type === "command" ? undefined : type,
        command: command === undefined ? undefined : this.#text(command, "command", "command"),
        url,
        args: args === undefined ? undefined : this.#list(args),
        env: Object.keys(variables).length === 0 ? undefined : variables,
        cwd: folder,
      }),
    };
  }

  #remote(): JsonObject {
    const { type, url, headers, references } = this.#raw;
    const token = references?.token ?? this.#bearerInput(headers);
    const rest = token === undefined || references?.token !== undefined ? headers : without(headers, "authorization");
    const named = { ...this.#record(rest, "headers"), ...references?.headers };
    const isUsual = type === undefined || type === "http" || type === "remote";
    return {
      ...defined({ type: isUsual ? undefined : type }),
      url: this.#text(url, "url", "url"),
      ...defined({
        headers: Object.keys(named).length === 0 ? undefined : named,
        auth: token === undefined ? undefined : { type: "bearer", token },
      }),
    };
  }

  #text(value: JsonValue | undefined, slot: Slot, label: string): JsonValue {
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    if (typeof value !== "string") {
      this.#problems.push(`${label} must be a text, got ${kindOf(value)}`);
      return "";
    }
    const { text, notes, problem } = translateText(value, slot, this.#context);
    if (problem !== undefined) this.#problems.push(`${label}: ${problem}`);
    else this.#notes.push(...notes.map((note) => `${label}: ${note}`));
    return text;
  }

  #list(value: JsonValue): JsonValue {
    if (Array.isArray(value)) return value.map((word, at) => this.#text(word, "args", `args[${at}]`));
    this.#problems.push(`args must be a list, got ${kindOf(value)}`);
    return [];
  }

  #record(value: JsonValue | undefined, slot: "env" | "headers"): Record<string, JsonValue> {
    if (value === undefined || value === null) return {};
    if (!isJsonObject(value)) {
      this.#problems.push(`${slot} must be an object, got ${kindOf(value)}`);
      return {};
    }
    const pairs = Object.entries(value).flatMap(([name, field]): [string, JsonValue][] => {
      if (field === undefined) return [];
      if (field === null) {
        this.#notes.push(`${slot}.${name}: it is taken away there; here it is not there at all unless named`);
        return [];
      }
      return [[name, this.#secretInput(field, `${slot}.${name}`) ?? this.#text(field, slot, `${slot}.${name}`)]];
    });
    return Object.fromEntries(pairs);
  }

  /** What the person would be asked for is kept for them where only they can read it. */
  #secretInput(value: JsonValue, label: string): string | undefined {
    const id = typeof value === "string" ? WHOLE_INPUT.exec(value)?.[1] : undefined;
    return id === undefined ? undefined : this.#keyring(id, label);
  }

  #bearerInput(headers: JsonValue | undefined): string | undefined {
    const found = Object.entries(isJsonObject(headers) ? headers : {}).find(([name]) => isAuthorization(name));
    const id = typeof found?.[1] === "string" ? BEARER_INPUT.exec(found[1])?.[1] : undefined;
    return id === undefined ? undefined : this.#keyring(id, "auth.token");
  }

  #keyring(id: string, label: string): string | undefined {
    const { syntax, inputs, layer } = this.#context;
    const input = inputs.get(id);
    if (!syntax.inputs || layer === "project" || !input?.isPassword) return undefined;
    const name = id.replaceAll(/[^\w.@/:-]+/gu, "-");
    const asked = input.description === undefined ? "" : ` (${input.description})`;
    this.#notes.push(`${label}: it asks for "${id}"${asked}: tenon secret set ${name} keeps it in your keyring`);
    return `keyring:${name}`;
  }
}

function isWorkspace(cwd: JsonValue): boolean {
  return cwd === "${workspaceFolder}" || cwd === ".";
}

function isAuthorization(name: string): boolean {
  return name.toLowerCase() === "authorization";
}

function without(headers: JsonValue | undefined, name: string): JsonValue | undefined {
  if (!isJsonObject(headers)) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key.toLowerCase() !== name));
}

// Texts of other clients in Tenon's words: their references become ours, and what is plain text there stays plain text here.

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

const REFERENCE = /\$\{([^{}]*)\}|\{(env|file):([^{}]*)\}|\$\{|\{(?:env|file):/gu;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/u;
const NAME_WITH_DEFAULT = /^[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?$/u;

/** `problem` says why it has no equal here; `note` what the person should know of it. */
interface TranslatedPart {
  readonly text: string;
  readonly note?: string;
  readonly problem?: string;
}

export function translateText(
  given: string,
  slot: Slot,
  context: TextContext,
): Omit<TranslatedPart, "note"> & { readonly notes: readonly string[] } {
  const parts: TranslatedPart[] = [];
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

interface ReferenceContext {
  readonly slot: Slot;
  readonly context: TextContext;
  readonly before: string;
  readonly after: string;
}

function partOf([written, dollar, kind, rest = ""]: RegExpExecArray, around: ReferenceContext): TranslatedPart {
  const isReference = { text: written, problem: `${written} is plain text there, and a reference in Tenon` };
  if (dollar !== undefined) return dollarPart(dollar, written, around);
  if (written === "${") return { text: "$${" }; // never closed
  return kind !== undefined && around.context.syntax.braces ? bracePart(kind, rest, written, around) : isReference;
}

function dollarPart(inner: string, written: string, around: ReferenceContext): TranslatedPart {
  const { syntax } = around.context;
  const plain: TranslatedPart = { text: `$\${${inner}}` };
  const unknown: TranslatedPart = { text: written, problem: `${written} is filled in by that client only` };
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
function folderPart(
  inner: string,
  written: string,
  { slot, context, before, after }: ReferenceContext,
): TranslatedPart | undefined {
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

function inputPart(id: string, { inputs }: TextContext): TranslatedPart {
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

function bracePart(kind: string, rest: string, written: string, { context }: ReferenceContext): TranslatedPart {
  if (kind === "env") {
    return NAME.test(rest) ? { text: `\${${rest}}` } : { text: written, problem: `${written} names no variable` };
  }
  const path = rest.trim();
  if (path === "") return { text: written, problem: `${written} names no file` };
  // In another file's folder the same words would mean another file.
  return { text: path.startsWith("~/") ? `{file:${path}}` : `{file:${context.resolve(context.folder, path)}}` };
}

/** Values that Tenon would run or look up are plain text there. */
function unsecret(given: string, text: string): TranslatedPart {
  if (given.startsWith("keyring:")) {
    return { text, problem: "a value that begins with keyring: is plain text there, and a reference in Tenon" };
  }
  return { text: given.startsWith("!") ? `!${text}` : text };
}

function shellNotes(given: string, slot: Slot): readonly string[] {
  const found = slot === "url" || slot === "headers" ? null : /\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\$\(|`/u.exec(given);
  return found ? [`${found[0]} is passed on as it is: no shell fills it in`] : [];
}

// The questions a VS Code file asks when a server starts (`inputs`), as far as they matter for what takes their place.

export interface ForeignInput {
  readonly description?: string;
  readonly isPassword: boolean;
  readonly fallback?: string;
}

/** Never throws: what is malformed is as if it were not there. */
export function inputsOf(value: JsonValue | undefined): ReadonlyMap<string, ForeignInput> {
  const inputs = new Map<string, ForeignInput>();
  for (const input of Array.isArray(value) ? value : []) {
    if (!isJsonObject(input) || typeof input["id"] !== "string") continue;
    const { id, description, password, default: fallback } = input;
    inputs.set(id, {
      isPassword: password === true,
      ...defined({
        description: typeof description === "string" ? description : undefined,
        fallback: typeof fallback === "string" ? fallback : undefined,
      }),
    });
  }
  return inputs;
}
