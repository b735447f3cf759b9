// `tenon mcp call`: one call of one tool, by the person's own word, with its answer as it came.
import { writeFile } from "node:fs/promises";
import { join, parse, resolve } from "node:path";
import { readAnswer, toElicitation } from "../../../acp/index.js";
import { messageOf, TenonError } from "../../../base/errors.js";
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../base/json/json.js";
import type { World } from "../../../base/ports/world.js";
import { base64Bytes, type ContentBlock, type SpilledBlock } from "../../../base/text/content.js";
import { nearest } from "../../../base/text/nearest.js";
import { type EffectiveConfig, type ReadyServer, sourceSettings, whyNotReady } from "../../../config/index.js";
import {
  type CallOutcome,
  checkAgainstSchema,
  type McpTool,
  type ServerConnection,
  shortName,
} from "../../../mcp/index.js";
import type { SessionPorts } from "../../../session/index.js";
import { whyFiltered } from "../../../tools/index.js";
import { ElicitationPrompter } from "../../chat/elicitation.js";
import { LineReader } from "../../chat/line-reader.js";
import { QuestionQueue } from "../../chat/terminal.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, report, warn } from "../../context.js";
import { EXIT, stoppable } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { type Progress, progress } from "../../terminal/screen.js";
import { createPalette, isTerminal, mayColor, systemClock } from "../../terminal/stream.js";
import { visible, visibleJson, visibleLine } from "../../terminal/text.js";
import { readPiped } from "../secret/secret.js";
import { readArguments, withFileTexts } from "./call-arguments.js";
import { liveConfig, redactedError, secondsToMs, serverNamed, startingText, withServer } from "./inspect.js";
import { nextForUnused, shellWord } from "./next-steps.js";
import { ruleAgainst } from "./why.js";

type CallValues = Values<"json", "input" | "timeout" | "output">;

export const runCall: Run<CallValues> = async ({ values, words }, context) => {
  const wanted = wantedCall(words);
  const input = await inputOf(values.input, wanted.pairs, context);
  const config = await liveConfig(context);
  const server = serverNamed(config, wanted.server);
  if (server.status !== "ready") {
    const next = nextForUnused(server, context.world.env).join(", or ");
    throw refused(`${server.name} is not used: ${whyNotReady(server) ?? server.status}`, `Next: ${next}`);
  }
  const deadlineMs = values.timeout === undefined ? undefined : secondsToMs(values.timeout);
  const isData = values.json === true || values.output !== undefined;
  const pairs = await withFileTexts(wanted.pairs, (path) => fileText(path, context));
  const outcome = await calledTool({ ...wanted, pairs, server, config, input, deadlineMs, isData }, context);
  if (values.output !== undefined && outcome.kind === "answered")
    await saveBlocks(outcome.content, values.output, context);
  report(context, values.json, answerJson(outcome), values.output === undefined ? answerLines(outcome) : []);
  if (!values.json && isTerminal(context.output) && isCut(outcome)) {
    warn(context, "the answer is cut: with --json, -o FILE, or sent into a file or a pipe, all of it is printed");
  } else if (!isData && outcome.kind === "answered" && outcome.content.some((block) => dataOf(block).length > 0)) {
    context.errorOutput.write(`${context.palette.dim("-o FILE keeps the data; --json has it as base64.")}\n`);
  }
  return outcome.kind === "answered" && !outcome.isError ? EXIT.done : EXIT.failed;
};

interface WantedCall {
  readonly server: string;
  readonly tool: string;
  readonly pairs: readonly string[];
}

/** `SERVER TOOL …`, or both in one word as other programs write it: `SERVER/TOOL`, `SERVER.TOOL`. */
function wantedCall([first = "", second, ...rest]: readonly string[]): WantedCall {
  const [, server, tool] = /^([^/.]+)[/.](.+)$/u.exec(first) ?? [];
  const isJoined = server !== undefined && tool !== undefined && (second === undefined || isArgument(second));
  if (isJoined) return { server, tool, pairs: [...(second === undefined ? [] : [second]), ...rest] };
  if (second === undefined) throw misused("TOOL is missing: the server's own name of the tool");
  return { server: first, tool: second, pairs: rest };
}

function isArgument(word: string): boolean {
  return word === "-" || word.startsWith("{") || word.includes("=");
}

/** Undefined where the arguments are `key=value` words. A single `{…}` or `-` stands for --input. */
async function inputOf(
  option: string | undefined,
  pairs: readonly string[],
  context: CommandContext,
): Promise<JsonObject | undefined> {
  const [only = ""] = pairs;
  const isWord = pairs.length === 1 && (only === "-" || only.startsWith("{"));
  if (option !== undefined && pairs.length > 0) throw misused("give key=value words or --input, not both");
  const given = option ?? (isWord ? only : undefined);
  return given === undefined ? undefined : await readInput(given, context);
}

interface CallToMake extends Omit<WantedCall, "server"> {
  readonly server: ReadyServer;
  readonly config: EffectiveConfig;
  readonly input: JsonObject | undefined;
  readonly deadlineMs: number | undefined;
  /** Images, audio and blobs of the answer are wanted too. */
  readonly isData: boolean;
}

/** The spinner is gone when this settles: what is printed then is not mixed with it. */
async function calledTool(wanted: CallToMake, context: CommandContext): Promise<CallOutcome> {
  const { server, config, tool: toolName, pairs, input, deadlineMs, isData } = wanted;
  const { name } = server;
  const { world, palette, errorOutput } = context;
  using shown = progress(context, `${name}: ${startingText(server)}…`);
  // Approvals are for calls of models: nobody is asked for one here.
  const ports = context.ask ? { ask: async () => "no" as const, elicit: askerOf(context, shown) } : undefined;
  const connecting = { timeoutMs: CLI_LIMITS.connectMs, ...defined({ ports: ports && (() => ports) }) };
  return await stoppable((signal) =>
    withServer(server, { config, context }, { ...connecting, signal }, async ({ connection, inspection, redact }) => {
      const { error } = inspection;
      if (error || !connection) throw error ?? new TenonError("mcp.not_ready", `${name} is not connected`);
      const tool = toolNamed(connection, server, toolName);
      const args = input ?? readArguments(pairs, tool.inputSchema);
      const fit = await checkAgainstSchema(tool.inputSchema, args, world);
      if (fit.kind === "misfit") {
        const hint = `tenon mcp tools ${shellWord(name)} ${shellWord(tool.name)} shows what it takes.`;
        const message = `these arguments do not fit ${tool.name}: ${fit.problems.join("; ")}`;
        throw new TenonError("tool.invalid_arguments", message, { hint });
      }
      const hidden = keptFromModels(tool, server, config);
      const line = palette.dim(`${visibleLine(name)} ${visibleLine(toolName)} ${visibleJson(JSON.stringify(args))}`);
      shown.above(() => {
        if (hidden !== undefined) warn(context, hidden);
        errorOutput.write(`${line}\n`);
      });
      const called = await callOnce({ connection, tool, args, deadlineMs, signal, shown }, context);
      // Only on a terminal may a result be too long to be printed.
      const isWhole = isData || !isTerminal(context.output);
      const whole = isWhole ? await wholeAnswer(called, world.files, { withData: isData }) : called;
      if (whole.kind !== "failed" && whole.kind !== "unknown") return whole;
      // Errors quote the server's stderr; a tool's result was asked for, and stays as it is.
      return { ...whole, error: redactedError(whole.error, redact) };
    }),
  );
}

/** Forms and pages that a server asks for during the call, put to the person at the terminal. */
function askerOf(context: CommandContext, shown: Progress): NonNullable<SessionPorts["elicit"]> {
  const { errorOutput, columns } = context;
  const prompter = new ElicitationPrompter({
    screen: { columns, line: (text) => errorOutput.write(`${text}\n`), hold: () => shown.hold() },
    palette: createPalette(mayColor(errorOutput, process.env)),
    clock: systemClock,
    reader: new LineReader({ input: process.stdin, output: errorOutput, clock: systemClock }),
    queue: new QuestionQueue(),
  });
  return async (question, signal) => {
    const request = toElicitation(question, "");
    if (!request) return { action: "decline" };
    prompter.beginTurn(signal);
    return readAnswer(await prompter.answer(request, signal));
  };
}

/** `-o FILE`: the data of images, audio and blobs as they are; else the text. Several go to FILE, FILE-2 and so on. */
export async function saveBlocks(
  blocks: readonly ContentBlock[],
  output: string,
  { cwd, errorOutput }: CommandContext,
): Promise<void> {
  const data = blocks.flatMap(dataOf);
  const parts = data.length > 0 ? data : [Buffer.from(`${blocks.map(blockText).join("\n")}\n`)];
  const { dir, name, ext } = parse(resolve(cwd, output));
  for (const [at, bytes] of parts.entries()) {
    const path = join(dir, at === 0 ? `${name}${ext}` : `${name}-${at + 1}${ext}`);
    await writeFile(path, bytes).catch((error: unknown) => {
      throw new TenonError("config.unreadable", `${path} cannot be written: ${messageOf(error)}`, { cause: error });
    });
    errorOutput.write(`${bytes.length} bytes written to ${visibleLine(path)}\n`);
  }
}

function dataOf(block: ContentBlock): readonly Buffer[] {
  if (block.type === "image" || block.type === "audio") return [Buffer.from(block.data, "base64")];
  return block.type === "resource" && block.blob !== undefined ? [Buffer.from(block.blob, "base64")] : [];
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

/** JSON as a word, `@file`, or `-` for what is piped in. */
async function readInput(text: string, context: CommandContext): Promise<JsonObject> {
  const source =
    text === "-" ? await piped(context) : text.startsWith("@") ? await fileText(text.slice(1), context) : text;
  const parsed = parseJson(source);
  if (!parsed.ok) throw misused(`--input is no JSON: ${parsed.reason}`);
  if (!isJsonObject(parsed.value)) throw misused("--input must be a JSON object");
  return parsed.value;
}

async function fileText(name: string, { world, cwd }: CommandContext): Promise<string> {
  const path = resolve(cwd, name);
  const found = await world.files.find(path);
  if (found?.kind !== "file")
    throw misused(`there is no file ${path}; a text that begins with "@" is written key=@@text`);
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

export function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return visible(block.text);
    case "image":
    case "audio":
      return `[${block.type} ${visible(block.mimeType)}, ${base64Bytes(block.data)} bytes]`;
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
