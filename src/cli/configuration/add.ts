// `tenon mcp add`: the words of a command or a url -> an entry of the configuration.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { EXIT } from "../exit.js";
import type { Given } from "../table/command.js";
import { misused } from "../table/parse.js";
import type { CommandContext } from "./context.js";
import { changeServer } from "./mcp.js";

interface AddValues {
  readonly json?: boolean | undefined;
  readonly env?: readonly string[] | undefined;
  readonly header?: readonly string[] | undefined;
  readonly type?: string | undefined;
  readonly project?: boolean | undefined;
  readonly replace?: boolean | undefined;
}

export async function runAdd(given: Given<AddValues>, context: CommandContext): Promise<number> {
  const { json, project, replace } = given.values;
  const { name, entry } = readEntry(given);
  const change = { verb: "add", name, entry, isProject: project === true, mayReplace: replace === true } as const;
  await changeServer(change, json === true, context);
  return EXIT.done;
}

/** What follows `--` is the server's command as it stands, whatever it looks like. */
export function readEntry({ values, words, after }: Pick<Given<AddValues>, "values" | "words" | "after">): {
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
  const isUrl = after === undefined && (values.type !== undefined || /^https?:\/\//iu.test(target));
  return { name, entry: isUrl ? remoteEntry(given, values) : stdioEntry(given, values) };
}

function remoteEntry(words: readonly string[], { env = [], header = [], type }: AddValues): JsonObject {
  const [url = "", ...rest] = words;
  if (rest.length > 0) throw misused("one word too many: a url stands alone");
  if (env.length > 0) throw misused("--env is for servers that are started by a command; use --header");
  const headers = pairs(header, /[=:]/u, "--header NAME=VALUE");
  return { type: type ?? "http", url, ...defined({ headers: header.length === 0 ? undefined : headers }) };
}

function stdioEntry(
  [command = "", ...args]: readonly string[],
  { env = [], header = [], type }: AddValues,
): JsonObject {
  if (header.length > 0) throw misused("--header is for servers with a url; use --env");
  if (type !== undefined) throw misused("--type is for servers with a url, which stands without -- before it");
  const variables = pairs(env, /=/u, "--env NAME=VALUE");
  return { command, args, ...defined({ env: env.length === 0 ? undefined : variables }) };
}

function pairs(texts: readonly string[], separator: RegExp, form: string): JsonObject {
  return Object.fromEntries(
    texts.map((text): [string, string] => {
      const at = text.search(separator);
      const name = text.slice(0, Math.max(0, at)).trim();
      if (name === "") throw misused(`expected ${form}, got ${JSON.stringify(withoutValue(text, at))}`);
      const value = text.slice(at + 1);
      return [name, text[at] === ":" ? value.trim() : value];
    }),
  );
}

/** The value may be a secret, and this goes to the screen. */
function withoutValue(text: string, at: number): string {
  return at < 0 ? text : `${text.slice(0, at + 1)}…`;
}
