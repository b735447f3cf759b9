// What `tenon mcp test` found, for people and for programs.
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import { formatElapsed } from "../terminal/clock.js";
import type { Palette } from "../terminal/palette.js";
import { visible, visibleLine } from "../terminal/visible.js";
import { clipToWidth } from "../terminal/width.js";
import { wrapText } from "../terminal/wrap.js";
import type { Look } from "./look.js";
import type { Failure } from "./next.js";

export interface ConnectStep {
  readonly step: "configuration" | "start" | "reach" | "log-in" | "handshake" | "tools";
  readonly isDone: boolean;
  readonly tookMs?: number;
}

export interface TestResult {
  readonly name: string;
  readonly source: string;
  /** The command or the address, secrets masked. */
  readonly target: string;
  /** Undefined when it was not to be started. */
  readonly look?: Look;
  readonly steps: readonly ConnectStep[];
  readonly error?: Failure;
  /** Why an attempt before the good one failed. */
  readonly cameBackFrom?: string;
  /** Commands to run next. */
  readonly next: readonly string[];
  readonly exitCode: number;
}

interface Style {
  readonly columns: number;
  readonly palette: Palette;
}

const STEP_COLUMNS = 15;

export function resultLines(result: TestResult, style: Style): readonly string[] {
  const { palette, columns } = style;
  const { look, error } = result;
  return [
    palette.bold(visibleLine(result.name)) + palette.dim(`  ${visibleLine(result.source)}`),
    ...(result.target === "" ? [] : [palette.dim(clipToWidth(`  ${visibleLine(result.target)}`, columns))]),
    ...result.steps.map((step) => stepLine(step, result, style)),
    ...(look?.warnings ?? []).map((text) => palette.yellow(`! ${visibleLine(text)}`)),
    ...(look?.quarantined ?? []).map((text) => palette.yellow(`! quarantined: ${visibleLine(text)}`)),
    ...(result.cameBackFrom === undefined ? [] : [palette.yellow(`! first: ${visibleLine(result.cameBackFrom)}`)]),
    ...(error ? failureLines(result, error, style) : [`${palette.green("It works.")} ${totalText(result)}`]),
  ];
}

function stepLine({ step, isDone, tookMs }: ConnectStep, result: TestResult, { palette }: Style): string {
  const sign = isDone ? palette.green("✓") : palette.red("✗");
  const time = tookMs === undefined ? "" : palette.dim(`  ${formatElapsed(tookMs)}`);
  return `${sign} ${step.padEnd(STEP_COLUMNS)}${isDone ? foundText(step, result) : "failed"}${time}`;
}

function foundText(step: ConnectStep["step"], { look }: TestResult): string {
  switch (step) {
    case "configuration":
      return "ready";
    case "start":
      return "the process runs";
    case "reach":
      return "it answers";
    case "log-in":
      return "accepted";
    case "handshake": {
      const { server, era, protocolVersion } = look?.status ?? {};
      if (!server) return "agreed";
      const named = visibleLine(`${server.name} ${server.version}`);
      return `${named}, ${era ?? ""} ${protocolVersion ?? ""}`.trim();
    }
    case "tools":
      return look === undefined ? "" : `${count(look.tools.length, "tool")}, about ${look.tokens} tokens`;
  }
}

/** The server, the step, the cause, the next command: in this order, each with its name. */
function failureLines(
  { name, steps, next }: TestResult,
  error: Failure,
  { palette, columns }: Style,
): readonly string[] {
  const failed = steps.find(({ isDone }) => !isDone)?.step ?? "tools";
  const margin = " ".repeat(10);
  const cause = visible(error.message)
    .split("\n")
    .flatMap((line) => wrapText(line.trimEnd(), Math.max(30, columns - margin.length)));
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["server", [visibleLine(name)]],
    ["step", [failed]],
    ["cause", cause],
    ...(error.hint
      ? [["hint", wrapText(visibleLine(error.hint), Math.max(30, columns - margin.length))] as const]
      : []),
    ["next", next],
  ];
  return [
    palette.red("It does not work."),
    ...rows.flatMap(([label, [first = "", ...more]]) => [
      `  ${label.padEnd(margin.length - 2)}${first}`,
      ...more.map((line) => margin + line),
    ]),
  ];
}

function totalText({ steps, look }: TestResult): string {
  const totalMs = steps.reduce((sum, { tookMs = 0 }) => sum + tookMs, 0);
  const left = look === undefined || look.quarantined.length === 0 ? "" : `; ${look.quarantined.length} quarantined`;
  return `Ready after ${formatElapsed(totalMs)}${left}.`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export function resultJson(result: TestResult): JsonObject {
  const { name, source, target, look, steps, error, next, cameBackFrom } = result;
  const failed = steps.find(({ isDone }) => !isDone)?.step;
  const { server, era, protocolVersion } = look?.status ?? {};
  return {
    server: name,
    source,
    target,
    works: error === undefined,
    steps: steps.map(({ step, isDone, tookMs }) => ({
      step,
      done: isDone,
      ...defined({ ms: tookMs === undefined ? undefined : Math.round(tookMs) }),
    })),
    ...defined({
      identity: server ? { name: server.name, version: server.version } : undefined,
      era,
      protocolVersion,
      tools: look ? look.tools.map(({ tool, tokens }) => ({ name: tool.name, tokens })) : undefined,
      tokens: look?.tokens,
      warnings: look?.warnings,
      quarantined: look?.quarantined,
      cameBackFrom,
      error: error
        ? {
            ...defined({ step: failed }),
            code: error.code,
            message: error.message,
            ...defined({ hint: error.hint || undefined }),
          }
        : undefined,
      next: error ? next : undefined,
    }),
  };
}
