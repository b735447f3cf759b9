// `tenon acp-check`: how an ACP agent, any, treats the MCP servers its client hands over.

import { messageOf } from "../../base/errors.js";
import { unreachable } from "../../base/id.js";
import { serveBehaviourFile } from "../../testing/index.js";
import { type AcpCheckArguments, parseAcpCheckArguments } from "../acp-check/arguments.js";
import { CheckFailure } from "../acp-check/check.js";
import { CHECKS } from "../acp-check/checks/index.js";
import { endLines, headLines, listLines, type Paper, resultLine } from "../acp-check/report.js";
import { runChecks } from "../acp-check/run.js";
import { type Given, misused } from "../command.js";
import { EXIT, onStopSignals } from "../exit.js";
import { columnsOf, createPalette, mayColor } from "../terminal/stream.js";
import { visible } from "../terminal/text.js";

export async function runAcpCheckCommand({ raw }: Given<object>): Promise<number> {
  const parsed = parseAcpCheckArguments(raw);
  if (!parsed.ok) throw misused(parsed.reason);
  const { options } = parsed;
  switch (options.verb) {
    case "server":
      serveBehaviourFile(options.script);
      return EXIT.done;
    case "list":
      list(options.json);
      return EXIT.done;
    case "run":
      return await run(options);
    default:
      return unreachable(options);
  }
}

function list(isJson: boolean): void {
  const checks = CHECKS.map(({ id, title, why }) => ({ id, title, why }));
  if (isJson) process.stdout.write(`${JSON.stringify({ checks }, undefined, 2)}\n`);
  else print(listLines(paper()));
}

async function run(options: Extract<AcpCheckArguments, { verb: "run" }>): Promise<number> {
  const onPaper = paper();
  const tell = (lines: readonly string[]) => {
    if (!options.json) print(lines);
  };
  const stop = new AbortController();
  onStopSignals(() => stop.abort());
  try {
    const report = await runChecks({
      ...options,
      cwd: process.cwd(),
      signal: stop.signal,
      ownEnv: process.env,
      serverCommand: { command: process.execPath, args: [ownProgram(), "acp-check", "--server"] },
      onIntroduced: (agent, model) => tell(headLines(agent, model, onPaper)),
      onResult: (result) => tell([resultLine(result, onPaper)]),
    });
    tell(endLines(report.results, onPaper));
    const isFailed = report.results.some(({ status }) => status === "fail");
    if (options.json) {
      const command = [options.command, ...options.args];
      process.stdout.write(`${JSON.stringify({ command, ...report }, undefined, 2)}\n`);
    }
    if (stop.signal.aborted) return EXIT.interrupted;
    return isFailed ? EXIT.failed : EXIT.done;
  } catch (error) {
    if (!(error instanceof CheckFailure)) throw error;
    if (options.json) process.stdout.write(`${JSON.stringify({ error: messageOf(error) }, undefined, 2)}\n`);
    process.stderr.write(`tenon acp-check: ${visible(messageOf(error))}\n`);
    return EXIT.failed;
  }
}

/** The file this process was started with: started once more, it is the checker's stdio server. */
function ownProgram(): string {
  const [, program] = process.argv;
  if (program === undefined) throw new Error("the program's own path is not known");
  return program;
}

function paper(): Paper {
  return { palette: createPalette(mayColor(process.stdout, process.env)), columns: columnsOf(process.stdout) };
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}
