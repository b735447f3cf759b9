// The words of `tenon acp-check` -> what to do.

import { parseArgs } from "node:util";
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { CLI_LIMITS } from "../limits.js";
import { CHECKS } from "./checks/index.js";

export type AcpCheckArguments =
  | { readonly verb: "list"; readonly json: boolean }
  | { readonly verb: "server"; readonly script: string }
  | ({ readonly verb: "run"; readonly json: boolean } & RunArguments);

type ParsedArguments =
  | { readonly ok: true; readonly options: AcpCheckArguments }
  | { readonly ok: false; readonly reason: string };

export interface RunArguments {
  readonly command: string;
  readonly args: readonly string[];
  /** Ids of the checks to run. */
  readonly ids: readonly string[];
  readonly answerMs: number;
  readonly env: readonly (readonly [string, string])[];
  readonly keepsHome: boolean;
  readonly authMethod?: string;
}

const OPTIONS = {
  json: { type: "boolean", default: false },
  list: { type: "boolean", default: false },
  only: { type: "string", multiple: true },
  skip: { type: "string", multiple: true },
  timeout: { type: "string" },
  env: { type: "string", multiple: true },
  "model-env": { type: "string", multiple: true },
  "model-flag": { type: "string", multiple: true },
  "auth-method": { type: "string" },
  "keep-home": { type: "boolean", default: false },
  server: { type: "string" },
} as const;

export function parseAcpCheckArguments(words: readonly string[]): ParsedArguments {
  try {
    return { ok: true, options: parse(words) };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

function parse(words: readonly string[]): AcpCheckArguments {
  const end = words.indexOf("--");
  const own = end < 0 ? words : words.slice(0, end);
  const { values } = parseArgs({ args: [...own], options: OPTIONS, strict: true });
  const { json, server, only = [], skip = [], env = [] } = values;
  const { "model-env": modelEnv = [], "model-flag": modelFlag = [], "auth-method": authMethod } = values;
  if (server !== undefined) return { verb: "server", script: server };
  if (values.list) return { verb: "list", json };
  const [command, ...args] = end < 0 ? [] : words.slice(end + 1);
  if (command === undefined) throw new Error("say which agent: tenon acp-check [options] -- COMMAND ARGS…");
  return {
    verb: "run",
    json,
    command,
    args: [...args, ...modelFlag],
    ids: chosen(only, skip),
    answerMs: readTimeout(values.timeout),
    env: [...modelEnv.map((name) => [name, "{url}"] as const), ...env.map(readPair)],
    keepsHome: values["keep-home"],
    ...defined({ authMethod }),
  };
}

/** An id, or the group before its point. */
function chosen(only: readonly string[], skip: readonly string[]): readonly string[] {
  const named = (texts: readonly string[]) => new Set(texts.flatMap((text) => text.split(",")).flatMap(idsOf));
  const [wanted, unwanted] = [named(only), named(skip)];
  const ids = CHECKS.map(({ id }) => id).filter((id) => (wanted.size === 0 || wanted.has(id)) && !unwanted.has(id));
  if (ids.length === 0) throw new Error("no check is left to run");
  return ids;
}

function idsOf(name: string): readonly string[] {
  const text = name.trim();
  const ids = CHECKS.map(({ id }) => id).filter((id) => id === text || id.startsWith(`${text}.`));
  if (ids.length === 0) throw new Error(`there is no check ${JSON.stringify(text)}; tenon acp-check --list shows them`);
  return ids;
}

function readTimeout(text: string | undefined): number {
  if (text === undefined) return CLI_LIMITS.acpCheck.answerMs;
  const count = Number(text);
  if (!(count > 0)) throw new Error(`--timeout takes a number of seconds, got ${JSON.stringify(text)}`);
  return count * 1_000;
}

function readPair(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  // The value may be a secret, and this goes to the screen.
  if (at < 1) throw new Error("--env takes NAME=VALUE");
  return [text.slice(0, at), text.slice(at + 1)];
}
