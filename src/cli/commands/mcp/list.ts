// `tenon mcp list`: every server of every layer, and how it stands; connected to unless told otherwise.
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import {
  type EffectiveConfig,
  type EffectiveServer,
  maskEntry,
  type Place,
  type Problem,
  placeText,
  problemText,
  whyNotReady,
} from "../../../config/index.js";
import type { Given, Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig, warn } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { formatElapsed, type Palette } from "../../terminal/stream.js";
import { clipToWidth, renderTable, visible, visibleJson, visibleLine } from "../../terminal/text.js";
import { nextFor } from "./next.js";
import { type Look, type LookedServer, liveConfig, secondsToMs, visitAll } from "./visit.js";

export async function runList(
  { values }: Given<Values<"json" | "no-connect", "timeout">>,
  context: CommandContext,
): Promise<number> {
  const timeoutMs = secondsToMs(values.timeout, CLI_LIMITS.connectMs);
  const isOffline = values["no-connect"] === true;
  const config = isOffline ? await readConfig(context) : await liveConfig(context);
  const looked = isOffline ? undefined : await visitAll(config, context, { timeoutMs });
  if (values.json === true) printJson(context, listJson(config, looked));
  else show(config, looked, context);
  return EXIT.done;
}

function listJson({ servers, problems, notices, project }: EffectiveConfig, looked?: readonly LookedServer[]): object {
  return {
    project,
    servers: looked
      ? looked.map(({ server, look }) => ({
          ...serverJson(server),
          ...defined({ live: look ? liveJson(look) : undefined }),
        }))
      : servers.map(serverJson),
    problems: problems.map(problemJson),
    notices: notices.map(({ text }) => text),
  };
}

function show(config: EffectiveConfig, looked: readonly LookedServer[] | undefined, context: CommandContext): void {
  if (config.servers.length === 0) print(context, ["No MCP servers. tenon mcp add <name> -- command args… adds one."]);
  print(context, looked ? liveLines(looked, context) : listLines(config, context));
  // Those of an entry stand below it already.
  const told = new Set(config.servers.flatMap((server) => (server.status === "invalid" ? server.problems : [])));
  for (const problem of config.problems) if (!told.has(problem)) warn(context, problemText(problem));
}

// Servers that were connected to, one row each, for people and for programs.

const HEAD = ["server", "state", "tools", "tokens", "start", "era", "source", "what"] as const;

/** A row for each, and below it why it is not used, or what to do about it. */
export function liveLines(looked: readonly LookedServer[], { columns, palette }: ReportStyle): readonly string[] {
  if (looked.length === 0) return [];
  const [head = "", ...rows] = renderTable([HEAD, ...looked.map(cellsOf)], { columns: columns - 2 });
  return [
    palette.dim(`  ${head}`),
    ...rows.flatMap((row, at) => {
      const one = looked[at];
      if (!one) return [];
      const { sign, style } = markOf(one);
      return [
        `${palette[style](sign)} ${row}`,
        ...remarks(one).map((line) => palette.dim(clipToWidth(`    ${line}`, columns))),
      ];
    }),
  ];
}

function cellsOf({ server, look }: LookedServer): readonly string[] {
  const status = look?.status;
  const isReady = status?.state === "ready";
  return [
    visibleLine(server.name),
    look ? stateText(look) : server.status,
    isReady ? String(look?.tools.length ?? 0) : "–",
    isReady ? String(look?.tokens ?? 0) : "–",
    status?.connectMs === undefined ? "–" : formatElapsed(status.connectMs),
    status?.era === undefined ? "–" : `${status.era} ${status.protocolVersion ?? ""}`.trim(),
    visibleLine(sourceText(server.place)),
    visibleLine(targetOf(server)),
  ];
}

function stateText({ status, error }: Look): string {
  if (status?.needsLogin) return "needs login";
  if (error) return "failed";
  return status?.state ?? "failed";
}

function markOf({ server, look }: LookedServer): { readonly sign: string; readonly style: keyof Palette } {
  if (!look) return MARKS[server.status];
  if (look.status?.needsLogin) return { sign: "?", style: "yellow" };
  return look.error ? { sign: "✗", style: "red" } : { sign: "✓", style: "green" };
}

function remarks({ server, look }: LookedServer): readonly string[] {
  if (!look) return reasonLines(server);
  const { error, quarantined } = look;
  if (error) return [visibleLine(error.message), ...nextFor(server, error).slice(0, 1)];
  return quarantined.length === 0
    ? []
    : [`${quarantined.length} quarantined: tenon mcp test ${visibleLine(server.name)}`];
}

export function liveJson(look: Look): JsonObject {
  const { status, tools, tokens, error, quarantined, warnings } = look;
  return {
    state: stateText(look),
    tools: tools.length,
    tokens,
    ...defined({
      startMs: status?.connectMs === undefined ? undefined : status.connectMs,
      era: status?.era === undefined ? undefined : status.era,
      protocolVersion: status?.protocolVersion === undefined ? undefined : status.protocolVersion,
      identity: status?.server ? { name: status.server.name, version: status.server.version } : undefined,
    }),
    quarantined,
    warnings,
    ...defined({ error: error ? { code: error.code, message: error.message, hint: error.hint } : undefined }),
  };
}

// Configured servers for people and for programs: where each stands, why, and what its entry says, secrets masked.

export interface ReportStyle {
  readonly columns: number;
  readonly palette: Palette;
}

export const MARKS: Readonly<
  Record<EffectiveServer["status"], { readonly sign: string; readonly style: keyof Palette }>
> = {
  ready: { sign: "✓", style: "green" },
  untrusted: { sign: "?", style: "yellow" },
  disabled: { sign: "–", style: "dim" },
  invalid: { sign: "✗", style: "red" },
  shadowed: { sign: "–", style: "dim" },
};

/** One line per entry, and below it why it is not used. */
export function listLines({ servers }: EffectiveConfig, { columns, palette }: ReportStyle): readonly string[] {
  const rows = servers.map((server) => [
    visibleLine(server.name),
    server.status,
    visibleLine(sourceText(server.place)),
    visibleLine(targetOf(server)),
  ]);
  return renderTable(rows, { columns: columns - 2 }).flatMap((row, at) => {
    const server = servers[at];
    if (!server) return [];
    const { sign, style } = MARKS[server.status];
    return [`${palette[style](sign)} ${row}`, ...reasonLines(server).map((line) => `    ${palette.dim(line)}`)];
  });
}

/** Everything about one entry. */
export function entryLines(server: EffectiveServer, { palette }: ReportStyle): readonly string[] {
  const { sign, style } = MARKS[server.status];
  const { written } = server;
  const entry = written === undefined ? [] : visibleJson(JSON.stringify(maskEntry(written), undefined, 2)).split("\n");
  return [
    `${palette[style](sign)} ${palette.bold(visibleLine(server.name))}  ${server.status}  ${visibleLine(sourceText(server.place))}`,
    ...reasonLines(server).map((line) => `    ${line}`),
    ...entry.map((line) => `  ${line}`),
  ];
}

export function serverJson(server: EffectiveServer): JsonObject {
  const { name, status, place, written } = server;
  const reason = whyNotReady(server);
  return {
    name,
    status,
    source: placeJson(place),
    ...defined({
      reason,
      entry: written === undefined ? undefined : maskEntry(written),
      problems: server.status === "invalid" ? server.problems.map(problemJson) : undefined,
      replacedBy: server.status === "shadowed" ? placeJson(server.by) : undefined,
      isDenied: server.status === "untrusted" ? server.isDenied : undefined,
      hash: server.status === "untrusted" ? server.question.hash : undefined,
    }),
  };
}

export function problemJson(problem: Problem): JsonObject {
  const { severity, place, server, message, suggestion } = problem;
  return {
    severity,
    ...placeJson(place),
    ...defined({ server }),
    message,
    ...defined({ suggestion }),
  };
}

export function placeJson({ layer, file, line, column, name, client }: Place): JsonObject {
  return {
    layer,
    ...defined({ client, file, line, column, name }),
  };
}

export function sourceText(place: Place): string {
  const at = placeText(place);
  const layer = place.client === undefined ? place.layer : `${place.layer} (${place.client})`;
  return place.file === undefined ? layer : `${layer} ${at}`;
}

export function targetOf({ written }: EffectiveServer): string {
  if (written === undefined) return "";
  const { command, args, url } = maskEntry(written);
  if (typeof url === "string") return url;
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
  return words.map((word) => (/^[^\s"'\\]+$/u.test(word) ? word : JSON.stringify(word))).join(" ");
}

export function reasonLines(server: EffectiveServer): readonly string[] {
  if (server.status === "invalid") return server.problems.map((problem) => visibleLine(problemText(problem)));
  const reason = whyNotReady(server);
  return reason === undefined ? [] : visible(reason).split("\n");
}
