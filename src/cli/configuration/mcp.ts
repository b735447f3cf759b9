// `tenon mcp`: looks at the servers of every layer, and edits those of the user's file or the project's.
import { TenonError } from "../../base/errors.js";
import {
  addServer,
  type ConfigFile,
  type Edited,
  type EffectiveConfig,
  maskEntry,
  problemText,
  projectFiles,
  removeServer,
  setServerEnabled,
  tenonPaths,
} from "../../config/index.js";
import { visibleLine } from "../terminal/visible.js";
import { type CommandContext, print, printJson, readConfig, refuseWords, settleCommand, warn } from "./context.js";
import { type McpAction, type McpArguments, parseMcpArguments } from "./mcp-arguments.js";
import { entryLines, listLines, problemJson, serverJson } from "./server-report.js";

/** Resolves with the exit code. */
export async function runMcp(words: readonly string[], context: CommandContext): Promise<number> {
  const parsed = parseMcpArguments(words);
  if (!parsed.ok) return refuseWords("mcp", context, parsed.reason);
  const { options } = parsed;
  return await settleCommand("mcp", context, options.json, () => perform(options, context));
}

async function perform({ action, json }: McpArguments, context: CommandContext): Promise<void> {
  if (action.verb === "why") return await why(action.tool, { prompt: action.prompt, json }, context);
  const config = await readConfig(context);
  switch (action.verb) {
    case "list":
      return list(config, json, context);
    case "get":
      return get(config, action.name, json, context);
    case "add":
    case "remove":
    case "enable":
    case "disable":
      return tell(action, await edit(action, config, context), json, context);
  }
}

function list(config: EffectiveConfig, json: boolean, context: CommandContext): void {
  if (json) {
    const { servers, problems, notices, project } = config;
    return printJson(context, {
      project,
      servers: servers.map(serverJson),
      problems: problems.map(problemJson),
      notices: notices.map(({ text }) => text),
    });
  }
  if (config.servers.length === 0) print(context, ["No MCP servers. tenon mcp add <name> -- command args… adds one."]);
  print(context, listLines(config, context));
  // Those of an entry stand below it already.
  const told = new Set(config.servers.flatMap((server) => (server.status === "invalid" ? server.problems : [])));
  for (const problem of config.problems) if (!told.has(problem)) warn(context, problemText(problem));
}

async function why(
  tool: string,
  { prompt, json }: { readonly prompt: string | undefined; readonly json: boolean },
  context: CommandContext,
): Promise<void> {
  const { whyHere } = await import("./why.js"); // it brings the whole agent
  const { kind, text, search, candidates = [] } = await whyHere(tool, prompt, context);
  if (json) return printJson(context, { kind, text, ...(search ? { search } : {}), candidates });
  print(context, [visibleLine(text), ...candidates.map((path) => `  ${visibleLine(path)}`)]);
}

function get(config: EffectiveConfig, name: string, json: boolean, context: CommandContext): void {
  const servers = config.servers.filter((server) => server.name === name);
  if (servers.length === 0) throw notThere(name);
  if (json) return printJson(context, { servers: servers.map(serverJson) });
  print(
    context,
    servers.flatMap((server) => entryLines(server, context)),
  );
}

type EditAction = Exclude<McpAction, { readonly verb: "list" | "get" | "why" }>;

async function edit(action: EditAction, config: EffectiveConfig, context: CommandContext): Promise<Edited> {
  const { verb, name, isProject } = action;
  const file = isProject ? projectFile(config, context, verb === "add" ? undefined : name) : userFile(context);
  if (verb === "add") return await addServer(file, name, action.entry, { mayReplace: action.mayReplace });
  if (!isProject && isOnlyInProject(config, name)) {
    throw new TenonError("config.invalid", `the server ${JSON.stringify(name)} is the project's, not yours`, {
      hint: `Add --project to change the project's file.`,
    });
  }
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

function isOnlyInProject({ servers }: EffectiveConfig, name: string): boolean {
  const named = servers.filter((server) => server.name === name);
  return named.length > 0 && named.every(({ place }) => place.layer === "project");
}

function tell(action: EditAction, edited: Edited, json: boolean, context: CommandContext): void {
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

function notThere(name: string): TenonError {
  return new TenonError("config.invalid", `there is no server ${JSON.stringify(name)}`, {
    hint: "See tenon mcp list.",
  });
}
