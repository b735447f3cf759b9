// `tenon mcp test`: connects to one server and shows every step, or which one failed, why, and what to do next.
import type { ErrorCode } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject } from "../../../base/json/json.js";
import type { WireEntry, WireTrace } from "../../../base/ports/trace.js";
import type { World } from "../../../base/ports/world.js";
import { placeText, type ReadyServer, whyNotReady } from "../../../config/index.js";
import { PACKAGE_FETCH } from "../../../mcp/index.js";
import type { Run, Values } from "../../command.js";
import { type CommandContext, report } from "../../context.js";
import { EXIT, exitCodeOf, stoppable } from "../../exit.js";
import { heardOutput } from "../../server-output.js";
import { progress } from "../../terminal/screen.js";
import { formatElapsed } from "../../terminal/stream.js";
import { clipToWidth, visible, visibleLine, wrapText } from "../../terminal/text.js";
import { targetOf } from "./configured.js";
import { liveConfig, secondsToMs, serverNamed, startingText, withServer } from "./inspect.js";
import { hintFor, nextFor, nextForUnused } from "./next-steps.js";

interface ConnectStep {
  readonly step: "configuration" | "download" | "start" | "reach" | "log-in" | "handshake" | "tools";
  readonly done: boolean;
  readonly ms?: number;
}

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
}

export const runTest: Run<Values<"json", "timeout">> = async ({ values, words: [name = ""] }, context) => {
  const timeoutMs = secondsToMs(values.timeout);
  const result = await stoppable((signal) => testServer(name, timeoutMs, signal, context));
  report(context, values.json, result, resultLines(result, context));
  const { error } = result;
  return error ? Math.max(EXIT.failed, exitCodeOf(error.code)) : EXIT.done;
};

type TestResult = Awaited<ReturnType<typeof testServer>>;

/** What programs get, and what the lines for people are made from. Rejects when there is no such server. */
async function testServer(name: string, timeoutMs: number, signal: AbortSignal, context: CommandContext) {
  const config = await liveConfig(context);
  const server = serverNamed(config, name);
  using _shown = progress(context, `${name}: ${startingText(server)}…`);
  const source = `${server.place.layer} ${placeText(server.place)}`.trim();
  const about = { server: name, source, target: targetOf(server.written) };
  if (server.status !== "ready") {
    const steps: readonly ConnectStep[] = [{ step: "configuration", done: false }];
    const error: Failure = { code: "config.invalid", message: whyNotReady(server) ?? server.status, hint: "" };
    return { ...about, ...outcomeOf(steps, error, nextForUnused(server, context.world.env)) };
  }
  const timed = timedWorld(context.world);
  const heard = heardOutput(context.world);
  const options = { timeoutMs, signal, world: timed.world, output: heard.output };
  return await withServer(server, { config, context }, options, async ({ connection, inspection, isLate, redact }) => {
    // A server that stays silent has no error of its own: its stderr, or lines on its stdout, may say why.
    const stderr = isLate ? heard.tail() : "";
    const noise = server.spec.kind === "stdio" ? redact(timed.noise()) : "";
    const said = `${stderr === "" ? "" : `; its stderr ends: ${stderr}`}${noise === "" ? "" : `; on its stdout, which is for messages only: ${noise}`}`;
    const { error: cause, status, tools, tokens, warnings, quarantined } = inspection;
    const error = cause && { code: cause.code, message: `${cause.message}${said}`, hint: hintFor(server, cause) };
    const lastError = error ? undefined : connection?.lastError;
    const { server: identity, era, protocolVersion } = status ?? {};
    return {
      ...about,
      ...outcomeOf(stepsOf(server, timed.times(), error), error, error && nextFor(server, error), {
        identity: identity && { name: identity.name, version: identity.version },
        era,
        protocolVersion,
        sandbox: status?.sandbox?.mode,
        tools: tools.map(({ tool, tokens: cost }) => ({ name: tool.name, tokens: cost })),
        tokens,
        warnings,
        quarantined,
        cameBackFrom: lastError && redact(lastError.message),
      }),
    };
  });
}

interface Found {
  readonly identity: { readonly name: string; readonly version: string } | undefined;
  readonly era: string | undefined;
  /** Undefined: it runs without one. */
  readonly sandbox: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly tools: readonly { readonly name: string; readonly tokens: number }[];
  readonly tokens: number;
  readonly warnings: readonly string[];
  readonly quarantined: readonly string[];
  /** Why an attempt before the successful one failed. */
  readonly cameBackFrom: string | undefined;
}

/** `next` are commands to run. */
function outcomeOf(
  steps: readonly ConnectStep[],
  error: Failure | undefined,
  next: readonly string[] | undefined,
  found?: Found,
) {
  const step = steps.find(({ done }) => !done)?.step;
  const failure = error && { ...defined({ step }), code: error.code, message: error.message };
  const hint = error?.hint || undefined;
  return {
    works: error === undefined,
    steps,
    ...defined({ ...found }),
    ...defined({ error: failure && { ...failure, ...defined({ hint }) }, next }),
  };
}

/** Up to the step that failed. A remote server has nothing to start: the first request reaches it or does not. */
function stepsOf({ spec }: ReadyServer, times: StepTimes, error: Failure | undefined): readonly ConnectStep[] {
  const { beganMs, fetch, openedMs, heardMs, listedMs, endMs } = times;
  const isLocal = spec.kind === "stdio";
  const wantsLogin = error?.code === "mcp.unauthorized" && !isLocal;
  const openMs = isLocal ? (error?.code === "mcp.spawn_failed" ? undefined : openedMs) : (heardMs ?? openedMs);
  const reachedMs = isLocal || heardMs !== undefined || wantsLogin ? openMs : undefined;
  const marks: readonly (readonly [ConnectStep["step"], number, number | undefined])[] = [
    ...(fetch ? [["download", fetch.beganMs, fetch.doneMs] as const] : []),
    [isLocal ? "start" : "reach", fetch?.doneMs ?? beganMs, reachedMs],
    [wantsLogin ? "log-in" : "handshake", reachedMs ?? beganMs, listedMs],
    ["tools", listedMs ?? beganMs, error ? undefined : endMs],
  ];
  const steps: ConnectStep[] = [{ step: "configuration", done: true }];
  for (const [step, fromMs, toMs] of marks) {
    // A server without tools is never asked for them.
    const doneMs = toMs ?? (error ? undefined : endMs);
    steps.push({ step, done: doneMs !== undefined, ms: Math.round(Math.max(0, (doneMs ?? endMs) - fromMs)) });
    if (doneMs === undefined) break;
  }
  return steps;
}

const STEP_COLUMNS = 15;

function resultLines(result: TestResult, { palette, columns }: CommandContext): readonly string[] {
  const { error, steps, target, cameBackFrom, warnings = [], quarantined = [], next = [] } = result;
  const totalMs = steps.reduce((sum, { ms = 0 }) => sum + ms, 0);
  const left = quarantined.length === 0 ? "" : `; ${quarantined.length} quarantined`;
  const margin = " ".repeat(10);
  const wrapped = (text: string) => wrapText(text, Math.max(30, columns - margin.length));
  // The server, the step, the cause, the hint, the next command: in this order, each with its name.
  const rows: readonly (readonly [string, readonly string[]])[] = error
    ? [
        ["server", [visibleLine(result.server)]],
        ["step", [error.step ?? "tools"]],
        [
          "cause",
          visible(error.message)
            .split("\n")
            .flatMap((line) => wrapped(line.trimEnd())),
        ],
        ...(error.hint ? [["hint", wrapped(visibleLine(error.hint))] as const] : []),
        ["next", next],
      ]
    : [];
  return [
    palette.bold(visibleLine(result.server)) + palette.dim(`  ${visibleLine(result.source)}`),
    ...(target === "" ? [] : [palette.dim(clipToWidth(`  ${visibleLine(target)}`, columns))]),
    ...steps.map(({ step, done, ms }) => {
      const sign = done ? palette.green("✓") : palette.red("✗");
      const time = ms === undefined ? "" : palette.dim(`  ${formatElapsed(ms)}`);
      return `${sign} ${step.padEnd(STEP_COLUMNS)}${done ? foundText(step, result) : `failed${sandboxText(step, result)}`}${time}`;
    }),
    ...warnings.map((text) => palette.yellow(`! ${visibleLine(text)}`)),
    ...quarantined.map((text) => palette.yellow(`! quarantined: ${visibleLine(text)}`)),
    ...(cameBackFrom === undefined ? [] : [palette.yellow(`! first: ${visibleLine(cameBackFrom)}`)]),
    error
      ? palette.red("It does not work.")
      : `${palette.green("It works.")} Ready after ${formatElapsed(totalMs)}${left}.`,
    ...rows.flatMap(([label, [first = "", ...more]]) => [
      `  ${label.padEnd(margin.length - 2)}${first}`,
      ...more.map((line) => margin + line),
    ]),
  ];
}

function foundText(
  step: ConnectStep["step"],
  { identity, protocolVersion, tools = [], tokens = 0, ...result }: TestResult,
) {
  const who =
    identity && `${visibleLine(`${identity.name} ${identity.version}`)}, MCP ${visibleLine(protocolVersion ?? "")}`;
  const texts: Readonly<Record<ConnectStep["step"], string>> = {
    configuration: "ready",
    download: "the package is here",
    start: `the process runs${sandboxText(step, result)}`,
    reach: "it answers",
    "log-in": "accepted",
    handshake: who?.trim() ?? "agreed",
    tools: `${tools.length} ${tools.length === 1 ? "tool" : "tools"}, about ${tokens} tokens`,
  };
  return texts[step];
}

function sandboxText(step: ConnectStep["step"], { sandbox }: Pick<TestResult, "sandbox">): string {
  return sandbox === undefined || step === "configuration" || step === "download" ? "" : ` in a sandbox (${sandbox})`;
}

interface StepTimes {
  readonly beganMs: number;
  /** A package had to be downloaded first, which a sandbox keeps apart from the start. */
  readonly fetch?: { readonly beganMs: number; readonly doneMs?: number };
  /** A process was started, or a request went out. */
  readonly openedMs?: number;
  /** The first message of the server came. */
  readonly heardMs?: number;
  /** Its tools were asked for, which happens once the two sides agree on a version. */
  readonly listedMs?: number;
  readonly endMs: number;
}

/** More lines tell no more. */
const NOISE_LINES = 3;

/** A World that notes when each step of connecting is seen in the trace, and changes nothing else. */
function timedWorld(world: World) {
  const beganMs = world.monotonicMs();
  let openedMs: number | undefined;
  let heardMs: number | undefined;
  let listedMs: number | undefined;
  let fetch: StepTimes["fetch"];
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
  const log: World["log"] = {
    ...world.log,
    info: (event, fields) => {
      if (event === PACKAGE_FETCH.begun) fetch ??= { beganMs: now() };
      else if (event === PACKAGE_FETCH.done && fetch) fetch = { beganMs: fetch.beganMs, doneMs: now() };
      world.log.info(event, fields);
    },
  };
  return {
    world: { ...world, log, trace: observedTrace(world.trace, observe) },
    /** The first lines that came where only messages may; empty where there were none. */
    noise: () => noise.join("\n"),
    times: (): StepTimes => ({ beganMs, ...defined({ fetch, openedMs, heardMs, listedMs }), endMs: now() }),
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
