// `tenon mcp logs`: the last lines kept of what a server wrote to its stderr or logged.
import { sleep } from "../../../base/async/deadline.js";
import { TenonError } from "../../../base/errors.js";
import { misused, type Run, type Values } from "../../command.js";
import { type CommandContext, print, printJson, readConfig } from "../../context.js";
import { stoppable } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { outputFile } from "../../server-output.js";
import { visible } from "../../terminal/text.js";
import { serverNamed } from "./inspect.js";

export const runLogs: Run<Values<"json" | "follow", "lines">> = async ({ values, words }, context) => {
  const count = values.lines === undefined ? CLI_LIMITS.logLines : Number(values.lines);
  if (!Number.isInteger(count) || count < 1) throw misused("--lines takes a whole number above 0");
  const name = words[0] ?? "";
  const config = await readConfig(context);
  const isProject = serverNamed(config, name).place.layer === "project";
  const owner = isProject ? ({ origin: "project", project: config.project } as const) : ({ origin: "user" } as const);
  const path = outputFile(context.world, { name, ...owner });
  const { files } = context.world;
  const text = (await files.find(path)) === undefined ? "" : await files.readText(path);
  const kept = text.split("\n").filter((line) => line !== "");
  const lines = kept.slice(-count);
  if (values.json === true) printJson(context, { server: name, file: path, lines: lines.map(entryOf) });
  else print(context, shownLines(lines, context));
  if (values.follow === true) await stoppable((signal) => follow(path, context, signal)).catch(ignoreStop);
  else if (lines.length === 0 && values.json !== true) {
    context.errorOutput.write(`Nothing is kept of ${name} yet: it has written nothing, or was never started.\n`);
  }
};

/** After so long a pause it is another start of the server. */
const PAUSE_MS = 60_000;

/** Local times without the date, a heading for each day, and a blank line where the server paused. */
function shownLines(lines: readonly string[], { palette }: CommandContext): readonly string[] {
  let day = "";
  let lastMs = Number.NaN;
  return lines.flatMap((line) => {
    const { time, kind, text = "" } = entryOf(line);
    const atMs = time === undefined ? Number.NaN : Date.parse(time);
    if (Number.isNaN(atMs)) return [visible(line)];
    const date = new Date(atMs);
    const today = date.toLocaleDateString("sv-SE");
    const heading = today === day ? [] : [...(day === "" ? [] : [""]), palette.bold(today)];
    const gap = heading.length === 0 && atMs - lastMs > PAUSE_MS ? [""] : [];
    day = today;
    lastMs = atMs;
    const clock = date.toLocaleTimeString("sv-SE");
    return [...heading, ...gap, `${palette.dim(`${clock} ${visible(kind ?? "")}:`)} ${visible(text)}`];
  });
}

/** As it was written: `time kind: text`. */
function entryOf(line: string): { readonly [key: string]: string } {
  const [, time, kind, text] = /^(\S+) ([^:]*): (.*)$/su.exec(line) ?? [];
  return time === undefined || kind === undefined || text === undefined ? { text: line } : { time, kind, text };
}

/** Prints what is appended; from the beginning when the file has become shorter. */
async function follow(path: string, { world, output }: CommandContext, signal: AbortSignal): Promise<void> {
  const size = async () => (await world.files.find(path))?.bytes ?? 0;
  let read = await size();
  while (!signal.aborted) {
    await sleep(world, CLI_LIMITS.followMs, signal);
    const bytes = await size();
    if (bytes < read) read = 0;
    if (bytes === read) continue;
    const part = await world.files.readBytes(path, { start: read, length: bytes - read });
    output.write(visible(Buffer.from(part).toString("utf8")));
    read = bytes;
  }
}

/** Stopping is the normal way to end `--follow`. */
function ignoreStop(error: unknown): void {
  if (!(error instanceof TenonError) || error.code !== "cancelled") throw error;
}
