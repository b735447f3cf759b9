// `tenon mcp get|add|remove|enable|disable`: looks at entries of every layer, and edits those of the user's file or the project's.
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import {
  addServer,
  type ConfigFile,
  type Edited,
  type EffectiveConfig,
  maskEntry,
  projectFiles,
  removeServer,
  setServerEnabled,
  tenonPaths,
} from "../../../config/index.js";
import { type Given, misused, type Run, type Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { visibleLine } from "../../terminal/text.js";
import { entryLines, serverJson } from "./list.js";
import { notThere } from "./visit.js";

interface EditValues extends Values<"json"> {
  readonly project?: boolean | undefined;
}

export async function runGet({ values, words }: Given<Values<"json">>, context: CommandContext): Promise<number> {
  get(await readConfig(context), words[0] ?? "", values.json === true, context);
  return EXIT.done;
}

export function runEdit(verb: "remove" | "enable" | "disable"): Run<EditValues> {
  return async ({ values, words }, context) => {
    const change: ServerChange = { verb, name: words[0] ?? "", isProject: values.project === true };
    await changeServer(change, values.json === true, context);
    return EXIT.done;
  };
}

/** A change of one server's entry in a file. */
export type ServerChange =
  | {
      readonly verb: "add";
      readonly name: string;
      readonly entry: JsonObject;
      readonly isProject: boolean;
      readonly mayReplace: boolean;
    }
  | { readonly verb: "remove" | "enable" | "disable"; readonly name: string; readonly isProject: boolean };

/** Makes the change and tells of it. */
export async function changeServer(change: ServerChange, json: boolean, context: CommandContext): Promise<void> {
  tell(change, await edit(change, await readConfig(context), context), json, context);
}

function get(config: EffectiveConfig, name: string, json: boolean, context: CommandContext): void {
  const servers = config.servers.filter((server) => server.name === name);
  if (servers.length === 0) {
    throw notThere(
      name,
      config.servers.map((server) => server.name),
    );
  }
  if (json) return printJson(context, { servers: servers.map(serverJson) });
  print(
    context,
    servers.flatMap((server) => entryLines(server, context)),
  );
}

async function edit(action: ServerChange, config: EffectiveConfig, context: CommandContext): Promise<Edited> {
  const { verb, name, isProject } = action;
  const file = isProject ? projectFile(config, context, verb === "add" ? undefined : name) : userFile(context);
  if (verb === "add") return await addServer(file, name, action.entry, { mayReplace: action.mayReplace });
  if (!isProject && isOnlyInProject(config, name)) {
    throw new TenonError("config.invalid", `the server ${JSON.stringify(name)} is the project's, not yours`, {
      hint: `Add --project to change the project's file.`,
    });
  }
  if (!isProject) refuseForeign(config, name);
  return verb === "remove" ? await removeServer(file, name) : await setServerEnabled(file, name, verb === "enable");
}

function userFile({ world }: CommandContext): ConfigFile {
  const path = tenonPaths(world.env).configFile;
  if (path !== undefined) return { world, path, layer: "user" };
  throw new TenonError("config.unreadable", "there is no place for your configuration: HOME is not set", {
    hint: "Set HOME, or TENON_HOME, to a full path.",
  });
}

/** The file that has the server, the stronger one if both do; Tenon's own where it is to be added. */
function projectFile(config: EffectiveConfig, { world }: CommandContext, name: string | undefined): ConfigFile {
  const { own, shared } = projectFiles(config.project);
  const holders = config.servers.filter((server) => server.name === name && server.place.layer === "project");
  const isHeldBy = (path: string) =>
    holders.some(({ place }) => place.file?.endsWith(path.slice(config.project.length)));
  const path = name !== undefined && !isHeldBy(own) && isHeldBy(shared) ? shared : own;
  return { world, path, layer: "project", within: config.project };
}

/** What another client's file says is for that client to change. */
function refuseForeign({ servers }: EffectiveConfig, name: string): void {
  const own = servers.filter((server) => server.name === name && server.place.layer === "user");
  const client = own[0]?.place.client;
  if (client === undefined || own.some(({ place }) => place.client === undefined)) return;
  throw new TenonError(
    "config.invalid",
    `the server ${JSON.stringify(name)} comes from ${client}, whose file is not changed`,
    {
      hint: `Change it there, or make it your own first: tenon mcp import --from ${client} ${name}`,
    },
  );
}

function isOnlyInProject({ servers }: EffectiveConfig, name: string): boolean {
  const named = servers.filter((server) => server.name === name);
  return named.length > 0 && named.every(({ place }) => place.layer === "project");
}

function tell(action: ServerChange, edited: Edited, json: boolean, context: CommandContext): void {
  const { change, file, isNewFile, after, warnings } = edited;
  const { name, verb, isProject } = action;
  for (const text of warnings) warn(context, text);
  if (json) {
    const entry = after ? { entry: maskEntry(after) } : {};
    return printJson(context, { change, name, file, isNewFile, ...entry, warnings });
  }
  const { palette } = context;
  const subject = palette.bold(visibleLine(name));
  const where = visibleLine(file);
  print(context, [
    change === "unchanged" ? `${subject} is so already in ${where}` : `${subject} ${change} in ${where}`,
  ]);
  if (isProject && verb !== "remove" && verb !== "disable") {
    print(context, [
      palette.dim(`What a project brings is used once it is approved: tenon trust approve ${visibleLine(name)}`),
    ]);
  }
}

// `tenon mcp add`: the words of a command or a url -> an entry of the configuration.

type AddValues = Values<"json" | "project" | "replace", "type", "env" | "header">;

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
