// `npm run bench -- stream`: how many updates a second reach the client, and how long one takes, against the bare SDK.
import { type CommonOptions, readCommon, runBench } from "./lib/command.js";
import { type Contestant, contest, type Summary } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable, say } from "./lib/report.js";
import type { Figures, Program } from "./lib/sample.js";
import { median } from "./lib/statistics.js";
import { StreamClient, type Streamed } from "./stream/client.js";
import type { Order, Side } from "./stream/order.js";

const USAGE = "usage: npm run bench -- stream [--samples N] [--node PATH] [--assert]";
const DEFAULT_SAMPLES = 9;
const OURS = "tenon";

const WARM_UP: Order = { count: 100_000, gapMs: 0, says: "number" };
const BURST: Order = { count: 50_000, gapMs: 0, says: "number" };
/** Far enough apart for the process to fall asleep in between, as it does between the tokens of a real model. */
const PACED: Order = { count: 150, gapMs: 4, says: "time" };

/** What is promised; `--assert` makes the bench fail when one is not kept. */
const PROMISES = { rateRatio: 1, latencyMs: 1 } as const;

async function sample(program: Program, side: Side): Promise<Figures> {
  const client = new StreamClient(program, [side]);
  try {
    await client.begin();
    checkBurst(await client.stream(WARM_UP, program.cwd), WARM_UP);
    const before = await client.cpuUs();
    const burst = await client.stream(BURST, program.cwd);
    const cpuUs = (await client.cpuUs()) - before;
    checkBurst(burst, BURST);
    const paced = await client.stream(PACED, program.cwd);
    if (paced.chunks.length !== PACED.count) throw new Error(`${paced.chunks.length} of ${PACED.count} chunks arrived`);
    return {
      updatesPerSecond: (BURST.count / burst.elapsedMs) * 1_000,
      cpuUs: cpuUs / BURST.count,
      latencyMs: median(paced.chunks.map(({ text, arrivedNs }) => Number(arrivedNs - BigInt(text)) / 1e6)),
    };
  } finally {
    await client.end();
  }
}

/** Every chunk as an update of its own, once and in order. */
function checkBurst({ chunks }: Streamed, { count }: Order): void {
  if (chunks.length !== count) throw new Error(`${chunks.length} of ${count} chunks arrived`);
  const wrong = chunks.findIndex(({ text }, index) => text !== `chunk ${index} of a text `);
  if (wrong >= 0) throw new Error(`chunk ${wrong} is not in its place: ${chunks[wrong]?.text}`);
}

function brokenPromises(results: readonly Summary[]): readonly string[] {
  const own = results.find(({ name }) => name === OURS);
  if (!own || own.failure !== undefined) return [own?.failure ?? "tenon was not measured"];
  const rate = own.ratio?.["updatesPerSecond"] ?? Number.NaN;
  const latency = own.median["latencyMs"] ?? Number.NaN;
  return [
    ...(rate >= PROMISES.rateRatio ? [] : [`updates come at ${rate} x the rate of the bare SDK`]),
    ...(latency < PROMISES.latencyMs ? [] : [`a chunk takes ${latency} ms to the client`]),
  ];
}

function show(results: readonly Summary[]): void {
  const rows = results.map(({ name, median: figures, ratio, failure }) => [
    name,
    String(figures["updatesPerSecond"] ?? failure),
    String(ratio?.["updatesPerSecond"] ?? ""),
    String(figures["cpuUs"] ?? ""),
    String(figures["latencyMs"] ?? ""),
  ]);
  printTable(["", "updates/s", "x SDK", "agent CPU µs/update", "latency ms"], rows);
}

async function main({ isAsserted, samples, node }: CommonOptions): Promise<void> {
  using scratch = new TemporaryFolder();
  const cwd = scratch.folder("work");
  const file = await bundleProgram("stream/agent.program.ts");
  const program: Program = { node, file, env: measuredEnv(cwd), cwd };
  const sides: readonly Side[] = ["sdk", OURS, "by hand"];
  const contestants = sides.map((side): Contestant => ({ name: side, sample: () => sample(program, side) }));
  const results = await contest(contestants, samples);
  show(results);
  const broken = brokenPromises(results);
  for (const line of broken) say(`promise broken: ${line}`);
  const date = new Date().toISOString().slice(0, 10);
  printResult({ bench: "stream", date, node: process.versions.node, samples, results, broken });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

await runBench(USAGE, (words) => readCommon(words, DEFAULT_SAMPLES), main);
