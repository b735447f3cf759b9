// Reads a wire trace: the messages of one run, in their order.
import { readFile } from "node:fs/promises";
import { messageOf, TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import { isJsonObject, type JsonObject, parseJson } from "../../../base/json/json.js";
import type { WireEntry } from "../../../base/ports/trace.js";

export interface Entry {
  /** Its line in the file, counted from 1: the numbers in the lines begin anew with each run. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly t: number;
  readonly channel: WireEntry["channel"];
  readonly dir: WireEntry["dir"];
  readonly server?: string;
  readonly connection?: number;
  /** Something of it was too long to be written down. */
  readonly isCut: boolean;
  readonly message: JsonObject;
}

export interface Recording {
  /** The version that made it. */
  readonly version: string;
  readonly entries: readonly Entry[];
  /** The process was killed while it wrote the last line of the file. */
  readonly isTorn?: true;
}

/** Later forms of a trace count up; this one is what we can read. */
const FORMAT = 1;

const CHANNELS: readonly WireEntry["channel"][] = ["acp", "mcp", "model", "host"];

/** The last run in the file unless another is named, counted from 1. Throws `usage.invalid` for what is no trace. */
export function readRecording(text: string, run?: number): Recording {
  const runs: { version: string; format: unknown; entries: Entry[]; lost: number }[] = [];
  const lines = text.split("\n");
  let isTorn = false;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const parsed = parseJson(line);
    if (!parsed.ok || !isJsonObject(parsed.value)) {
      isTorn = index >= lines.length - 2;
      if (isTorn) continue;
      throw invalid(`line ${index + 1} is no line of a trace`);
    }
    const { channel, message } = parsed.value;
    if (!isJsonObject(message)) throw invalid(`line ${index + 1} is no line of a trace`);
    if (channel === "trace" && message["kind"] === "start") {
      runs.push({
        version: typeof message["tenon"] === "string" ? message["tenon"] : "?",
        format: message["format"],
        entries: [],
        lost: 0,
      });
      continue;
    }
    const current = runs.at(-1);
    if (!current) throw invalid("its first line is not that of a trace");
    const entry = entryOf(parsed.value, message, index + 1);
    if (entry) current.entries.push(entry);
    else if (channel === "trace") current.lost += 1;
  }
  const chosen = run === undefined ? runs.at(-1) : runs[run - 1];
  if (!chosen)
    throw invalid(
      run === undefined
        ? isTorn
          ? "it is no trace"
          : "it is empty"
        : `it has ${runs.length} runs, so there is no run ${run}`,
    );
  if (chosen.format !== FORMAT)
    throw invalid(`it is of format ${String(chosen.format)}, and only ${FORMAT} can be read`);
  if (chosen.lost > 0) throw invalid("lines of it are missing: the disk could not keep up when it was written");
  return isTorn && chosen === runs.at(-1) ? { ...chosen, isTorn } : chosen;
}

function entryOf(line: JsonObject, message: JsonObject, seq: number): Entry | undefined {
  const { t, dir, server, connection, cut } = line;
  const channel = CHANNELS.find((known) => known === line["channel"]);
  if (!channel || typeof line["seq"] !== "number" || typeof t !== "number" || (dir !== "in" && dir !== "out"))
    return undefined;
  return {
    seq,
    t,
    channel,
    dir,
    isCut: cut !== undefined,
    message,
    ...defined({
      server: typeof server === "string" ? server : undefined,
      connection: typeof connection === "number" ? connection : undefined,
    }),
  };
}

function invalid(why: string): TenonError {
  const hint = "Give a file that was written by `tenon acp --trace FILE` or `tenon chat --trace FILE`.";
  return new TenonError("usage.invalid", `this cannot be replayed: ${why}`, { hint });
}

/** Of `--run`. */
export function runNumber(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/u.test(given)) return Number(given);
  throw new TenonError("usage.invalid", `--run takes a number from 1, not ${JSON.stringify(given)}`, { hint: "" });
}

export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    throw new TenonError("usage.invalid", `the recording cannot be read: ${messageOf(thrown)}`, {
      cause: thrown,
      hint: "Give a file that was written with --trace.",
    });
  }
}
