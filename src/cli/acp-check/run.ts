// Runs the checks against one agent: looks at what it claims, rules out what it need not do, then one check after the other.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../base/errors.js";
import { acpSchemaValidator } from "../../testing/index.js";
import { type Introduction, isClaimed, problemOf, readIntroduction } from "./agent.js";
import { Bench, type RunContext } from "./bench.js";
import { type Check, CheckFailure, type CheckResult } from "./check.js";
import { CHECKS } from "./checks/index.js";
import { agentEnvironment, fillIn } from "./environment.js";
import { wordOf } from "./fields.js";
import { ModelServer } from "./model/server.js";
import { CheckedSession } from "./session.js";

/** The command is started in this process's directory: relative words of it hold there. Its sessions are elsewhere. */
export interface RunOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Ids of the checks to run. */
  readonly ids: readonly string[];
  readonly answerMs: number;
  readonly env: readonly (readonly [string, string])[];
  readonly keepsHome: boolean;
  readonly authMethod: string | undefined;
}

interface Watch {
  /** Ends the run after the check under way, which is cut short; nothing it started is left. */
  readonly signal: AbortSignal;
  onIntroduced(agent: Introduction, model: ModelUse): void;
  onResult(result: CheckResult): void;
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
export async function runChecks(options: RunOptions, watch: Watch): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "acp-check-"));
  await using model = await ModelServer.open();
  try {
    const context = await openContext(options, model, folder);
    const probed = await probe(context);
    watch.onIntroduced(probed.agent, probed.model);
    const results: CheckResult[] = [];
    for (const check of CHECKS.filter(({ id }) => options.ids.includes(id))) {
      const result = await runCheck(check, context, { ...probed, signal: watch.signal });
      if (watch.signal.aborted) break; // cut short, it says nothing about the agent
      watch.onResult(result);
      results.push(result);
    }
    return { ...probed, results };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function openContext(options: RunOptions, model: ModelServer, folder: string): Promise<RunContext> {
  const { command, args, answerMs, authMethod, keepsHome } = options;
  const home = join(folder, "home");
  mkdirSync(home);
  const env = agentEnvironment({ own: process.env, model, extra: options.env, home: keepsHome ? undefined : home });
  const run = Math.random().toString(36).slice(2, 5).padEnd(3, "0");
  let count = 0;
  return {
    command: { command, args: args.map((word) => fillIn(word, model)), env, cwd: process.cwd() },
    validate: await acpSchemaValidator({ unstable: true }),
    model,
    answerMs,
    authMethod,
    folder,
    // Of one length, so that none is the beginning of another.
    word: (prefix) => `${prefix}${run}${String((count += 1)).padStart(4, "0")}`,
    started: [],
  };
}

async function probe(context: RunContext): Promise<Omit<Report, "results">> {
  await using bench = new Bench(context, readIntroduction({}), false);
  const running = bench.launch();
  const agent = await running.initialize();
  const opened = await running.ask("session/new", running.newSessionParams([]));
  if (!opened.ok) {
    const hint = "give it what it needs by --env NAME=VALUE, --auth-method ID or --keep-home";
    throw new CheckFailure(`the agent opens no session, not even without servers: ${problemOf(opened)}; ${hint}`);
  }
  const session = new CheckedSession(bench, running, wordOf(opened.result["sessionId"]), opened);
  return { agent, model: await probeModel(session) };
}

async function probeModel(session: CheckedSession): Promise<ModelUse> {
  try {
    const { requestCount, format, stopReason } = await session.turn([]);
    if (requestCount > 0) return { isUsed: true, format };
    return { isUsed: false, why: `a prompt ended with ${stopReason}, and the model was not asked` };
  } catch (error) {
    return { isUsed: false, why: messageOf(error) };
  }
}

function whyNot({ needs = [], ruledOut, needsModel }: Check, agent: Introduction, model: ModelUse): string | undefined {
  const unclaimed = needs.find((claim) => !isClaimed(claim, agent));
  if (unclaimed !== undefined) return `${unclaimed} is not claimed`;
  return ruledOut?.(agent) ?? (needsModel && !model.isUsed ? `no model: ${model.why}` : undefined);
}

async function runCheck(
  check: (typeof CHECKS)[number],
  context: RunContext,
  { agent, model, signal }: Omit<Report, "results"> & Pick<Watch, "signal">,
): Promise<CheckResult> {
  const { id, title, why } = check;
  const reason = whyNot(check, agent, model);
  if (reason !== undefined) return { id, title, why, status: "skip", evidence: reason, ms: 0 };
  const before = performance.now();
  const done = (status: "pass" | "fail", evidence: string): CheckResult => ({
    ...{ id, title, why, status, evidence },
    ms: Math.round(performance.now() - before),
  });
  try {
    await using bench = new Bench(context, agent, model.isUsed);
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
