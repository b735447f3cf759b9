// `tenon mcp test`: connects to one server and shows every step, or which one failed, why, and what to do next.
import type { TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../../base/json/json.js";
import type { WireEntry, WireTrace } from "../../../base/ports/trace.js";
import type { World } from "../../../base/ports/world.js";
import { type EffectiveServer, placeText, type ReadyServer, whyNotReady } from "../../../config/index.js";
import type { Given, Values } from "../../command.js";
import { type CommandContext, print, printJson } from "../../context.js";
import { EXIT, exitCodeOf, stoppable } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { heardOutput } from "../../server-output.js";
import { progress } from "../../terminal/screen.js";
import { formatElapsed, type Palette } from "../../terminal/stream.js";
import { clipToWidth, visible, visibleLine, wrapText } from "../../terminal/text.js";
import { targetOf } from "./list.js";
import { cured, type Failure, nextFor, nextForStanding } from "./next.js";
import { type Look, liveConfig, lookAt, secondsToMs, serverNamed, visit } from "./visit.js";

export async function runTest(
  { values, words }: Given<Values<"json", "timeout">>,
  context: CommandContext,
): Promise<number> {
  const timeoutMs = secondsToMs(values.timeout, CLI_LIMITS.connectMs);
  const result = await stoppable((signal) => testServer(words[0] ?? "", { timeoutMs, signal }, context));
  if (values.json === true) printJson(context, resultJson(result));
  else print(context, resultLines(result, context));
  return result.exitCode;
}

interface Said {
  /** The end of its stderr, where the error does not quote it. */
  readonly stderr: string;
  /** What it wrote to its stdout that is no message. */
  readonly noise: string;
}

/** Silence has no cause of its own; what the server said on its stderr, or in the wrong place, may be one. */
function withLastWords({ code, message, hint }: TenonError, { stderr, noise }: Said): Failure {
  const words = stderr === "" ? "" : `; its stderr ends: ${stderr}`;
  const strange = noise === "" ? "" : `; its stdout, which is for messages only, has: ${noise}`;
  return { code, message: `${message}${words}${strange}`, hint };
}

/** Rejects when there is no such server. */
export async function testServer(
  name: string,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  context: CommandContext,
): Promise<TestResult> {
  const config = await liveConfig(context);
  using _shown = progress(context, `Connecting to ${name}…`);
  const server = serverNamed(config, name);
  const about = { name, source: `${server.place.layer} ${placeText(server.place)}`.trim(), target: targetOf(server) };
  if (server.status !== "ready") return notStarted(server, about);
  const timed = timedWorld(context.world);
  const heard = heardOutput(context.world);
  const options = { timeoutMs, signal, world: timed.world, output: heard.output };
  return await visit(server, { config, context }, options, async (visited) => {
    const look = lookAt(visited, timeoutMs);
    const noise = server.spec.kind === "stdio" ? visited.redact(timed.noise()) : "";
    const said = { stderr: visited.isLate ? heard.tail() : "", noise };
    const error = look.error && cured(server, withLastWords(look.error, said));
    const steps = stepsOf(server, { times: timed.times(), endMs: timed.nowMs() }, error);
    const { lastError } = visited.lone.connection ?? {};
    return {
      ...about,
      look,
      steps,
      ...(error ? { error, next: nextFor(server, error) } : { next: [] }),
      exitCode: error ? Math.max(EXIT.failed, exitCodeOf(error.code)) : EXIT.done,
      ...defined({ cameBackFrom: lastError && !error ? visited.redact(lastError.message) : undefined }),
    };
  });
}

function notStarted(
  server: Exclude<EffectiveServer, { status: "ready" }>,
  about: Pick<TestResult, "name" | "source" | "target">,
): TestResult {
  const standing = { code: "config.invalid", message: whyNotReady(server) ?? server.status } as const;
  return {
    ...about,
    steps: [{ step: "configuration", isDone: false }],
    error: standing,
    next: nextForStanding(server),
    exitCode: EXIT.config,
  };
}

interface Timing {
  readonly times: StepTimes;
  readonly endMs: number;
}

/** Up to the step that failed. A remote server has nothing to start: the first request reaches it or does not. */
function stepsOf({ spec }: ReadyServer, { times, endMs }: Timing, error: Failure | undefined): readonly ConnectStep[] {
  const { beganMs, openedMs, heardMs, listedMs } = times;
  const isHere = spec.kind === "stdio";
  const wantsLogin = error?.code === "mcp.unauthorized" && !isHere;
  const openMs = isHere ? (error?.code === "mcp.spawn_failed" ? undefined : openedMs) : (heardMs ?? openedMs);
  const reachedMs = isHere || heardMs !== undefined || wantsLogin ? openMs : undefined;
  const marks: readonly (readonly [ConnectStep["step"], number, number | undefined])[] = [
    [isHere ? "start" : "reach", beganMs, reachedMs],
    [wantsLogin ? "log-in" : "handshake", reachedMs ?? beganMs, listedMs],
    ["tools", listedMs ?? beganMs, error ? undefined : endMs],
  ];
  const steps: ConnectStep[] = [{ step: "configuration", isDone: true }];
  for (const [step, fromMs, toMs] of marks) {
    // A server without tools is never asked for them.
    const doneMs = toMs ?? (error ? undefined : endMs);
    steps.push({ step, isDone: doneMs !== undefined, tookMs: Math.max(0, (doneMs ?? endMs) - fromMs) });
    if (doneMs === undefined) break;
  }
  return steps;
}

// What `tenon mcp test` found, for people and for programs.

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

// When each step of connecting to a server happened, as seen on the wire: a World that keeps the time and changes nothing.

export interface StepTimes {
  readonly beganMs: number;
  /** A process was started, or a request went out. */
  readonly openedMs?: number;
  /** The server said its first word. */
  readonly heardMs?: number;
  /** Its tools were asked for, which is done once the two sides agree. */
  readonly listedMs?: number;
}

export interface TimedWorld {
  readonly world: World;
  times(): StepTimes;
  nowMs(): number;
  /** The first lines that came where only messages may; empty where there were none. */
  noise(): string;
}

/** More of it says no more. */
const NOISE_LINES = 3;

export function timedWorld(world: World): TimedWorld {
  const beganMs = world.monotonicMs();
  let openedMs: number | undefined;
  let heardMs: number | undefined;
  let listedMs: number | undefined;
  const noise: string[] = [];
  const now = () => world.monotonicMs();
  const see = ({ channel, dir, message }: WireEntry) => {
    if (channel !== "mcp") return;
    const what = "noise" in message ? message.noise : undefined;
    const line = typeof what === "string" ? what.replace(/^no JSON: /u, "") : undefined;
    // A server that ends is started once more, and says the same again.
    if (line !== undefined && noise.length < NOISE_LINES && !noise.includes(line)) noise.push(line);
    if ("open" in message) openedMs ??= now();
    else if (dir === "in" && "jsonrpc" in message) heardMs ??= now();
    else if (isJsonObject(message) && message["method"] === "tools/list") listedMs ??= now();
  };
  return {
    world: { ...world, trace: watching(world.trace, see) },
    nowMs: now,
    noise: () => noise.join("\n"),
    times: () => ({
      beganMs,
      ...defined({ openedMs, heardMs, listedMs }),
    }),
  };
}

/** Passes everything on to whoever else watches. */
function watching(other: WireTrace | undefined, see: (entry: WireEntry) => void): WireTrace {
  let connections = 0;
  let questions = 0;
  return {
    record: (entry) => {
      see(entry);
      other?.record(entry);
    },
    hide: (values) => other?.hide(values),
    nextConnection: () => other?.nextConnection() ?? ++connections,
    nextQuestion: () => other?.nextQuestion() ?? ++questions,
    modelFetch: (fetch) => other?.modelFetch(fetch) ?? fetch,
    within: (session, run) => (other ? other.within(session, run) : run()),
  };
}
