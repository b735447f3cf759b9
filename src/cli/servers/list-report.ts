// Servers that were connected to, one row each, for people and for programs.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { MARKS, type ReportStyle, reasonLines, sourceText, targetOf } from "../configuration/server-report.js";
import { formatElapsed } from "../terminal/clock.js";
import type { Palette } from "../terminal/palette.js";
import { renderTable } from "../terminal/table.js";
import { visibleLine } from "../terminal/visible.js";
import { clipToWidth } from "../terminal/width.js";
import type { Look } from "./look.js";
import { nextFor } from "./next.js";
import type { LookedServer } from "./visit-all.js";

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
