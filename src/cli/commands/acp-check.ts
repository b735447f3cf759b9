// `tenon acp-check`: how an ACP agent, any, treats the MCP servers its client hands over.

import { serveBehaviourFile } from "../../testing/index.js";
import { CheckFailure } from "../acp-check/check.js";
import { CHECKS } from "../acp-check/checks/index.js";
import { endLines, headLines, listLines, resultLine } from "../acp-check/report.js";
import { type RunOptions, runChecks } from "../acp-check/run.js";
import { type Given, misused, type Run, type Values } from "../command.js";
import { type CommandContext, print, printJson, report } from "../context.js";
import { EXIT, onStopSignals } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import { visible } from "../terminal/text.js";

type CheckValues = Values<
  "json" | "list" | "keep-home",
  "server" | "timeout" | "auth-method",
  "only" | "skip" | "env" | "model-env" | "model-flag"
>;

export const runAcpCheckCommand: Run<CheckValues> = async (given, context) => {
  const { server, list, json } = given.values;
  if (server !== undefined) return serveBehaviourFile(server);
  if (!list) return await runAll(runOptions(given), json === true, context);
  const checks = CHECKS.map(({ id, title, why }) => ({ id, title, why }));
  report(context, json, { checks }, listLines(context));
};

async function runAll(options: RunOptions, isJson: boolean, context: CommandContext): Promise<number> {
  const tell = (lines: readonly string[]) => {
    if (!isJson) print(context, lines);
  };
  const stop = new AbortController();
  onStopSignals(() => stop.abort());
  try {
    const { results, ...about } = await runChecks(options, {
      signal: stop.signal,
      onIntroduced: (agent, model) => tell(headLines(agent, model, context)),
      onResult: (result) => tell([resultLine(result, context)]),
    });
    const command = [options.command, ...options.args];
    report(context, isJson, { command, ...about, results }, endLines(results, context));
    if (stop.signal.aborted) return EXIT.interrupted;
    return results.some(({ status }) => status === "fail") ? EXIT.failed : EXIT.done;
  } catch (error) {
    if (!(error instanceof CheckFailure)) throw error;
    if (isJson) printJson(context, { error: error.message });
    context.errorOutput.write(`tenon acp-check: ${visible(error.message)}\n`);
    return EXIT.failed;
  }
}

export function runOptions({ values, after = [] }: Pick<Given<CheckValues>, "values" | "after">): RunOptions {
  const { only = [], skip = [], env = [], timeout, "auth-method": authMethod } = values;
  const { "model-env": modelEnv = [], "model-flag": modelFlag = [] } = values;
  const [command, ...args] = after;
  if (command === undefined) throw misused("say which agent: tenon acp-check [options] -- COMMAND ARGS…");
  return {
    command,
    args: [...args, ...modelFlag],
    ids: chosen(only, skip),
    answerMs: readTimeout(timeout),
    env: [...modelEnv.map((name) => [name, "{url}"] as const), ...env.map(readPair)],
    keepsHome: values["keep-home"] === true,
    authMethod,
  };
}

/** An id, or the group before its point. */
function chosen(only: readonly string[], skip: readonly string[]): readonly string[] {
  const named = (texts: readonly string[]) => new Set(texts.flatMap((text) => text.split(",")).flatMap(idsOf));
  const [wanted, unwanted] = [named(only), named(skip)];
  const ids = CHECKS.map(({ id }) => id).filter((id) => (wanted.size === 0 || wanted.has(id)) && !unwanted.has(id));
  if (ids.length === 0) throw misused("no check is left to run");
  return ids;
}

function idsOf(name: string): readonly string[] {
  const text = name.trim();
  const ids = CHECKS.map(({ id }) => id).filter((id) => id === text || id.startsWith(`${text}.`));
  if (ids.length === 0) throw misused(`there is no check ${JSON.stringify(text)}; tenon acp-check --list shows them`);
  return ids;
}

function readTimeout(text: string | undefined): number {
  if (text === undefined) return CLI_LIMITS.acpCheck.answerMs;
  const count = Number(text);
  if (!(count > 0)) throw misused(`--timeout takes a number of seconds, got ${JSON.stringify(text)}`);
  return count * 1_000;
}

function readPair(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  // The value may be a secret, and this goes to the screen.
  if (at < 1) throw misused("--env takes NAME=VALUE");
  return [text.slice(0, at), text.slice(at + 1)];
}
