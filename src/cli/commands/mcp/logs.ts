// `tenon mcp logs`: the last lines kept of what a server wrote to its stderr or logged.
import { sleep } from "../../../base/async/deadline.js";
import { TenonError } from "../../../base/errors.js";
import type { World } from "../../../base/ports/world.js";
import { type Given, misused, type Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig } from "../../context.js";
import { EXIT, stoppable } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { outputFile } from "../../server-output.js";
import { visible } from "../../terminal/text.js";
import { serverNamed } from "./visit.js";

export async function runLogs(
  { values, words }: Given<Values<"json" | "follow", "lines">>,
  context: CommandContext,
): Promise<number> {
  const count = readCount(values.lines);
  const name = words[0] ?? "";
  const config = await readConfig(context);
  const server = serverNamed(config, name);
  const isProject = server.place.layer === "project";
  const owner = isProject ? ({ origin: "project", project: config.project } as const) : ({ origin: "user" } as const);
  const path = outputFile(context.world, { name, ...owner });
  const lines = await lastLines(path, count, context.world);
  if (values.json === true) printJson(context, { server: name, file: path, lines: lines.map(entryOf) });
  else print(context, lines.map(visible));
  if (values.follow === true) await stoppable((signal) => follow(path, context, signal)).catch(ignoreStop);
  else if (lines.length === 0 && values.json !== true) {
    context.errorOutput.write(`Nothing is kept of ${name} yet: it has written nothing, or was never started.\n`);
  }
  return EXIT.done;
}

function readCount(text: string | undefined): number {
  const count = text === undefined ? CLI_LIMITS.logLines : Number(text);
  if (!Number.isInteger(count) || count < 1) throw misused("--lines takes a whole number above 0");
  return count;
}

async function lastLines(path: string, count: number, { files }: World): Promise<readonly string[]> {
  if ((await files.find(path)) === undefined) return [];
  const text = await files.readText(path);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .slice(-count);
}

/** As it was written: `time kind: text`. */
function entryOf(line: string): { readonly [key: string]: string } {
  const [, time, kind, text] = /^(\S+) ([^:]*): (.*)$/su.exec(line) ?? [];
  return time === undefined || kind === undefined || text === undefined ? { text: line } : { time, kind, text };
}

/** What stands behind the place where reading ended; from the beginning when the file has become shorter. */
async function follow(path: string, context: CommandContext, signal: AbortSignal): Promise<void> {
  const { world } = context;
  const size = async () => (await world.files.find(path))?.bytes ?? 0;
  let read = await size();
  while (!signal.aborted) {
    await sleep((ms, run) => world.after(ms, run), CLI_LIMITS.followMs, signal);
    const bytes = await size();
    if (bytes < read) read = 0;
    if (bytes === read) continue;
    const part = await world.files.readBytes(path, { start: read, length: bytes - read });
    context.output.write(visible(Buffer.from(part).toString("utf8")));
    read = bytes;
  }
}

/** To stop it is how one ends it. */
function ignoreStop(error: unknown): void {
  if (!(error instanceof TenonError) || error.code !== "cancelled") throw error;
}
