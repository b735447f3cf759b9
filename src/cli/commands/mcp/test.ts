// `tenon mcp test`: connects to one server and shows every step, or which one failed, why, and what to do next.
import type { ErrorCode } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject } from "../../../base/json/json.js";
import type { WireEntry, WireTrace } from "../../../base/ports/trace.js";
import type { World } from "../../../base/ports/world.js";
import { placeText, type ReadyServer, whyNotReady } from "../../../config/index.js";
import type { Run, Values } from "../../command.js";
import { type CommandContext, print, printJson } from "../../context.js";
import { EXIT, exitCodeOf, stoppable } from "../../exit.js";
import { heardOutput } from "../../server-output.js";
import { progress } from "../../terminal/screen.js";
import { formatElapsed } from "../../terminal/stream.js";
import { clipToWidth, visible, visibleLine, wrapText } from "../../terminal/text.js";
import { type Inspection, liveConfig, secondsToMs, serverNamed, withServer } from "./inspect.js";
import { targetOf } from "./list.js";
import { hintFor, nextFor, nextForUnused } from "./next-steps.js";

interface ConnectStep {
  readonly step: "configuration" | "start" | "reach" | "log-in" | "handshake" | "tools";
  readonly isDone: boolean;
  readonly tookMs?: number;
}

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
}

interface TestResult {
  readonly name: string;
  readonly source: string;
  /** The command or the address, secrets masked. */
  readonly target: string;
  /** Undefined when it was not to be started. */
  readonly inspection?: Inspection;
  readonly steps: readonly ConnectStep[];
  readonly error?: Failure;
  /** Why an attempt before the successful one failed. */
  readonly cameBackFrom?: string;
  /** Commands to run next. */
  readonly next: readonly string[];
  readonly exitCode: number;
}

export const runTest: Run<Values<"json", "timeout">> = async ({ values, words }, context) => {
  const timeoutMs = secondsToMs(values.timeout);
  const result = await stoppable((signal) => testServer(words[0] ?? "", timeoutMs, signal, context));
  if (values.json === true) printJson(context, resultJson(result));
  else print(context, resultLines(result, context));
  return result.exitCode;
};

/** Rejects when there is no such server. */
async function testServer(
  name: string,
  timeoutMs: number,
  signal: AbortSignal,
  context: CommandContext,
): Promise<TestResult> {
  const config = await liveConfig(context);
  using _shown = progress(context, `Connecting to ${name}…`);
  const server = serverNamed(config, name);
  const source = `${server.place.layer} ${placeText(server.place)}`.trim();
  const about = { name, source, target: targetOf(server.written) };
  if (server.status !== "ready") {
    return {
      ...about,
      steps: [{ step: "configuration", isDone: false }],
      error: { code: "config.invalid", message: whyNotReady(server) ?? server.status },
      next: nextForUnused(server),
      exitCode: EXIT.config,
    };
  }
  const timed = timedWorld(context.world);
  const heard = heardOutput(context.world);
  const options = { timeoutMs, signal, world: timed.world, output: heard.output };
  return await withServer(server, { config, context }, options, async ({ connection, inspection, isLate, redact }) => {
    // A server that stays silent has no error of its own: its stderr, or lines on its stdout, may say why.
    const stderr = isLate ? heard.tail() : "";
    const noise = server.spec.kind === "stdio" ? redact(timed.noise()) : "";
    const said = `${stderr === "" ? "" : `; its stderr ends: ${stderr}`}${noise === "" ? "" : `; on its stdout, which is for messages only: ${noise}`}`;
    const cause = inspection.error;
    const error = cause && { code: cause.code, message: `${cause.message}${said}`, hint: hintFor(server, cause) };
    const lastError = error ? undefined : connection?.lastError;
    return {
      ...about,
      inspection,
      steps: stepsOf(server, timed.times(), error),
      ...(error ? { error, next: nextFor(server, error) } : { next: [] }),
      exitCode: error ? Math.max(EXIT.failed, exitCodeOf(error.code)) : EXIT.done,
      ...defined({ cameBackFrom: lastError && redact(lastError.message) }),
    };
  });
}

/** Up to the step that failed. A remote server has nothing to start: the first request reaches it or does not. */
function stepsOf({ spec }: ReadyServer, times: StepTimes, error: Failure | undefined): readonly ConnectStep[] {
  const { beganMs, openedMs, heardMs, listedMs, endMs } = times;
  const isLocal = spec.kind === "stdio";
  const wantsLogin = error?.code === "mcp.unauthorized" && !isLocal;
  const openMs = isLocal ? (error?.code === "mcp.spawn_failed" ? undefined : openedMs) : (heardMs ?? openedMs);
  const reachedMs = isLocal || heardMs !== undefined || wantsLogin ? openMs : undefined;
  const marks: readonly (readonly [ConnectStep["step"], number, number | undefined])[] = [
    [isLocal ? "start" : "reach", beganMs, reachedMs],
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

const STEP_COLUMNS = 15;

function resultLines(result: TestResult, context: CommandContext): readonly string[] {
  const { palette, columns } = context;
  const { inspection, error, steps, target, cameBackFrom } = result;
  const { warnings = [], quarantined = [] } = inspection ?? {};
  const totalMs = steps.reduce((sum, { tookMs = 0 }) => sum + tookMs, 0);
  const left = quarantined.length === 0 ? "" : `; ${quarantined.length} quarantined`;
  return [
    palette.bold(visibleLine(result.name)) + palette.dim(`  ${visibleLine(result.source)}`),
    ...(target === "" ? [] : [palette.dim(clipToWidth(`  ${visibleLine(target)}`, columns))]),
    ...steps.map(({ step, isDone, tookMs }) => {
      const sign = isDone ? palette.green("✓") : palette.red("✗");
      const time = tookMs === undefined ? "" : palette.dim(`  ${formatElapsed(tookMs)}`);
      return `${sign} ${step.padEnd(STEP_COLUMNS)}${isDone ? foundText(step, inspection) : "failed"}${time}`;
    }),
    ...warnings.map((text) => palette.yellow(`! ${visibleLine(text)}`)),
    ...quarantined.map((text) => palette.yellow(`! quarantined: ${visibleLine(text)}`)),
    ...(cameBackFrom === undefined ? [] : [palette.yellow(`! first: ${visibleLine(cameBackFrom)}`)]),
    ...(error
      ? failureLines(result, error, context)
      : [`${palette.green("It works.")} Ready after ${formatElapsed(totalMs)}${left}.`]),
  ];
}

function foundText(step: ConnectStep["step"], inspection: Inspection | undefined): string {
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
      const { server, era, protocolVersion } = inspection?.status ?? {};
      if (!server) return "agreed";
      return `${visibleLine(`${server.name} ${server.version}`)}, ${era ?? ""} ${protocolVersion ?? ""}`.trim();
    }
    case "tools": {
      const { tools = [], tokens = 0 } = inspection ?? {};
      return `${tools.length} ${tools.length === 1 ? "tool" : "tools"}, about ${tokens} tokens`;
    }
  }
}

/** The server, the step, the cause, the hint, the next command: in this order, each with its name. */
function failureLines(
  { name, steps, next }: TestResult,
  error: Failure,
  { palette, columns }: CommandContext,
): readonly string[] {
  const margin = " ".repeat(10);
  const wrapped = (text: string) => wrapText(text, Math.max(30, columns - margin.length));
  const cause = visible(error.message).split("\n");
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["server", [visibleLine(name)]],
    ["step", [failedStep(steps) ?? "tools"]],
    ["cause", cause.flatMap((line) => wrapped(line.trimEnd()))],
    ...(error.hint ? [["hint", wrapped(visibleLine(error.hint))] as const] : []),
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

function failedStep(steps: readonly ConnectStep[]): ConnectStep["step"] | undefined {
  return steps.find(({ isDone }) => !isDone)?.step;
}

function resultJson({ name, source, target, inspection, steps, error, next, cameBackFrom }: TestResult): object {
  const { server, era, protocolVersion } = inspection?.status ?? {};
  return {
    server: name,
    source,
    target,
    works: error === undefined,
    steps: steps.map(({ step, isDone, tookMs }) => {
      return { step, done: isDone, ...defined({ ms: tookMs === undefined ? undefined : Math.round(tookMs) }) };
    }),
    ...defined({
      identity: server && { name: server.name, version: server.version },
      era,
      protocolVersion,
      tools: inspection?.tools.map(({ tool, tokens }) => ({ name: tool.name, tokens })),
      tokens: inspection?.tokens,
      warnings: inspection?.warnings,
      quarantined: inspection?.quarantined,
      cameBackFrom,
      error: error && defined({ step: failedStep(steps), ...error, hint: error.hint || undefined }),
      next: error && next,
    }),
  };
}

interface StepTimes {
  readonly beganMs: number;
  /** A process was started, or a request went out. */
  readonly openedMs?: number;
  /** The first message of the server came. */
  readonly heardMs?: number;
  /** Its tools were asked for, which happens once the two sides agree on a version. */
  readonly listedMs?: number;
  readonly endMs: number;
}

interface TimedWorld {
  readonly world: World;
  times(): StepTimes;
  /** The first lines that came where only messages may; empty where there were none. */
  noise(): string;
}

/** More lines tell no more. */
const NOISE_LINES = 3;

/** A World that notes when each step of connecting is seen in the trace, and changes nothing else. */
function timedWorld(world: World): TimedWorld {
  const beganMs = world.monotonicMs();
  let openedMs: number | undefined;
  let heardMs: number | undefined;
  let listedMs: number | undefined;
  const noise: string[] = [];
  const now = () => world.monotonicMs();
  const observe = ({ channel, dir, message }: WireEntry) => {
    if (channel !== "mcp") return;
    const line = "noise" in message && typeof message.noise === "string" ? message.noise : undefined;
    // A server that ends is started once more, and prints the same again.
    if (line !== undefined && noise.length < NOISE_LINES && !noise.includes(line)) noise.push(line);
    if ("open" in message) openedMs ??= now();
    else if (dir === "in" && "jsonrpc" in message) heardMs ??= now();
    else if (isJsonObject(message) && message["method"] === "tools/list") listedMs ??= now();
  };
  return {
    world: { ...world, trace: observedTrace(world.trace, observe) },
    noise: () => noise.join("\n"),
    times: () => ({ beganMs, ...defined({ openedMs, heardMs, listedMs }), endMs: now() }),
  };
}

function observedTrace(other: WireTrace | undefined, observe: (entry: WireEntry) => void): WireTrace {
  let connections = 0;
  let questions = 0;
  return {
    record: (entry) => {
      observe(entry);
      other?.record(entry);
    },
    hide: (values) => other?.hide(values),
    nextConnection: () => other?.nextConnection() ?? ++connections,
    nextQuestion: () => other?.nextQuestion() ?? ++questions,
    modelFetch: (fetch) => other?.modelFetch(fetch) ?? fetch,
    within: (session, run) => (other ? other.within(session, run) : run()),
  };
}
