// `tenon mcp list|get|remove|enable|disable`: every server of every layer with its state, connected to unless told
// otherwise, secrets masked; and edits of the user's file or the project's.
import { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import {
  type ConfigFile,
  type Edited,
  type EffectiveConfig,
  type EffectiveServer,
  maskEntry,
  type Place,
  type Problem,
  placeText,
  problemText,
  projectFiles,
  removeServer,
  setServerEnabled,
  tenonPaths,
  whyNotReady,
} from "../../../config/index.js";
import { type Run, refused, type Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig, report, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { formatElapsed, type Palette } from "../../terminal/stream.js";
import {
  clipToWidth,
  renderTable,
  visible,
  visibleJson,
  visibleLine,
  withRoomForLast,
  wrapText,
} from "../../terminal/text.js";
import { type InspectedServer, type Inspection, inspectAll, liveConfig, noServer, secondsToMs } from "./inspect.js";
import { nextFor } from "./next-steps.js";

export const runList: Run<Values<"json" | "no-connect" | "exit-code", "timeout">> = async ({ values }, context) => {
  const timeoutMs = secondsToMs(values.timeout);
  const isOffline = values["no-connect"] === true;
  const config = isOffline ? await readConfig(context) : await liveConfig(context);
  const { servers, problems, notices, project } = config;
  const listed = isOffline ? servers.map((server) => ({ server })) : await inspectAll(config, context, { timeoutMs });
  if (values.json === true) {
    printJson(context, {
      project,
      servers: listed.map(liveJson),
      problems: problems.map(problemJson),
      notices: notices.map(({ text }) => text),
    });
  } else {
    if (servers.length === 0) print(context, ["No MCP servers. tenon mcp add <name> -- command args… adds one."]);
    else print(context, isOffline ? listLines(servers, context) : liveLines(listed, context));
    // Problems of an entry stand below it already.
    const shown = new Set(servers.flatMap((server) => (server.status === "invalid" ? server.problems : [])));
    for (const problem of problems) if (!shown.has(problem)) warn(context, problemText(problem));
  }
  return values["exit-code"] === true && listed.some(isBroken) ? EXIT.failed : EXIT.done;
};

/** Switched off on purpose, replaced, or not approved yet is not broken. */
function isBroken({ server, inspection }: InspectedServer): boolean {
  return inspection?.error !== undefined || isUnusable(server);
}

type Style = Pick<CommandContext, "columns" | "palette" | "world">;

/** A row for each, and below it why it is not used, or what to do about it. */
function liveLines(listed: readonly InspectedServer[], style: Style): readonly string[] {
  const { columns, palette, world } = style;
  const titles = ["server", "state", "tools", "tokens", "start", "protocol", "source", "command or address"];
  const cells = withRoomForLast([titles, ...listed.map((one) => cellsOf(one, world))], columns - 2, DROPPED_FIRST);
  const [head = "", ...rows] = renderTable(cells, { columns: columns - 2 });
  const lines = listed.flatMap((one, at) => [
    `${markOf(one, palette)} ${rows[at] ?? ""}`,
    ...remarks(one)
      .flatMap((line) => remarkLines(line, columns))
      .map((line) => palette.dim(line)),
  ]);
  return [palette.dim(`  ${head}`), ...lines];
}

/** Between words, and no more than tells the cause: the end of a server's error output can be long. */
function remarkLines(text: string, columns: number): readonly string[] {
  const all = wrapText(text, columns - INDENT.length).map((line) => clipToWidth(`${INDENT}${line}`, columns));
  return all.length <= REMARK_LINES ? all : [...all.slice(0, REMARK_LINES), `${INDENT}…`];
}

const INDENT = "    ";
const REMARK_LINES = 4;

/** What is left out first where a terminal is narrow: protocol, tokens, source, start. */
const DROPPED_FIRST = [5, 3, 6, 4] as const;
function cellsOf({ server, inspection }: InspectedServer, world: CommandContext["world"]): readonly string[] {
  const status = inspection?.status;
  const isReady = status?.state === "ready";
  return [
    visibleLine(server.name),
    inspection ? stateText(inspection) : configuredText(server),
    isReady ? String(inspection?.tools.length ?? 0) : "–",
    isReady ? String(inspection?.tokens ?? 0) : "–",
    status?.connectMs === undefined ? "–" : formatElapsed(status.connectMs),
    status?.protocolVersion === undefined ? "–" : `MCP ${visibleLine(status.protocolVersion)}`,
    visibleLine(fromHome(sourceText(server.place), world)),
    visibleLine(fromHome(targetOf(server.written), world)),
  ];
}

/** `~` instead of the home directory. */
function fromHome(text: string, { env }: CommandContext["world"]): string {
  const home = env["HOME"];
  return home === undefined || home.length < 2 ? text : text.replaceAll(`${home}/`, "~/");
}

/** Without connecting nobody knows whether it works. */
function configuredText(server: EffectiveServer): string {
  if (server.status === "ready") return "configured";
  return server.status === "disabled" && isUnusable(server) ? "unusable" : server.status;
}

/** Not switched off by a person: something it needs is missing. */
function isUnusable(server: EffectiveServer): boolean {
  return server.status === "invalid" || (server.status === "disabled" && !server.isIntended);
}

function stateText({ status, error }: Inspection): string {
  if (status?.needsLogin) return "needs login";
  return error ? "failed" : (status?.state ?? "failed");
}

const MARKS: Readonly<Record<EffectiveServer["status"], { readonly sign: string; readonly style: keyof Palette }>> = {
  ready: { sign: "✓", style: "green" },
  untrusted: { sign: "?", style: "yellow" },
  invalid: { sign: "✗", style: "red" },
  disabled: { sign: "–", style: "dim" },
  shadowed: { sign: "–", style: "dim" },
};

/** One that needs a log-in waits for the person, as an untrusted one does. */
function markOf({ server, inspection }: InspectedServer, palette: Palette): string {
  const live = inspection?.status?.needsLogin ? "untrusted" : inspection?.error ? "invalid" : "ready";
  if (!inspection && server.status === "ready") return palette.dim("·");
  const { sign, style } = MARKS[inspection ? live : isUnusable(server) ? "invalid" : server.status];
  return palette[style](sign);
}

function remarks({ server, inspection }: InspectedServer): readonly string[] {
  if (!inspection) return reasonLines(server);
  const { error, quarantined } = inspection;
  if (error) return [visibleLine(error.message), ...nextFor(server, error).slice(0, 1)];
  const count = quarantined.length;
  return count === 0 ? [] : [`${count} quarantined: tenon mcp test ${visibleLine(server.name)}`];
}

function liveJson({ server, inspection }: InspectedServer): JsonObject {
  if (!inspection) return serverJson(server);
  const { status, tools, tokens, error, quarantined, warnings } = inspection;
  const live = {
    state: stateText(inspection),
    tools: tools.length,
    tokens,
    ...defined({
      startMs: status?.connectMs,
      era: status?.era,
      protocolVersion: status?.protocolVersion,
      identity: status?.server && { name: status.server.name, version: status.server.version },
    }),
    quarantined,
    warnings,
    ...defined({ error: error && { code: error.code, message: error.message, hint: error.hint } }),
  };
  return { ...serverJson(server), live };
}

const SOURCE = 2;

/** One line per entry, and below it why it is not used. */
function listLines(servers: readonly EffectiveServer[], { columns, palette, world }: Style): readonly string[] {
  const cells = servers.map((server) => [
    visibleLine(server.name),
    configuredText(server),
    visibleLine(fromHome(sourceText(server.place), world)),
    visibleLine(fromHome(targetOf(server.written), world)),
  ]);
  const rows = renderTable(withRoomForLast(cells, columns - 2, [SOURCE]), { columns: columns - 2 });
  return servers.flatMap((server, at) => [
    `${markOf({ server }, palette)} ${rows[at] ?? ""}`,
    ...reasonLines(server)
      .flatMap((line) => remarkLines(line, columns))
      .map((line) => palette.dim(line)),
  ]);
}

/** Everything about one entry. */
function entryLines(server: EffectiveServer, { palette }: Style): readonly string[] {
  const { written, status } = server;
  const entry = written === undefined ? [] : visibleJson(JSON.stringify(maskEntry(written), undefined, 2)).split("\n");
  const name = palette.bold(visibleLine(server.name));
  return [
    `${markOf({ server }, palette)} ${name}  ${status}  ${visibleLine(sourceText(server.place))}`,
    ...reasonLines(server).map((line) => `    ${line}`),
    ...entry.map((line) => `  ${line}`),
  ];
}

function serverJson(server: EffectiveServer): JsonObject {
  const { name, status, place, written } = server;
  return {
    name,
    status,
    source: placeJson(place),
    ...defined({
      reason: whyNotReady(server),
      entry: written && maskEntry(written),
      problems: status === "invalid" ? server.problems.map(problemJson) : undefined,
      replacedBy: status === "shadowed" ? placeJson(server.by) : undefined,
      isDenied: status === "untrusted" ? server.isDenied : undefined,
      hash: status === "untrusted" ? server.question.hash : undefined,
    }),
  };
}

export function problemJson({ severity, place, server, message, suggestion }: Problem): JsonObject {
  return { severity, ...placeJson(place), ...defined({ server, message, suggestion }) };
}

export function placeJson({ layer, file, line, column, name, client }: Place): JsonObject {
  return { layer, ...defined({ client, file, line, column, name }) };
}

function sourceText(place: Place): string {
  const layer = place.client === undefined ? place.layer : `${place.layer} (${place.client})`;
  return place.file === undefined ? layer : `${layer} ${placeText(place)}`;
}

/** The command or the address of an entry, secrets masked. */
export function targetOf(written: JsonObject | undefined): string {
  if (written === undefined) return "";
  const { command, args, url } = maskEntry(written);
  if (typeof url === "string") return url;
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
  return words.map((word) => (/^[^\s"'\\]+$/u.test(word) ? word : JSON.stringify(word))).join(" ");
}

function reasonLines(server: EffectiveServer): readonly string[] {
  if (server.status === "invalid") return server.problems.map((problem) => visibleLine(problemText(problem)));
  const reason = whyNotReady(server);
  return reason === undefined ? [] : visible(reason).split("\n");
}

// The entries of a file, changed.

export const runGet: Run<Values<"json">> = async ({ values, words }, context) => {
  const [name = ""] = words;
  const config = await readConfig(context);
  const servers = config.servers.filter((server) => server.name === name);
  if (servers.length === 0) throw noServer(name, config.servers);
  const lines = servers.flatMap((server) => entryLines(server, context));
  report(context, values.json, { servers: servers.map(serverJson) }, lines);
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
export function projectFile(
  { project, servers }: EffectiveConfig,
  { world }: CommandContext,
  name?: string,
): ConfigFile {
  const { own, shared } = projectFiles(project);
  const holders = servers.filter((server) => server.name === name && server.place.layer === "project");
  const isHeldBy = (path: string) => holders.some(({ place }) => place.file?.endsWith(path.slice(project.length)));
  const path = name !== undefined && !isHeldBy(own) && isHeldBy(shared) ? shared : own;
  return { world, path, layer: "project", within: project };
}

export function printEdited(name: string, edited: Edited, isJson: boolean, context: CommandContext): void {
  const { change, file, isNewFile, after, warnings } = edited;
  for (const text of warnings) warn(context, text);
  const entry = defined({ entry: after && maskEntry(after) });
  const done = change === "unchanged" ? "is unchanged" : change;
  report(context, isJson, { change, name, file, isNewFile, ...entry, warnings }, [
    `${context.palette.bold(visibleLine(name))} ${done} in ${visibleLine(file)}`,
  ]);
}

export function printApproval(name: string, context: CommandContext): void {
  const text = `Servers of a project are used once they are approved: tenon trust approve ${visibleLine(name)}`;
  print(context, [context.palette.dim(text)]);
}
