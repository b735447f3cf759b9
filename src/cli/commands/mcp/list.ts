// `tenon mcp list`: every server of every layer with its state; connected to unless told otherwise. Secrets are masked.
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import {
  type EffectiveServer,
  maskEntry,
  type Place,
  type Problem,
  placeText,
  problemText,
  whyNotReady,
} from "../../../config/index.js";
import type { Run, Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../../context.js";
import { formatElapsed, type Palette } from "../../terminal/stream.js";
import { clipToWidth, renderTable, visible, visibleJson, visibleLine } from "../../terminal/text.js";
import { type InspectedServer, type Inspection, inspectAll, liveConfig, secondsToMs } from "./inspect.js";
import { nextFor } from "./next-steps.js";

export const runList: Run<Values<"json" | "no-connect", "timeout">> = async ({ values }, context) => {
  const timeoutMs = secondsToMs(values.timeout);
  const isOffline = values["no-connect"] === true;
  const config = isOffline ? await readConfig(context) : await liveConfig(context);
  const { servers, problems, notices, project } = config;
  const listed = isOffline ? servers.map((server) => ({ server })) : await inspectAll(config, context, { timeoutMs });
  if (values.json === true) {
    return printJson(context, {
      project,
      servers: listed.map(liveJson),
      problems: problems.map(problemJson),
      notices: notices.map(({ text }) => text),
    });
  }
  if (servers.length === 0) print(context, ["No MCP servers. tenon mcp add <name> -- command args… adds one."]);
  else print(context, isOffline ? listLines(servers, context) : liveLines(listed, context));
  // Problems of an entry stand below it already.
  const shown = new Set(servers.flatMap((server) => (server.status === "invalid" ? server.problems : [])));
  for (const problem of problems) if (!shown.has(problem)) warn(context, problemText(problem));
};

type Style = Pick<CommandContext, "columns" | "palette">;

/** A row for each, and below it why it is not used, or what to do about it. */
function liveLines(listed: readonly InspectedServer[], { columns, palette }: Style): readonly string[] {
  const titles = ["server", "state", "tools", "tokens", "start", "era", "source", "what"];
  const [head = "", ...rows] = renderTable([titles, ...listed.map(cellsOf)], { columns: columns - 2 });
  const lines = listed.flatMap((one, at) => [
    `${markOf(one, palette)} ${rows[at] ?? ""}`,
    ...remarks(one).map((line) => palette.dim(clipToWidth(`    ${line}`, columns))),
  ]);
  return [palette.dim(`  ${head}`), ...lines];
}

function cellsOf({ server, inspection }: InspectedServer): readonly string[] {
  const status = inspection?.status;
  const isReady = status?.state === "ready";
  return [
    visibleLine(server.name),
    inspection ? stateText(inspection) : server.status,
    isReady ? String(inspection?.tools.length ?? 0) : "–",
    isReady ? String(inspection?.tokens ?? 0) : "–",
    status?.connectMs === undefined ? "–" : formatElapsed(status.connectMs),
    status?.era === undefined ? "–" : `${status.era} ${status.protocolVersion ?? ""}`.trim(),
    visibleLine(sourceText(server.place)),
    visibleLine(targetOf(server.written)),
  ];
}

function stateText({ status, error }: Inspection): string {
  if (status?.needsLogin) return "needs login";
  return error ? "failed" : (status?.state ?? "failed");
}

function markOf({ server, inspection }: InspectedServer, palette: Palette): string {
  if (!inspection) return statusMark(server, palette);
  if (inspection.status?.needsLogin) return palette.yellow("?");
  return inspection.error ? palette.red("✗") : palette.green("✓");
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

function statusMark({ status }: EffectiveServer, palette: Palette): string {
  switch (status) {
    case "ready":
      return palette.green("✓");
    case "untrusted":
      return palette.yellow("?");
    case "invalid":
      return palette.red("✗");
    case "disabled":
    case "shadowed":
      return palette.dim("–");
  }
}

/** One line per entry, and below it why it is not used. */
function listLines(servers: readonly EffectiveServer[], { columns, palette }: Style): readonly string[] {
  const cells = servers.map((server) => [
    visibleLine(server.name),
    server.status,
    visibleLine(sourceText(server.place)),
    visibleLine(targetOf(server.written)),
  ]);
  const rows = renderTable(cells, { columns: columns - 2 });
  return servers.flatMap((server, at) => [
    `${statusMark(server, palette)} ${rows[at] ?? ""}`,
    ...reasonLines(server).map((line) => `    ${palette.dim(line)}`),
  ]);
}

/** Everything about one entry. */
export function entryLines(server: EffectiveServer, { palette }: Style): readonly string[] {
  const { written, status } = server;
  const entry = written === undefined ? [] : visibleJson(JSON.stringify(maskEntry(written), undefined, 2)).split("\n");
  const name = palette.bold(visibleLine(server.name));
  return [
    `${statusMark(server, palette)} ${name}  ${status}  ${visibleLine(sourceText(server.place))}`,
    ...reasonLines(server).map((line) => `    ${line}`),
    ...entry.map((line) => `  ${line}`),
  ];
}

export function serverJson(server: EffectiveServer): JsonObject {
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
