// `npm run bench -- import`: what `import("tenon")` takes beyond an empty module, in a fresh process each time.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../scripts/lib/run.js";
import { type CommonOptions, readCommon, runBench } from "./lib/command.js";
import { contest } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { printResult, printTable, say } from "./lib/report.js";
import type { Figures } from "./lib/sample.js";

const USAGE = "usage: npm run bench -- import [--samples N] [--node PATH] [--assert]";
const DEFAULT_SAMPLES = 30;
const ENTRIES = ["index", "mcp", "tools", "acp", "gateway", "testing"];

/** Beyond an empty module, as a multiple of its time: 60 ms where `node -e 0` takes 25 ms. */
const PROMISE = 60 / 25;

async function main({ samples, node, isAsserted }: CommonOptions): Promise<void> {
  using scratch = new TemporaryFolder();
  const folder = scratch.folder("work");
  const env = measuredEnv(scratch.folder("home"));
  const program = (name: string, text: string): string => {
    const file = join(folder, `${name.replaceAll("/", "-")}.mjs`);
    writeFileSync(file, text);
    return file;
  };
  const sample = (file: string) => async (): Promise<Figures> => {
    const startMs = performance.now();
    const { status, stderr } = spawnSync(node, [file], { env, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    return { ms: performance.now() - startMs };
  };
  const imported = (entry: string) =>
    `await import(${JSON.stringify(pathToFileURL(join(ROOT, "dist", `${entry}.js`)).href)});`;
  const contestants = [
    { name: "empty module", sample: sample(program("empty", "")) },
    ...ENTRIES.map((entry) => ({ name: entry, sample: sample(program(entry, imported(entry))) })),
  ];
  const results = await contest(contestants, samples);
  printTable(
    ["import", "ms", "x empty", "beyond empty, x empty"],
    results.map(({ name, median, ratio }) => {
      const times = ratio?.["ms"] ?? 1;
      return [name, (median["ms"] ?? 0).toFixed(1), times.toFixed(2), (times - 1).toFixed(2)];
    }),
  );
  const beyond = (results.find(({ name }) => name === "index")?.ratio?.["ms"] ?? Number.NaN) - 1;
  const broken =
    beyond <= PROMISE
      ? []
      : [`import("tenon") takes ${beyond.toFixed(2)} x an empty module beyond it, promised ${PROMISE}`];
  for (const line of broken) say(`promise broken: ${line}`);
  printResult({ bench: "import", node: process.version, samples, results, broken });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

await runBench(USAGE, (words) => readCommon(words, DEFAULT_SAMPLES), main);
