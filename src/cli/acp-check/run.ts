// Runs the checks against one agent: looks at what it claims, rules out what it need not do, then one check after the other.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../base/errors.js";
import { acpSchemaValidator } from "../../testing/index.js";
import { type Introduction, problemOf, type RunningAgent } from "./agent.js";
import type { RunArguments } from "./arguments.js";
import { Bench, type RunContext } from "./bench.js";
import { type Check, CheckFailure, type CheckResult } from "./check.js";
import { CHECKS } from "./checks/index.js";
import { agentEnvironment, fillIn } from "./environment.js";
import { wordOf } from "./fields.js";
import { ModelServer } from "./model/server.js";

export interface RunOptions extends RunArguments {
  /** Where the agent is started: relative words of its command hold there. Its sessions are elsewhere. */
  readonly cwd: string;
  readonly ownEnv: Readonly<Record<string, string | undefined>>;
  readonly serverCommand: RunContext["serverCommand"];
  /** Ends the run after the check under way, which is cut short; nothing it started is left. */
  readonly signal: AbortSignal;
  onIntroduced?(agent: Introduction, model: ModelUse): void;
  onResult?(result: CheckResult): void;
}

/** Whether the agent asks the model that is brought along, and if not, what it did instead. */
export type ModelUse =
  | { readonly isUsed: true; readonly format: string }
  | { readonly isUsed: false; readonly why: string };

export interface Report {
  readonly agent: Introduction;
  readonly model: ModelUse;
  readonly results: readonly CheckResult[];
}

/** Rejects with `CheckFailure` when the agent cannot even open a session without servers. */
export async function runChecks(options: RunOptions): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "acp-check-"));
  await using model = await ModelServer.open();
  try {
    const context = await openContext(options, model, folder);
    const { agent, use } = await probe(context);
    options.onIntroduced?.(agent, use);
    const results: CheckResult[] = [];
    for (const check of CHECKS.filter(({ id }) => options.ids.includes(id))) {
      const result = await runCheck(check, context, { agent, use, signal: options.signal });
      if (options.signal.aborted) break; // cut short, it says nothing about the agent
      options.onResult?.(result);
      results.push(result);
    }
    return { agent, model: use, results };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function openContext(options: RunOptions, model: ModelServer, folder: string): Promise<RunContext> {
  const home = join(folder, "home");
  mkdirSync(home);
  const env = agentEnvironment({
    own: options.ownEnv,
    model,
    extra: options.env,
    home: options.keepsHome ? undefined : home,
  });
  const run = Math.random().toString(36).slice(2, 5).padEnd(3, "0");
  let count = 0;
  return {
    command: { command: options.command, args: options.args.map((word) => fillIn(word, model)), env, cwd: options.cwd },
    validate: await acpSchemaValidator({ unstable: true }),
    model,
    answerMs: options.answerMs,
    authMethod: options.authMethod,
    serverCommand: options.serverCommand,
    folder,
    // Of one length, so that none is the beginning of another.
    word: (prefix) => `${prefix}${run}${String((count += 1)).padStart(4, "0")}`,
    started: [],
  };
}

const UNKNOWN: Introduction = {
  protocolVersion: 0,
  name: "",
  version: "",
  mayLoad: false,
  mayResume: false,
  mayFork: false,
  mayClose: false,
  kinds: [],
  authMethods: [],
};

async function probe(context: RunContext): Promise<{ readonly agent: Introduction; readonly use: ModelUse }> {
  await using bench = new Bench(context, UNKNOWN, false);
  const running = bench.launch();
  const agent = await running.initialize();
  const opened = await running.ask("session/new", running.newSessionParams([]));
  if (!opened.ok) {
    const hint = "give it what it needs by --env NAME=VALUE, --auth-method ID or --keep-home";
    throw new CheckFailure(`the agent opens no session, not even without servers: ${problemOf(opened)}; ${hint}`);
  }
  const sessionId = wordOf(opened.result["sessionId"]);
  return { agent, use: await probeModel(bench, running, sessionId) };
}

async function probeModel(bench: Bench, agent: RunningAgent, sessionId: string): Promise<ModelUse> {
  try {
    const { requestCount, format, stopReason } = await bench.turn(agent, sessionId, []);
    if (requestCount > 0) return { isUsed: true, format };
    return { isUsed: false, why: `a prompt ended with ${stopReason}, and the model was not asked` };
  } catch (error) {
    return { isUsed: false, why: messageOf(error) };
  }
}

interface Known {
  readonly agent: Introduction;
  readonly use: ModelUse;
  readonly signal: AbortSignal;
}

async function runCheck(check: Check, context: RunContext, { agent, use, signal }: Known): Promise<CheckResult> {
  const { id, title, why } = check;
  const reason = check.ruledOut?.(agent) ?? (check.needsModel && !use.isUsed ? `no model: ${use.why}` : undefined);
  if (reason !== undefined) return { id, title, why, status: "skip", evidence: reason, ms: 0 };
  const before = performance.now();
  const done = (status: "pass" | "fail", evidence: string): CheckResult => ({
    ...{ id, title, why, status, evidence },
    ms: Math.round(performance.now() - before),
  });
  try {
    await using bench = new Bench(context, agent, use.isUsed);
    const cutShort = () => bench.endAgents(); // without its agent a check ends at once
    signal.addEventListener("abort", cutShort);
    try {
      return done("pass", await check.run(bench));
    } finally {
      signal.removeEventListener("abort", cutShort);
    }
  } catch (error) {
    return done("fail", error instanceof CheckFailure ? error.message : `the check broke: ${messageOf(error)}`);
  }
}
