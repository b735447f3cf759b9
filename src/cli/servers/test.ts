// `tenon mcp test`: connects to one server and shows every step, or which one failed, why, and what to do next.

import type { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { type EffectiveServer, placeText, type ReadyServer, whyNotReady } from "../../config/index.js";
import { type CommandContext, print, printJson } from "../configuration/context.js";
import { targetOf } from "../configuration/server-report.js";
import { EXIT } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import { stoppable } from "../stoppable.js";
import type { Given } from "../table/command.js";
import { exitCodeOf } from "../table/run.js";
import { progress } from "../terminal/progress.js";
import { liveConfig, secondsToMs, serverNamed, visit } from "./connect.js";
import { lookAt } from "./look.js";
import { cured, type Failure, nextFor, nextForStanding } from "./next.js";
import { heardOutput } from "./output-files.js";
import { type StepTimes, timedWorld } from "./steps.js";
import { type ConnectStep, resultJson, resultLines, type TestResult } from "./test-report.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly timeout?: string | undefined;
}

export async function runTest({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
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
