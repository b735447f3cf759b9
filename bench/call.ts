// `npm run bench -- call`: what a tool call costs over stdio and HTTP, against a client by hand in the same rounds.
import { parseArgs } from "node:util";
import type { CallJob, PeerClient } from "./call/client.program.js";
import { type AbsentPeer, installPeers, PEER_NAMES } from "./call/peers.js";
import { brokenPromises, isRaced, lostRaces, SCENARIOS, type Scenario } from "./call/scenarios.js";
import { positive, runBench } from "./lib/command.js";
import { type Contestant, contest, type Summary } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import type { Target } from "./lib/mcp-target.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable, say } from "./lib/report.js";
import { HttpServerProcess, type Program, stdioTarget, takeSample } from "./lib/sample.js";
import { ADAPTERS, type AdapterName } from "./lib/tenon-adapters.js";

const USAGE =
  "usage: npm run bench -- call [--peers | --peer NAME]... [--samples N] [--only TEXT] [--node PATH] [--assert]";
const DEFAULT_SAMPLES = 15;
/** Most toolkits are several times slower, and their place is not in doubt. */
const PEER_ROUNDS = 3;
const OURS = "tenon";

interface Options {
  /** Toolkits to measure beside us; with any of them, our adapters to toolkits are measured too. */
  readonly peers: readonly string[];
  readonly isAsserted: boolean;
  readonly samples: number;
  /** Part of the names of the scenarios to run. */
  readonly only: string;
  readonly node: string;
}

interface ScenarioResult {
  readonly scenario: string;
  readonly contestants: readonly Summary[];
}

interface Bench {
  readonly program: Program;
  readonly server: string;
  readonly http: HttpServerProcess;
  readonly peers: readonly PeerClient[];
  readonly adapters: readonly AdapterName[];
}

function readOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      peers: { type: "boolean", default: false },
      peer: { type: "string", multiple: true, default: [] },
      assert: { type: "boolean", default: false },
      samples: { type: "string", default: String(DEFAULT_SAMPLES) },
      only: { type: "string", default: "" },
      node: { type: "string", default: process.execPath },
    },
  });
  const samples = positive("samples", values.samples);
  const { only, node } = values;
  if (!SCENARIOS.some(({ name }) => name.includes(only))) throw new Error(`--only ${only}: no scenario is called so`);
  const unknown = values.peer.find((name) => !PEER_NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`--peer ${unknown}: there are ${PEER_NAMES.join(", ")}`);
  return { peers: values.peers ? PEER_NAMES : values.peer, isAsserted: values.assert, samples, only, node };
}

async function runScenario(scenario: Scenario, bench: Bench, samples: number): Promise<ScenarioResult> {
  const target = targetOf(scenario, bench);
  const contestant = (name: string, client: CallJob["client"], maxRounds?: number): Contestant => ({
    name,
    ...(maxRounds === undefined ? {} : { maxRounds }),
    sample: () => takeSample(bench.program, { client, target, work: scenario.work } satisfies CallJob),
  });
  const contestants = [
    contestant("raw", "raw"),
    contestant(OURS, OURS),
    ...bench.adapters.map((adapter) => contestant(adapter, adapter)),
    ...bench.peers.map((peer) => contestant(peer.name, peer, isRaced(peer.name) ? undefined : PEER_ROUNDS)),
  ];
  const rounds = Math.min(samples, scenario.maxRounds ?? samples);
  return { scenario: scenario.name, contestants: await contest(contestants, rounds) };
}

function targetOf({ transport, server: settings }: Scenario, { program, server, http }: Bench): Target {
  if (transport === "stdio") return stdioTarget(program.node, server, settings);
  return { kind: "http", url: `${http.origin}/${transport === "sse" ? "sse" : "mcp"}` };
}

function show({ scenario, contestants }: ScenarioResult): void {
  const figures = Object.keys(contestants[0]?.median ?? {});
  const rows = contestants.map(({ name, median, ratio, failure }) => [
    name,
    ...figures.map((figure) => {
      const value = median[figure];
      if (value === undefined) return "-";
      return ratio ? `${value} (${ratio[figure]}x)` : String(value);
    }),
    failure?.slice(0, 60) ?? "",
  ]);
  say("");
  printTable([scenario, ...figures, ""], rows);
}

async function main({ peers: wanted, isAsserted, samples, only, node }: Options): Promise<void> {
  using scratch = new TemporaryFolder();
  const cwd = scratch.folder("work");
  const [file, server] = await Promise.all([
    bundleProgram("call/client.program.ts"),
    bundleProgram("lib/mcp-server.program.ts"),
  ]);
  const program: Program = { node, file, env: measuredEnv(cwd), cwd };
  const { peers, absent }: { peers: PeerClient[]; absent: AbsentPeer[] } = await installPeers(wanted, say);
  const adapters = wanted.length === 0 ? [] : ADAPTERS;
  using http = await HttpServerProcess.start(node, server, { toolCount: 3 });
  const results: ScenarioResult[] = [];
  const broken: string[] = [];
  for (const scenario of SCENARIOS.filter(({ name }) => name.includes(only))) {
    const result = await runScenario(scenario, { program, server, http, peers, adapters }, samples);
    show(result);
    results.push(result);
    const [, own, ...others] = result.contestants;
    const toolkits = others.filter(({ name }) => peers.some((peer) => peer.name === name));
    broken.push(...(own ? brokenPromises(scenario, own, toolkits) : []), ...lostRaces(scenario.name, others));
  }
  say("");
  for (const { name, reason } of absent) say(`${name}: ${reason}`);
  for (const line of broken) say(`promise broken: ${line}`);
  printResult({
    bench: "call",
    date: new Date().toISOString().slice(0, 10),
    node: nodeOf(node),
    samples,
    results,
    absent,
    broken,
  });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

function nodeOf(path: string): string {
  return path === process.execPath ? process.versions.node : (path.split("/").at(-1) ?? path);
}

await runBench(USAGE, readOptions, main);
