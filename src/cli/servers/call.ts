// `tenon mcp call`: one call of one tool, by the person's own word, with its answer as it came.
import { resolve } from "node:path";
import { TenonError } from "../../base/errors.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";
import { whyNotReady } from "../../config/index.js";
import { type CallOutcome, checkAgainstSchema, type McpTool, type ServerConnection } from "../../mcp/index.js";
import { type CommandContext, print, printJson, warn } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import { stoppable } from "../stoppable.js";
import type { Given } from "../table/command.js";
import { misused } from "../table/parse.js";
import { type Progress, progress } from "../terminal/progress.js";
import { isTerminal } from "../terminal/stream.js";
import { visibleJson, visibleLine } from "../terminal/visible.js";
import { readArguments } from "./call-arguments.js";
import { answerJson, answerLines } from "./call-report.js";
import { liveConfig, secondsToMs, serverNamed, visit } from "./connect.js";
import { lookAt } from "./look.js";
import { keptFromModels, toolNamed } from "./named-tool.js";
import { nextForStanding } from "./next.js";
import { isCut, wholeAnswer } from "./whole-answer.js";

interface Values {
  readonly json?: boolean | undefined;
  readonly input?: string | undefined;
  readonly timeout?: string | undefined;
}

export async function runCall({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
  const [name = "", toolName = "", ...pairs] = words;
  if (values.input !== undefined && pairs.length > 0) throw misused("give key=value words or --input, not both");
  const timeoutMs = secondsToMs(values.timeout, CLI_LIMITS.connectMs);
  const input = values.input === undefined ? undefined : await readInput(values.input, context);
  const config = await liveConfig(context);
  const server = serverNamed(config, name);
  if (server.status !== "ready") {
    const next = nextForStanding(server).join(", or ");
    throw new TenonError("config.invalid", `${name} is not used: ${whyNotReady(server) ?? server.status}`, {
      hint: `Next: ${next}`,
    });
  }
  using shown = progress(context, `Connecting to ${name}…`);
  const outcome = await stoppable((signal) =>
    visit(server, { config, context }, { timeoutMs, signal }, async (visited) => {
      const { error } = lookAt(visited, timeoutMs);
      const { connection } = visited.lone;
      if (error || !connection) throw error ?? new TenonError("mcp.not_ready", `${name} is not connected`);
      const tool = toolNamed(connection, server, toolName);
      const args = input ?? readArguments(pairs, tool.inputSchema);
      await checkFit(tool, args, context);
      const hidden = keptFromModels(tool, server, config);
      if (hidden !== undefined) warn(context, hidden);
      context.errorOutput.write(`${context.palette.dim(`${name} ${toolName} ${visibleJson(JSON.stringify(args))}`)}\n`);
      const deadlineMs = values.timeout === undefined ? undefined : timeoutMs;
      const called = await callOnce({ connection, tool, args, deadlineMs, signal, shown }, context);
      const answer = await inFull(called, values, context);
      return withoutSecrets(answer, visited.redact);
    }),
  );
  if (values.json === true) printJson(context, answerJson(outcome));
  else print(context, answerLines(outcome));
  if (values.json !== true && isTerminal(context.output) && isCut(outcome)) {
    warn(context, "the answer is cut: with --json, or sent into a file or a pipe, all of it is printed");
  }
  return outcome.kind === "answered" && !outcome.isError ? EXIT.done : EXIT.failed;
}

async function checkFit(tool: McpTool, args: JsonObject, { world }: CommandContext): Promise<void> {
  const fit = await checkAgainstSchema(tool.inputSchema, args, world);
  if (fit.kind !== "misfit") return;
  throw new TenonError(
    "tool.invalid_arguments",
    `these arguments do not fit ${tool.name}: ${fit.problems.join("; ")}`,
    {
      hint: `tenon mcp tools --json shows its schema.`,
    },
  );
}

interface Call {
  readonly connection: ServerConnection;
  readonly tool: McpTool;
  readonly args: JsonObject;
  readonly deadlineMs: number | undefined;
  readonly signal: AbortSignal;
  readonly shown: Progress;
}

async function callOnce(call: Call, { world }: CommandContext): Promise<CallOutcome> {
  const { connection, tool, args, deadlineMs, signal, shown } = call;
  shown.update(`Calling ${tool.name}…`);
  using deadline = deadlineMs === undefined ? undefined : world.deadline(deadlineMs, signal);
  const outcome = await connection.call(tool.name, args, {
    signal: deadline?.signal ?? signal,
    onProgress: ({ progress: done, total, message }) => {
      const share = total === undefined ? String(done) : `${done}/${total}`;
      shown.update(`Calling ${tool.name}: ${share}${message === undefined ? "" : ` ${visibleLine(message)}`}`);
    },
  });
  if (!deadline?.expired) return outcome;
  const seconds = (deadlineMs ?? 0) / 1_000;
  const error = new TenonError("mcp.call_timeout", `${tool.name} did not answer within ${seconds} s`);
  return { kind: "unknown", error };
}

/** Only on a terminal an answer may be too long to be printed. */
async function inFull(outcome: CallOutcome, { json = false }: Values, context: CommandContext): Promise<CallOutcome> {
  if (!json && isTerminal(context.output)) return outcome;
  return await wholeAnswer(outcome, context.world.files, { withData: json });
}

/** Errors quote the server's stderr; what a tool answers is what was asked for, and stays as it is. */
function withoutSecrets(outcome: CallOutcome, redact: (text: string) => string): CallOutcome {
  if (outcome.kind !== "failed" && outcome.kind !== "unknown") return outcome;
  const { code, message, hint } = outcome.error;
  return { ...outcome, error: new TenonError(code, redact(message), { hint: redact(hint) }) };
}

/** JSON as a word, `@file`, or `-` for what is piped in. */
async function readInput(text: string, context: CommandContext): Promise<JsonObject> {
  const source = text === "-" ? await piped(context) : text.startsWith("@") ? await fileText(text, context) : text;
  const parsed = parseJson(source);
  if (!parsed.ok) throw misused(`--input is no JSON: ${parsed.reason}`);
  if (!isJsonObject(parsed.value)) throw misused("--input must be a JSON object");
  return parsed.value;
}

async function fileText(text: string, { world, cwd }: CommandContext): Promise<string> {
  const path = resolve(cwd, text.slice(1));
  const found = await world.files.find(path);
  if (found?.kind !== "file") throw misused(`there is no file ${path}`);
  if (found.bytes > CLI_LIMITS.callInputBytes) throw misused(`${path} is longer than any arguments`);
  return await world.files.readText(path);
}

async function piped({ readValue }: CommandContext): Promise<string> {
  if (readValue) return (await readValue("")) ?? "";
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > CLI_LIMITS.callInputBytes) throw misused("what is piped in is longer than any arguments");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
