// `tenon mcp call`: one call of one tool, by the person's own word, with its answer as it came.
import { resolve } from "node:path";
import { TenonError } from "../../../base/errors.js";
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import type { World } from "../../../base/ports/world.js";
import type { ContentBlock, SpilledBlock } from "../../../base/text/content.js";
import { nearest } from "../../../base/text/nearest.js";
import { type EffectiveConfig, type ReadyServer, sourceSettings, whyNotReady } from "../../../config/index.js";
import {
  type CallOutcome,
  checkAgainstSchema,
  type McpTool,
  type ServerConnection,
  shortName,
} from "../../../mcp/index.js";
import { whyFiltered } from "../../../tools/index.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, report, warn } from "../../context.js";
import { EXIT, stoppable } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { type Progress, progress } from "../../terminal/screen.js";
import { isTerminal } from "../../terminal/stream.js";
import { visible, visibleJson, visibleLine } from "../../terminal/text.js";
import { readPiped } from "../secret/secret.js";
import { readArguments } from "./call-arguments.js";
import { liveConfig, redactedError, secondsToMs, serverNamed, withServer } from "./inspect.js";
import { nextForUnused, shellWord } from "./next-steps.js";
import { ruleAgainst } from "./why.js";

type CallValues = Values<"json", "input" | "timeout">;

export const runCall: Run<CallValues> = async ({ values, words }, context) => {
  const [name = "", toolName = "", ...pairs] = words;
  if (values.input !== undefined && pairs.length > 0) throw misused("give key=value words or --input, not both");
  const timeoutMs = secondsToMs(values.timeout);
  const input = values.input === undefined ? undefined : await readInput(values.input, context);
  const config = await liveConfig(context);
  const server = serverNamed(config, name);
  if (server.status !== "ready") {
    const next = nextForUnused(server).join(", or ");
    throw refused(`${name} is not used: ${whyNotReady(server) ?? server.status}`, `Next: ${next}`);
  }
  using shown = progress(context, `Connecting to ${name}…`);
  const outcome = await stoppable((signal) =>
    withServer(server, { config, context }, { timeoutMs, signal }, async ({ connection, inspection, redact }) => {
      const { error } = inspection;
      if (error || !connection) throw error ?? new TenonError("mcp.not_ready", `${name} is not connected`);
      const tool = toolNamed(connection, server, toolName);
      const args = input ?? readArguments(pairs, tool.inputSchema);
      const fit = await checkAgainstSchema(tool.inputSchema, args, context.world);
      if (fit.kind === "misfit") {
        const message = `these arguments do not fit ${tool.name}: ${fit.problems.join("; ")}`;
        throw new TenonError("tool.invalid_arguments", message, { hint: "tenon mcp tools --json shows its schema." });
      }
      const hidden = keptFromModels(tool, server, config);
      if (hidden !== undefined) warn(context, hidden);
      context.errorOutput.write(`${context.palette.dim(`${name} ${toolName} ${visibleJson(JSON.stringify(args))}`)}\n`);
      const deadlineMs = values.timeout === undefined ? undefined : timeoutMs;
      const called = await callOnce({ connection, tool, args, deadlineMs, signal, shown }, context);
      // Only on a terminal may a result be too long to be printed.
      const withData = values.json === true;
      const isWhole = withData || !isTerminal(context.output);
      const whole = isWhole ? await wholeAnswer(called, context.world.files, { withData }) : called;
      if (whole.kind !== "failed" && whole.kind !== "unknown") return whole;
      // Errors quote the server's stderr; a tool's result was asked for, and stays as it is.
      return { ...whole, error: redactedError(whole.error, redact) };
    }),
  );
  report(context, values.json, answerJson(outcome), answerLines(outcome));
  if (!values.json && isTerminal(context.output) && isCut(outcome)) {
    warn(context, "the answer is cut: with --json, or sent into a file or a pipe, all of it is printed");
  }
  return outcome.kind === "answered" && !outcome.isError ? EXIT.done : EXIT.failed;
};

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
  const tooLong = () => misused("what is piped in is longer than any arguments");
  return await readPiped(process.stdin, CLI_LIMITS.callInputBytes, tooLong);
}

// The answer of a tool, for people and for programs.

function answerLines(outcome: CallOutcome): readonly string[] {
  switch (outcome.kind) {
    case "answered": {
      const { content, structured, warnings = [] } = outcome;
      const isSaid = content.length > 0;
      return [
        ...content.map(blockText),
        ...(structured === undefined || isSaid ? [] : [visibleJson(JSON.stringify(structured, undefined, 2))]),
        ...warnings.map((text) => `! ${visible(text)}`),
        ...(outcome.isError ? ["The tool answered with an error."] : []),
      ];
    }
    case "cancelled":
      return ["Cancelled."];
    case "failed":
      return [`Failed: ${visible(outcome.error.message)}`, `  ${visible(outcome.error.hint)}`];
    case "unknown":
      return [`Nobody knows whether it took effect: ${visible(outcome.error.message)}`];
    default:
      return unreachable(outcome);
  }
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return visible(block.text);
    case "image":
    case "audio":
      return `[${block.type} ${visible(block.mimeType)}, ${Math.floor((block.data.length * 3) / 4)} bytes]`;
    case "resource":
      return block.text === undefined ? `[resource ${visible(block.uri)}]` : visible(block.text);
    case "resource_link":
      return `[${visible(block.name)}: ${visible(block.uri)}]`;
    case "spilled":
      return `[${block.kind} of ${block.bytes} bytes] ${visible(block.preview)}`;
    case "unknown":
      return "[a block of a kind that is not known]";
    default:
      return unreachable(block);
  }
}

/** A file that goes with the connection is of no use to anybody afterwards. */
function blockJson(block: ContentBlock): JsonObject {
  if (block.type !== "spilled") return { ...block };
  const { path: _path, ...rest } = block;
  return rest;
}

function answerJson(outcome: CallOutcome): JsonObject {
  switch (outcome.kind) {
    case "answered": {
      const { content, structured, warnings, isError } = outcome;
      return {
        outcome: isError ? "error" : "done",
        content: content.map(blockJson),
        ...defined({ structured, warnings }),
      };
    }
    case "cancelled":
      return { outcome: "cancelled" };
    case "failed":
    case "unknown": {
      const { code, message, hint } = outcome.error;
      return { outcome: outcome.kind, error: { code, message, hint } };
    }
    default:
      return unreachable(outcome);
  }
}

// An answer that was too long for memory, put together again from the files it came in: before those go with the connection.

type Files = World["files"];

/** `withData`: images, audio and blobs too, which nobody reads as text. */
export async function wholeAnswer(
  outcome: CallOutcome,
  files: Files,
  { withData }: { readonly withData: boolean },
): Promise<CallOutcome> {
  if (outcome.kind !== "answered") return outcome;
  const content: ContentBlock[] = [];
  let { structured } = outcome;
  for (const block of outcome.content) {
    if (block.type !== "spilled") content.push(block);
    else if (block.kind === "structured") structured = await structuredOf(block, files);
    else content.push(await blockOf(block, files, withData));
  }
  return { ...outcome, content, ...defined({ structured }) };
}

export function isCut(outcome: CallOutcome): boolean {
  return outcome.kind === "answered" && outcome.content.some(({ type }) => type === "spilled");
}

/** The server's own JSON; what is none after all is still what it sent. */
async function structuredOf({ path }: SpilledBlock, files: Files): Promise<JsonValue> {
  const text = await files.readText(path);
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : text;
}

async function blockOf(block: SpilledBlock, files: Files, withData: boolean): Promise<ContentBlock> {
  const { kind, path, preview, mimeType, uri = "" } = block;
  const isText = kind === "text" || (kind === "resource" && preview !== "");
  if (!isText && !withData) return block;
  const typed = mimeType === undefined ? {} : { mimeType };
  if (isText) {
    const text = await files.readText(path);
    return kind === "text" ? { type: "text", text } : { type: "resource", uri, text, ...typed };
  }
  const data = Buffer.from(await files.readBytes(path, { start: 0, length: block.bytes })).toString("base64");
  if (kind === "resource") return { type: "resource", uri, blob: data, ...typed };
  return { type: kind === "audio" ? "audio" : "image", data, mimeType: mimeType ?? "application/octet-stream" };
}

// The tool a person names by its server's own name: the one there is, or why there is none, and what models get of it.

type NamingSettings = Pick<ReadyServer["settings"], "prefix" | "shapes">;

/** Throws `tool.unknown` with the reason. */
export function toolNamed(
  { tools, leftOut }: Pick<ServerConnection, "tools" | "leftOut">,
  { name, settings }: { readonly name: string; readonly settings: NamingSettings },
  wanted: string,
): McpTool {
  const found = tools.value.find((tool) => tool.name === wanted);
  if (found) return found;
  const quoted = JSON.stringify(wanted);
  const reason = leftOut.find((one) => one.name === shortName(wanted))?.reason;
  if (reason !== undefined) {
    const hint = `See tenon mcp test ${shellWord(name)}. Its server has to be put right.`;
    throw new TenonError("tool.unknown", `the tool ${quoted} of ${name} is left out of its list: ${reason}`, { hint });
  }
  const { prefix = "", shapes } = settings;
  const own = tools.value.find((tool) => (shapes[tool.name]?.name ?? `${prefix}${tool.name}`) === wanted)?.name;
  if (own !== undefined) {
    const hint = `tenon mcp call ${shellWord(name)} ${shellWord(own)}`;
    throw new TenonError("tool.unknown", `${name} has no tool ${quoted}: models call its ${own} so`, { hint });
  }
  const names = tools.value.map((tool) => tool.name);
  const near = nearest(wanted, names);
  const meant = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
  const hint = `See tenon mcp tools ${shellWord(name)}.`;
  throw new TenonError("tool.unknown", `${name} has no tool ${quoted}${meant}`, { hint });
}

/** Why no model is offered it, or may call it, here: the person's own call is made all the same. */
function keptFromModels(tool: McpTool, server: ReadyServer, config: EffectiveConfig): string | undefined {
  const filtered = whyFiltered(sourceSettings(server.settings), tool.name);
  if (filtered !== undefined) return `models are not offered ${tool.name}: ${filtered}`;
  const { name, annotations } = tool;
  const about = {
    origin: server.settings.origin,
    source: server.name,
    definition: { name, ...defined({ annotations }) },
  };
  const rule = ruleAgainst(about, server, config);
  return rule === undefined ? undefined : `models may not call ${tool.name}: ${rule}`;
}
