// Configured servers for people and for programs: where each stands, why, and what its entry says, secrets masked.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import {
  type EffectiveConfig,
  type EffectiveServer,
  maskEntry,
  type Place,
  type Problem,
  placeText,
  problemText,
  whyNotReady,
} from "../../config/index.js";
import type { Palette } from "../terminal/palette.js";
import { renderTable } from "../terminal/table.js";
import { visible, visibleJson, visibleLine } from "../terminal/visible.js";

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
