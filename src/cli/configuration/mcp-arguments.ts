// The words of `tenon mcp` -> what to do.
import { parseArgs } from "node:util";
import { messageOf } from "../../base/errors.js";
import type { JsonObject } from "../../base/json.js";
import type { Parsed } from "../arguments.js";

export type McpAction =
  | { readonly verb: "list" }
  | { readonly verb: "get"; readonly name: string }
  | { readonly verb: "why"; readonly tool: string; readonly prompt?: string }
  | {
      readonly verb: "add";
      readonly name: string;
      readonly entry: JsonObject;
      readonly isProject: boolean;
      readonly mayReplace: boolean;
    }
  | { readonly verb: "remove" | "enable" | "disable"; readonly name: string; readonly isProject: boolean };

export interface McpArguments {
  readonly action: McpAction;
  readonly json: boolean;
}

const VERBS = ["list", "add", "get", "remove", "enable", "disable", "why"] as const;
type Verb = (typeof VERBS)[number];

const JSON_OPTION = { json: { type: "boolean", default: false } } as const;
const WHY_OPTIONS = { ...JSON_OPTION, prompt: { type: "string" } } as const;
const PLACE_OPTIONS = { ...JSON_OPTION, project: { type: "boolean", default: false } } as const;
const ADD_OPTIONS = {
  ...PLACE_OPTIONS,
  env: { type: "string", multiple: true },
  header: { type: "string", multiple: true },
  type: { type: "string" },
  replace: { type: "boolean", default: false },
} as const;

export function parseMcpArguments(words: readonly string[]): Parsed<McpArguments> {
  try {
    const [first, ...rest] = words;
    const verb = VERBS.find((known) => known === first);
    if (first === undefined) throw new Error(`say what to do: ${VERBS.join(", ")}`);
    if (!verb) throw new Error(`there is no ${JSON.stringify(first)}, only ${VERBS.join(", ")}`);
    return { ok: true, options: parseVerb(verb, rest) };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

function parseVerb(verb: Verb, args: string[]): McpArguments {
  switch (verb) {
    case "list": {
      const { values, positionals } = parseArgs({ args, options: JSON_OPTION, allowPositionals: true });
      nothingMore(positionals);
      return { action: { verb }, json: values.json };
    }
    case "get": {
      const { values, positionals } = parseArgs({ args, options: JSON_OPTION, allowPositionals: true });
      return { action: { verb, name: onlyName(positionals) }, json: values.json };
    }
    case "why": {
      const { values, positionals } = parseArgs({ args, options: WHY_OPTIONS, allowPositionals: true });
      const { prompt, json } = values;
      const tool = positionals.join(" "); // titles have several words
      if (tool === "") throw new Error("name the tool: its own name, server/tool, or the name a model sees");
      return { action: { verb, tool, ...(prompt === undefined ? {} : { prompt }) }, json };
    }
    case "remove":
    case "enable":
    case "disable": {
      const { values, positionals } = parseArgs({ args, options: PLACE_OPTIONS, allowPositionals: true });
      return { action: { verb, name: onlyName(positionals), isProject: values.project }, json: values.json };
    }
    case "add":
      return parseAdd(args);
  }
}

/** What follows `--` is the server's command as it stands, whatever it looks like. */
function parseAdd(args: readonly string[]): McpArguments {
  const end = args.indexOf("--");
  const own = end < 0 ? [...args] : args.slice(0, end);
  const { values, positionals } = parseOwn(own);
  const [name, ...words] = positionals;
  if (name === undefined) throw new Error("name the server to add");
  const given = end < 0 ? words : [...words, ...args.slice(end + 1)];
  const [target] = given;
  if (target === undefined) throw new Error("say how it is reached: -- command args…, or a url");
  const isUrl = end < 0 && (values.type !== undefined || /^https?:\/\//iu.test(target));
  const entry = isUrl ? remoteEntry(given, values) : stdioEntry(given, values);
  return {
    action: { verb: "add", name, entry, isProject: values.project, mayReplace: values.replace },
    json: values.json,
  };
}

interface AddValues {
  readonly env?: readonly string[] | undefined;
  readonly header?: readonly string[] | undefined;
  readonly type?: string | undefined;
  readonly project: boolean;
  readonly replace: boolean;
  readonly json: boolean;
}

function parseOwn(args: string[]): { readonly values: AddValues; readonly positionals: readonly string[] } {
  try {
    return parseArgs({ args, options: ADD_OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new Error(`${messageOf(error)}; options of the server's own command come after --`, { cause: error });
  }
}

function remoteEntry(words: readonly string[], { env = [], header = [], type }: AddValues): JsonObject {
  const [url = "", ...rest] = words;
  nothingMore(rest);
  if (env.length > 0) throw new Error("--env is for servers that are started by a command; use --header");
  if (type !== undefined && type !== "http" && type !== "sse") throw new Error('--type must be "http" or "sse"');
  const headers = pairs(header, /[=:]/u, "--header NAME=VALUE");
  return { type: type ?? "http", url, ...(header.length === 0 ? {} : { headers }) };
}

function stdioEntry(
  [command = "", ...args]: readonly string[],
  { env = [], header = [], type }: AddValues,
): JsonObject {
  if (header.length > 0) throw new Error("--header is for servers with a url; use --env");
  if (type !== undefined) throw new Error("--type is for servers with a url, which stands without -- before it");
  const variables = pairs(env, /=/u, "--env NAME=VALUE");
  return { command, args, ...(env.length === 0 ? {} : { env: variables }) };
}

function pairs(texts: readonly string[], separator: RegExp, form: string): JsonObject {
  return Object.fromEntries(
    texts.map((text): [string, string] => {
      const at = text.search(separator);
      const name = text.slice(0, Math.max(0, at)).trim();
      if (name === "") throw new Error(`expected ${form}, got ${JSON.stringify(withoutValue(text, at))}`);
      const value = text.slice(at + 1);
      return [name, text[at] === ":" ? value.trim() : value];
    }),
  );
}

/** The value may be a secret, and this goes to the screen. */
function withoutValue(text: string, at: number): string {
  return at < 0 ? text : `${text.slice(0, at + 1)}…`;
}

function onlyName([name, ...rest]: readonly string[]): string {
  if (name === undefined) throw new Error("name the server");
  nothingMore(rest);
  return name;
}

function nothingMore([first]: readonly string[]): void {
  if (first !== undefined) throw new Error(`${JSON.stringify(first)} is one word too many`);
}
