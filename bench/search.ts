// `npm run bench -- search`: does the search find the tools a prompt needs, and what does it cost, against plain BM25.
import { spawnSync } from "node:child_process";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../src/base/json/json.js";
import { printResult, printTable, say } from "./lib/report.js";
import { brokenPromises } from "./search/floors.js";
import { measureSet, type SetResult } from "./search/measure.js";
import { findSets, readQueries, readTools, type SetFiles } from "./search/sets.js";

const USAGE = `usage: npm run bench -- search --tools FILE [--queries FILE] [--max-tools N] [--assert]
       npm run bench -- search --fixtures FOLDER [--max-tools N] [--assert]`;

interface SetReport extends SetResult {
  readonly set: string;
  readonly broken: readonly string[];
}

interface Options {
  readonly files: SetFiles | undefined;
  readonly fixtures: string | undefined;
  readonly maxTools: number | undefined;
  readonly isAsserted: boolean;
}

function readOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      tools: { type: "string" },
      queries: { type: "string" },
      fixtures: { type: "string" },
      "max-tools": { type: "string" },
      assert: { type: "boolean", default: false },
    },
  });
  const { tools, queries, fixtures } = values;
  if ((tools === undefined) === (fixtures === undefined)) throw new Error("name a set (--tools) or a folder of sets");
  const maxTools = values["max-tools"] === undefined ? undefined : Number(values["max-tools"]);
  if (maxTools !== undefined && !(Number.isInteger(maxTools) && maxTools > 0)) {
    throw new Error(`--max-tools ${values["max-tools"]} is no positive number`);
  }
  const files = tools === undefined ? undefined : { name: basename(dirname(tools)), tools, queries };
  return { files, fixtures, maxTools, isAsserted: values.assert };
}

function runSet({ name, tools: toolsFile, queries: queriesFile }: SetFiles, maxTools: number | undefined): SetReport {
  const tools = readTools(toolsFile).slice(0, maxTools);
  const queries = queriesFile === undefined ? [] : readQueries(queriesFile);
  const result = measureSet(tools, queries);
  return { set: name, ...result, broken: brokenPromises(name, result) };
}

/** A process for each set: what is measured is the first build, in a memory of its own. */
function runApart(files: SetFiles, maxTools: number | undefined): JsonObject {
  const words = ["--tools", files.tools, ...(files.queries === undefined ? [] : ["--queries", files.queries])];
  if (maxTools !== undefined) words.push("--max-tools", String(maxTools));
  const run = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), ...words], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const parsed = parseJson(run.stdout);
  if (run.status !== 0 || !parsed.ok || !isJsonObject(parsed.value)) throw new Error(`${files.name} was not measured`);
  return parsed.value;
}

const COLUMNS = ["R5", "R10", "nDCG10", "p50Ms", "p95Ms", "buildMs", "heapMb", "add100Ms", "drop100Ms", "longPromptMs"];

function show(results: readonly JsonObject[]): void {
  const rows = results.map((result) => {
    const { set, tools, ratio } = result;
    const cells = COLUMNS.map((column) => {
      const times = isJsonObject(ratio) ? ratio[column] : undefined;
      const value = result[column] ?? "-";
      return times === undefined ? text(value) : `${text(value)} (${text(times)}x)`;
    });
    return [`${text(set)} (${text(tools)})`, ...cells];
  });
  printTable(["set (tools)", ...COLUMNS], rows);
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function about(): object {
  return { bench: "search", date: new Date().toISOString().slice(0, 10), node: process.versions.node };
}

function main({ files, fixtures, maxTools, isAsserted }: Options): void {
  let isBroken = false;
  if (files) {
    const result = runSet(files, maxTools);
    for (const line of result.broken) say(`promise broken: ${line}`);
    isBroken = result.broken.length > 0;
    printResult({ ...about(), ...result });
  } else if (fixtures !== undefined) {
    const sets = findSets(fixtures);
    if (sets.length === 0) throw new Error(`${fixtures}: no folder in it has a tools.jsonl`);
    const results = sets.map((set) => runApart(set, maxTools));
    show(results);
    isBroken = results.some(({ broken }) => Array.isArray(broken) && broken.length > 0);
    printResult({ ...about(), results });
  }
  if (isAsserted && isBroken) process.exitCode = 1;
}

try {
  main(readOptions(process.argv.slice(2)));
} catch (error) {
  say(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  process.exitCode = 2;
}
