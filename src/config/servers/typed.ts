// A server as people type it: `tenon mcp add` and `/mcp add` take the same words.
import { TenonError, toTenonError } from "../../base/errors.js";
import { checkUrl } from "../../base/io/net-policy.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { recorded } from "../../base/ports/trace.js";
import type { World } from "../../base/ports/world.js";
import type { ServerSpec } from "../../mcp/index.js";
import { possiblePaths } from "../layers/paths.js";
import { nameProblem, parseTemplate, readEntry, textsOf } from "../layers/read-entry.js";
import { type Place, problemText } from "../layers/read-layer.js";
import { toSpec } from "./spec.js";

/** Words of a command, its options read. */
export interface TypedWords {
  readonly values: {
    readonly type?: string | undefined;
    readonly env?: readonly string[] | undefined;
    readonly header?: readonly string[] | undefined;
  };
  /** The name, then a url or the words of a command. */
  readonly words: readonly string[];
  /** Behind `--`: the server's command as it stands, whatever it looks like. */
  readonly after?: readonly string[];
}

/** Throws `usage.invalid`. */
export function typedEntry({ values, words, after }: TypedWords): {
  readonly name: string;
  readonly entry: JsonObject;
} {
  const [name = "", ...own] = words;
  const given = [...own, ...(after ?? [])];
  const [target] = given;
  if (target === undefined) throw misused("say how it is reached: -- command args…, or a url");
  if (after === undefined && /^(?!https?:)[a-z][a-z\d+.-]*:\/\//iu.test(target)) {
    throw misused("a url begins with http:// or https://; a command stands behind --");
  }
  const isUrl = after === undefined && (values.type !== undefined || isWebUrl(target));
  return { name, entry: isUrl ? remoteEntry(given, values) : stdioEntry(given, values) };
}

function isWebUrl(word: string): boolean {
  return /^https?:\/\//iu.test(word);
}

function remoteEntry(words: readonly string[], { env = [], header = [], type }: TypedWords["values"]): JsonObject {
  const [url = "", ...rest] = words;
  if (rest.length > 0) throw misused("one word too many: a url stands alone");
  if (env.length > 0) throw misused("--env is for servers that are started by a command; use --header");
  const headers = pairs(header, /[=:]/u, "--header NAME=VALUE");
  return { type: type ?? "http", url, ...defined({ headers }) };
}

function stdioEntry(words: readonly string[], { env = [], header = [], type }: TypedWords["values"]): JsonObject {
  const [command = "", ...args] = words;
  // Not repeated: what looks like a variable may have a secret in it.
  if (command.trim() === "") throw misused("the command is blank");
  if (/^[A-Za-z_]\w*=/u.test(command)) throw misused("the command begins with NAME=VALUE: give variables by --env");
  if (header.length > 0) throw misused("--header is for servers with a url; use --env");
  if (type !== undefined) throw misused("--type is for servers with a url, which stands without -- before it");
  return { command, args, ...defined({ env: pairs(env, /=/u, "--env NAME=VALUE") }) };
}

/** Undefined for none. */
function pairs(texts: readonly string[], separator: RegExp, form: string): JsonObject | undefined {
  if (texts.length === 0) return undefined;
  const entries = texts.map((text): [string, string] => {
    const at = text.search(separator);
    const name = text.slice(0, Math.max(0, at)).trim();
    // The value may be a secret, and this goes to the screen.
    const shown = at < 0 ? text : `${text.slice(0, at + 1)}…`;
    if (name === "") throw misused(`expected ${form}, got ${JSON.stringify(shown)}`);
    const value = text.slice(at + 1);
    return [name, text[at] === ":" ? value.trim() : value];
  });
  return Object.fromEntries(entries);
}

function misused(message: string): TenonError {
  return new TenonError("usage.invalid", message, { hint: "" });
}

/** A server for a session, or in one sentence why it is none; `isRefused`: because of who typed it. */
export type TypedServer = { readonly spec: ServerSpec } | { readonly problem: string; readonly isRefused?: true };

interface TypedContext {
  readonly world: World;
  readonly cwd: string;
  readonly allowHosts: readonly string[];
  readonly signal: AbortSignal;
  /** Typed on another machine: nothing of this one is for its writer to start, to read or to reach. */
  readonly isRemote?: boolean;
}

const NO_PROGRAMS = "a client of another machine may not start programs here; configure the server at the gateway";

/** Why a server may not be given by a client of another machine. */
export function remoteProblem(spec: ServerSpec): string | undefined {
  if (spec.kind === "acp") return undefined;
  if (spec.kind === "stdio") return NO_PROGRAMS;
  const verdict = checkUrl(spec.url, { source: "redirect" });
  return verdict.ok ? undefined : "a client of another machine may lead the gateway to public https addresses only";
}

/** From the line behind `/mcp add`. References to variables and files are filled in. Never rejects. */
export async function typedServer(line: string, context: TypedContext): Promise<TypedServer> {
  const work = () => specOf(line, context).catch((error: unknown) => ({ problem: toTenonError(error).message }));
  const read = (value: JsonValue) => (isTypedServer(value) ? value : undefined);
  return await recorded<TypedServer>(context.world, { ask: "typed server", about: line, work, read });
}

function isTypedServer(value: JsonValue): value is JsonObject & TypedServer {
  if (!isJsonObject(value)) return false;
  return typeof value["problem"] === "string" || isJsonObject(value["spec"]);
}

async function specOf(line: string, context: TypedContext): Promise<TypedServer> {
  const { world, cwd, allowHosts, signal, isRemote = false } = context;
  const { name, entry: written } = typedEntry(readLine(line));
  // Before anything is filled in: that may read files, and the person's secrets.
  if (isRemote && !("url" in written)) return { problem: NO_PROGRAMS, isRefused: true };
  if (isRemote && textsOf(written).some(isReference)) {
    const problem = "a client of another machine may not use variables, files or secrets of this one";
    return { problem, isRefused: true };
  }
  const badName = nameProblem(name);
  if (badName !== undefined) return { problem: badName };
  const place: Place = { layer: "command-line", name: "/mcp add" };
  const { value, findings } = readEntry(written, place.layer, await import("../layers/schema.js"));
  if (!value) return { problem: findings.map((finding) => problemText({ ...finding, place })).join("; ") };
  const definition = { kind: "entry", entry: value, written, placeOf: () => place } as const;
  const rules = { allowHosts, sandbox: { paths: possiblePaths(world.env) } };
  const source = { world, env: world.env, folder: cwd, patience: signal };
  const made = await toSpec({ name, place, definition }, rules, source);
  if (made.kind !== "ready") return { problem: made.reason };
  const refusal = isRemote ? remoteProblem(made.spec) : undefined;
  if (refusal !== undefined) return { problem: refusal, isRefused: true };
  world.trace?.hide(made.settings.secrets); // before it is recorded with them in it
  return { spec: isRemote && "url" in made.spec ? { ...made.spec, mustBePublic: true } : made.spec };
}

function isReference(text: string): boolean {
  return parseTemplate(text, { mayBeSecret: true }).some(({ kind }) => kind !== "text");
}

// The words that other programs take for the same: READMEs of servers print them.

/** `claude mcp add …`, with or without the sign of a prompt before it. */
const ADD_COMMAND = /^(?:\$ +)?(?:claude|codex|gemini|qwen|amp|droid|copilot|tenon) +mcp +add(?:-json)? +/u;

/** By every spelling: Tenon's option. `url`, `bearer` and `scope` are written in another form. */
const SPELLINGS: Readonly<Record<string, "env" | "header" | "type" | "scope" | "url" | "bearer">> = {
  "-e": "env",
  "--env": "env",
  "-H": "header",
  "--header": "header",
  "-t": "type",
  "--type": "type",
  "--transport": "type",
  "-s": "scope",
  "--scope": "scope",
  "--url": "url",
  "--bearer-token-env-var": "bearer",
};

/**
 * The words of `mcp add`, as people copy them from a server's README, in Tenon's own spelling: options as `--name=value`, and
 * `--` before the server's command. Words that are right already stay as they are. Throws `usage.invalid`.
 */
export function ownSpelling(words: readonly string[]): readonly string[] {
  const rest = withoutProgram(words);
  const own: string[] = [];
  let isNamed = false;
  let isRemote = false;
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") return [...own, word, ...rest];
    if (word.startsWith("-")) {
      const [, typed = word, inline] = /^(--?[A-Za-z][A-Za-z-]*)=([\s\S]*)$/u.exec(word) ?? [];
      const option = Object.hasOwn(SPELLINGS, typed) ? SPELLINGS[typed] : undefined;
      const value = option === undefined ? undefined : (inline ?? rest.shift());
      if (option === undefined || value === undefined) own.push(word);
      else own.push(...ownOption(option, value));
      // Some programs take several variables behind one option.
      const end = option === "env" ? rest.findIndex((one) => !/^[A-Za-z_]\w*=/u.test(one)) : 0;
      own.push(...rest.splice(0, end < 0 ? rest.length : end).flatMap((one) => ownOption("env", one)));
      isRemote ||= option === "url" || (option === "type" && value !== "stdio");
    } else if (!isNamed || isRemote || isUrlLike(word)) {
      isRemote ||= isNamed && isUrlLike(word);
      isNamed = true;
      own.push(word);
    } else return [...own, "--", word, ...rest];
  }
  return own;
}

/** Words that a shell would have taken for itself: then the line is more than one command. */
const SHELL_WORDS: ReadonlySet<string> = new Set(["&&", "||", ";", "|", "&", ">", "<"]);

function ownOption(option: (typeof SPELLINGS)[string], value: string): readonly string[] {
  switch (option) {
    case "url":
      return [value];
    case "bearer":
      return [`--header=Authorization=Bearer \${${value}}`];
    case "scope":
      if (value === "project") return ["--project"];
      if (value === "user" || value === "local" || value === "global") return [];
      throw misused('--scope must be "user", "local" or "project"');
    case "type":
      return value === "stdio" ? [] : [`--type=${value === "streamable-http" ? "http" : value}`];
    default:
      return [`--${option}=${value}`];
  }
}

/** A whole line given as one word is split as a shell does it. */
function withoutProgram(words: readonly string[]): string[] {
  const line = words.length === 1 ? (words[0] ?? "") : "";
  if (ADD_COMMAND.test(line)) {
    if (/add-json\s/u.test(ADD_COMMAND.exec(line)?.[0] ?? ""))
      throw misused("that is JSON: tenon mcp add-json takes its words");
    const words = shellWords(line.replace(ADD_COMMAND, "").replaceAll(/\\\r?\n/gu, " "));
    if (words.some((word) => SHELL_WORDS.has(word)))
      throw misused("that is more than one command: give them one by one");
    return words;
  }
  const start = `${words.slice(0, 3).join(" ")} `;
  return words.slice(ADD_COMMAND.test(start) ? 3 : 0);
}

const OPTIONS = ["env", "header", "type"] as const;

/** All words behind the first of the command are the command's own. */
function readLine(line: string): TypedWords {
  const given: Record<(typeof OPTIONS)[number], string[]> = { env: [], header: [], type: [] };
  const words: string[] = [];
  const own = ownSpelling(shellWords(line));
  const end = own.indexOf("--");
  const after = end < 0 ? undefined : own.slice(end + 1);
  for (const word of after ? own.slice(0, end) : own) {
    if (!word.startsWith("-")) {
      words.push(word);
      continue;
    }
    const [, typed = word, value] = /^(--[^=]+)=([\s\S]*)$/u.exec(word) ?? [];
    const option = OPTIONS.find((one) => `--${one}` === typed);
    if (!option) throw misused(`there is no option ${typed} here; there are --env, --header and --type`);
    if (value === undefined) throw misused(`${typed} lacks its value`);
    if (option === "type" && value !== "http" && value !== "sse") throw misused('--type must be "http" or "sse"');
    given[option].push(value);
  }
  const { type, ...lists } = given;
  return { values: { ...lists, type: type.at(-1) }, words, ...defined({ after }) };
}

function isUrlLike(word: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//iu.test(word);
}

/** As a shell splits a line: by quotes and backslashes. A backslash before anything else stays, as paths on Windows have it. */
function shellWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [piece, single, double, escaped, open] of line.matchAll(
    /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s'"\\])|(['"])|[^\s'"\\]+|\\/gu,
  )) {
    if (open !== undefined) throw misused(`a quote (${open}) is not closed`);
    if (/^\s/u.test(piece)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = `${word ?? ""}${single ?? double?.replaceAll(/\\([\\"$`])/gu, "$1") ?? escaped ?? piece}`;
  }
  return word === undefined ? words : [...words, word];
}
