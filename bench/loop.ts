// `npm run bench -- loop`: what the loop adds to each streamed chunk and each tool call, and what a thousand turns leave in memory.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { positive, runBench } from "./lib/command.js";
import { contest, type Summary } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable, say } from "./lib/report.js";
import { type Figures, type Program, stdioTarget, takeSample } from "./lib/sample.js";
import { rounded } from "./lib/statistics.js";
import type { LoopJob, Side } from "./loop/turn.program.js";

const USAGE = "usage: npm run bench -- loop [--samples N] [--turns N] [--assert]";
const DEFAULT_SAMPLES = 9;
const DEFAULT_TURNS = 1_000;
const CHUNKS = 50_000;
const CALLS = 400;

/** What was promised. */
const MAX_CHUNK_US = 50;
const MAX_CALL_US = 1_000;
/** The heap from the first quarter of the turns to the end: noise of the collector, an index entry for each kept result. */
const MAX_GROWTH_MB = 4;

interface Options {
  readonly samples: number;
  readonly turns: number;
  readonly isAsserted: boolean;
}

function readOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      samples: { type: "string", default: String(DEFAULT_SAMPLES) },
      turns: { type: "string", default: String(DEFAULT_TURNS) },
      assert: { type: "boolean", default: false },
    },
  });
  const samples = positive("samples", values.samples);
  const turns = positive("turns", values.turns);
  return { samples, turns, isAsserted: values.assert };
}

interface Added {
  readonly what: string;
  readonly contestants: readonly Summary[];
  /** Microseconds for each, over the direct way. */
  readonly addedUs: number;
  readonly ratio: number;
}

async function measure(
  what: string,
  program: Program,
  { samples, jobOf }: { readonly samples: number; readonly jobOf: (side: Side) => LoopJob },
): Promise<Added> {
  const sides: readonly Side[] = ["direct", "tenon"];
  const contestants = await contest(
    sides.map((side) => ({ name: side, sample: () => takeSample(program, jobOf(side)) })),
    samples,
  );
  const [direct, tenon] = contestants;
  const addedUs = rounded((tenon?.median["us"] ?? Number.NaN) - (direct?.median["us"] ?? Number.NaN));
  return { what, contestants, addedUs, ratio: tenon?.ratio?.["us"] ?? Number.NaN };
}

function brokenPromises(chunk: Added, call: Added, memory: Figures): readonly string[] {
  const growthMb = memory["growthMb"] ?? Number.NaN;
  return [
    ...(chunk.addedUs <= MAX_CHUNK_US ? [] : [`a chunk costs ${chunk.addedUs} µs more, not at most ${MAX_CHUNK_US}`]),
    ...(call.addedUs <= MAX_CALL_US ? [] : [`a call costs ${call.addedUs} µs more, not at most ${MAX_CALL_US}`]),
    ...(growthMb <= MAX_GROWTH_MB ? [] : [`the heap grew by ${rounded(growthMb)} MB, not at most ${MAX_GROWTH_MB}`]),
  ];
}

async function main({ samples, turns, isAsserted }: Options): Promise<void> {
  using scratch = new TemporaryFolder();
  const cwd = scratch.folder("work");
  const [file, server] = await Promise.all([
    bundleProgram("loop/turn.program.ts"),
    bundleProgram("lib/mcp-server.program.ts"),
  ]);
  const program: Program = { node: process.execPath, file, env: measuredEnv(cwd), cwd };
  const target = stdioTarget(process.execPath, server, { toolCount: 3 });
  const chunk = await measure("chunk", program, {
    samples,
    jobOf: (side) => ({ kind: "chunks", side, count: CHUNKS }),
  });
  const call = await measure("tool call", program, {
    samples,
    jobOf: (side) => ({ kind: "calls", side, count: CALLS, target }),
  });
  const memory = await takeSample({ ...program, nodeArgs: ["--expose-gc"] }, {
    kind: "turns",
    count: turns,
    folder: join(scratch.folder("results"), "kept"),
  } satisfies LoopJob);
  const broken = brokenPromises(chunk, call, memory);
  show([chunk, call], memory, turns);
  for (const line of broken) say(`promise broken: ${line}`);
  printResult({
    bench: "loop",
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    samples,
    results: [chunk, call],
    memory: { turns, ...Object.fromEntries(Object.entries(memory).map(([name, value]) => [name, rounded(value)])) },
    broken,
  });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

function show(results: readonly Added[], memory: Figures, turns: number): void {
  const rows = results.map(({ what, contestants: [direct, tenon], addedUs, ratio }) => [
    what,
    String(direct?.median["us"]),
    String(tenon?.median["us"]),
    String(addedUs),
    `${ratio}x`,
  ]);
  printTable(["", "direct µs", "loop µs", "added µs", "ratio"], rows);
  const [early, late] = [rounded(memory["afterQuarterMb"] ?? Number.NaN), rounded(memory["endMb"] ?? Number.NaN)];
  say(`heap after ${turns / 4} turns ${early} MB, after ${turns} ${late} MB`);
}

await runBench(USAGE, readOptions, main);
