// `tenon mcp get|add|remove|enable|disable`: shows entries of every layer, and edits the user's file or the project's.
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
import { type Given, misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../../context.js";
import { visibleLine } from "../../terminal/text.js";
import { noServer } from "./inspect.js";
import { entryLines, serverJson } from "./list.js";

type AddValues = Values<"json" | "project" | "replace", "type", "env" | "header">;

export const runGet: Run<Values<"json">> = async ({ values, words }, context) => {
  const [name = ""] = words;
  const config = await readConfig(context);
  const servers = config.servers.filter((server) => server.name === name);
  if (servers.length === 0) throw noServer(name, config.servers);
  if (values.json === true) return printJson(context, { servers: servers.map(serverJson) });
  const lines = servers.flatMap((server) => entryLines(server, context));
  print(context, lines);
};

export const runAdd: Run<AddValues> = async (given, context) => {
  const { json, project, replace } = given.values;
  const { name, entry } = readEntry(given);
  const config = await readConfig(context);
  const isProject = project === true;
  const file = isProject ? projectFile(config, context, undefined) : userFile(context);
  const edited = await addServer(file, name, entry, { mayReplace: replace === true });
  printEdited(name, edited, json === true, context);
  if (isProject && json !== true) printApproval(name, context);
};

export function runEdit(verb: "remove" | "enable" | "disable"): Run<Values<"json" | "project">> {
  return async ({ values, words }, context) => {
    const [name = ""] = words;
    const config = await readConfig(context);
    const isProject = values.project === true;
    const file = isProject ? projectFile(config, context, name) : ownFile(config, context, name);
    const edited =
      verb === "remove" ? await removeServer(file, name) : await setServerEnabled(file, name, verb === "enable");
    printEdited(name, edited, values.json === true, context);
    if (isProject && verb === "enable" && values.json !== true) printApproval(name, context);
  };
}

export function userFile({ world }: CommandContext): ConfigFile {
  const path = tenonPaths(world.env).configFile;
  if (path !== undefined) return { world, path, layer: "user" };
  throw new TenonError("config.unreadable", "there is no place for your configuration: HOME is not set", {
    hint: "Set HOME, or TENON_HOME, to a full path.",
  });
}

/** The user's file, for a server that is in it: not one of the project, nor one of another client's file. */
function ownFile({ servers }: EffectiveConfig, context: CommandContext, name: string): ConfigFile {
  const named = servers.filter((server) => server.name === name);
  const quoted = JSON.stringify(name);
  if (named.length > 0 && named.every(({ place }) => place.layer === "project")) {
    throw refused(`the server ${quoted} is the project's, not yours`, "Add --project to change the project's file.");
  }
  const own = named.filter(({ place }) => place.layer === "user");
  const client = own[0]?.place.client;
  if (client !== undefined && own.every(({ place }) => place.client !== undefined)) {
    const hint = `Change it there, or make it your own first: tenon mcp import --from ${client} ${name}`;
    throw refused(`the server ${quoted} comes from ${client}, whose file is not changed`, hint);
  }
  return userFile(context);
}

/** The file that has the server, the stronger one if both do; Tenon's own where it is to be added. */
function projectFile({ project, servers }: EffectiveConfig, { world }: CommandContext, name?: string): ConfigFile {
  const { own, shared } = projectFiles(project);
  const holders = servers.filter((server) => server.name === name && server.place.layer === "project");
  const isHeldBy = (path: string) => holders.some(({ place }) => place.file?.endsWith(path.slice(project.length)));
  const path = name !== undefined && !isHeldBy(own) && isHeldBy(shared) ? shared : own;
  return { world, path, layer: "project", within: project };
}

function printEdited(name: string, edited: Edited, isJson: boolean, context: CommandContext): void {
  const { change, file, isNewFile, after, warnings } = edited;
  for (const text of warnings) warn(context, text);
  if (isJson) {
    const entry = defined({ entry: after && maskEntry(after) });
    return printJson(context, { change, name, file, isNewFile, ...entry, warnings });
  }
  const subject = context.palette.bold(visibleLine(name));
  const where = visibleLine(file);
  print(context, [change === "unchanged" ? `${subject} is unchanged in ${where}` : `${subject} ${change} in ${where}`]);
}

function printApproval(name: string, context: CommandContext): void {
  const text = `Servers of a project are used once they are approved: tenon trust approve ${visibleLine(name)}`;
  print(context, [context.palette.dim(text)]);
}

/** What follows `--` is the server's command as it stands, whatever it looks like. */
function readEntry({ values, words, after }: Pick<Given<AddValues>, "values" | "words" | "after">): {
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

function remoteEntry([url = "", ...rest]: readonly string[], { env = [], header = [], type }: AddValues): JsonObject {
  if (rest.length > 0) throw misused("one word too many: a url stands alone");
  if (env.length > 0) throw misused("--env is for servers that are started by a command; use --header");
  const headers = pairs(header, /[=:]/u, "--header NAME=VALUE");
  return { type: type ?? "http", url, ...defined({ headers }) };
}

function stdioEntry(words: readonly string[], { env = [], header = [], type }: AddValues): JsonObject {
  const [command = "", ...args] = words;
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
