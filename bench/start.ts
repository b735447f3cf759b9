// `npm run bench -- start`: how fast `tenon acp` answers `initialize` and `session/new`, against an empty Node of the same run.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../scripts/lib/run.js";
import type { AgentCommand } from "./lib/agent.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import { type NodeProgram, nodesToMeasure } from "./lib/nodes.js";
import { printResult, printTable, say } from "./lib/report.js";
import { type Contestant, type InitializeResult, measureInitialize } from "./start/initialize.js";
import {
  type LoadingResult,
  measureLoadedRss,
  measureNewSession,
  measureWhileLoading,
  type NewSessionResult,
} from "./start/new-session.js";
import { type AbsentPeer, installPeers, type Peer } from "./start/peers.js";

const USAGE = "usage: npm run bench -- start [--peers] [--loading] [--samples N] [--node PATH]... [--assert]";
const TENON = join(ROOT, "dist/cli/main.js");
const DEFAULT_SAMPLES = 30;
/** A `session/new` with 20 servers starts 19 processes, which take longer than the call itself. */
const MAX_SESSION_SAMPLES = 10;

/** What is promised; `--assert` makes the bench fail when one is not kept. */
const PROMISES = { initializeRatio: 2.5, initializeRssMb: 60, newSessionMs: 10 } as const;

interface Options {
  readonly withPeers: boolean;
  readonly withLoading: boolean;
  readonly isAsserted: boolean;
  readonly samples: number;
  readonly nodes: readonly string[];
}

interface PeerResult extends InitializeResult {
  readonly version: string;
}

interface NodeResult {
  readonly node: string;
  readonly emptyMs: number;
  readonly initializeMs: number;
  readonly ratio: number;
  readonly rssMb?: number;
  readonly loadedRssMb?: number;
  readonly sessionNew: readonly NewSessionResult[];
  readonly sessionNewWhileLoading?: readonly LoadingResult[];
  readonly peers?: readonly PeerResult[];
  readonly absentPeers?: readonly AbsentPeer[];
}

function readOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      peers: { type: "boolean", default: false },
      loading: { type: "boolean", default: false },
      assert: { type: "boolean", default: false },
      samples: { type: "string", default: String(DEFAULT_SAMPLES) },
      node: { type: "string", multiple: true, default: [] },
    },
  });
  const samples = Number(values.samples);
  if (!Number.isInteger(samples) || samples < 1) throw new Error(`--samples ${values.samples} is no positive number`);
  return {
    withPeers: values.peers,
    withLoading: values.loading,
    isAsserted: values.assert,
    samples,
    nodes: values.node,
  };
}

async function measureNode(
  node: NodeProgram,
  scratch: TemporaryFolder,
  { samples, withPeers, withLoading }: Options,
): Promise<NodeResult> {
  const home = scratch.folder(`node-${node.version}`);
  const program = (args: readonly string[]): AgentCommand => ({
    command: node.path,
    args,
    env: measuredEnv(home),
    cwd: home,
  });
  const { peers, absent } = withPeers ? await installPeers(node, scratch, say) : { peers: [], absent: [] };
  const ours: Contestant = { name: "tenon acp", command: program([TENON, "acp"]) };
  say(`Node ${node.version}: initialize, ${samples} rounds`);
  const { emptyMs, results, failures } = await measureInitialize({
    contestants: [ours, ...peers],
    empty: program(["-e", "0"]),
    rounds: samples,
  });
  const own = results.find(({ name }) => name === ours.name);
  if (!own) throw new Error(failures.find(({ name }) => name === ours.name)?.reason ?? "tenon acp was not measured");
  say(`Node ${node.version}: session/new`);
  const sessions = { command: ours.command, rounds: Math.min(samples, MAX_SESSION_SAMPLES) };
  const loadedRssMb = await measureLoadedRss(ours.command);
  return {
    node: node.version,
    emptyMs,
    initializeMs: own.initializeMs,
    ratio: own.ratio,
    ...(own.rssMb === undefined ? {} : { rssMb: own.rssMb }),
    ...(loadedRssMb === undefined ? {} : { loadedRssMb }),
    sessionNew: await measureNewSession(sessions),
    ...(withLoading && { sessionNewWhileLoading: await measureWhileLoading(sessions) }),
    ...(withPeers && { peers: peerResults(results, peers), absentPeers: [...absent, ...failures] }),
  };
}

function peerResults(results: readonly InitializeResult[], peers: readonly Peer[]): PeerResult[] {
  return peers.flatMap(({ name, version }) => {
    const result = results.find((candidate) => candidate.name === name);
    return result ? [{ ...result, version }] : [];
  });
}

/** The promises that these figures break, in words. */
function brokenPromises(results: readonly NodeResult[]): string[] {
  return results.flatMap(({ node, ratio, rssMb = 0, sessionNew }) => {
    // In a row is told, not promised: the processes of the sessions before compete for the cores meanwhile.
    const slowest = Math.max(...sessionNew.flatMap(({ freshMs, loadedMs }) => [freshMs, loadedMs]));
    return [
      ...(ratio > PROMISES.initializeRatio ? [`Node ${node}: initialize takes ${ratio} x an empty process`] : []),
      ...(rssMb > PROMISES.initializeRssMb ? [`Node ${node}: ${rssMb} MB resident after initialize`] : []),
      ...(slowest > PROMISES.newSessionMs ? [`Node ${node}: session/new takes ${slowest} ms at the median`] : []),
    ];
  });
}

function show(results: readonly NodeResult[]): void {
  for (const result of results) {
    say("");
    const rows = [
      ["node -e 0", ms(result.emptyMs), "1", ""],
      ["tenon acp", ms(result.initializeMs), String(result.ratio), String(result.rssMb ?? "")],
      ...(result.peers ?? []).map((peer) => [
        `${peer.name} ${peer.version}`,
        ms(peer.initializeMs),
        String(peer.ratio),
        String(peer.rssMb ?? ""),
      ]),
    ];
    printTable([`Node ${result.node}`, "initialize", "x empty", "RSS MB"], rows);
    for (const { name, reason } of result.absentPeers ?? []) say(`${name}: ${reason}`);
    say("");
    printTable(
      ["session/new, servers", "fresh", "loaded", "in a row"],
      result.sessionNew.map((row) => [String(row.servers), ms(row.freshMs), ms(row.loadedMs), ms(row.inRowMs)]),
    );
    if (result.sessionNewWhileLoading) {
      const late = result.sessionNewWhileLoading.map(({ afterMs, medianMs }) => [`${afterMs} ms`, ms(medianMs)]);
      printTable(["session/new, sent after initialize by", "answered in"], late);
    }
    if (result.loadedRssMb !== undefined) say(`resident with the agent loaded: ${result.loadedRssMb} MB`);
  }
}

function ms(value: number): string {
  return `${value} ms`;
}

async function main(options: Options): Promise<void> {
  if (!existsSync(TENON)) throw new Error("dist/cli/main.js is missing: run npm run build");
  using scratch = new TemporaryFolder();
  const nodes = await nodesToMeasure(options.nodes);
  if (nodes.length === 1 && options.nodes.length === 0) say("no Node 24 here: npm run peers installs one");
  const results: NodeResult[] = [];
  for (const [index, node] of nodes.entries()) {
    // The newest Node runs the peers: some need more than ours does.
    const withPeers = options.withPeers && index === nodes.length - 1;
    results.push(await measureNode(node, scratch, { ...options, withPeers }));
  }
  show(results);
  const broken = brokenPromises(results);
  for (const line of broken) say(`promise broken: ${line}`);
  printResult({
    bench: "start",
    date: new Date().toISOString().slice(0, 10),
    samples: options.samples,
    results,
    broken,
  });
  if (options.isAsserted && broken.length > 0) process.exitCode = 1;
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

let options: Options | undefined;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  say(`${words(error)}\n${USAGE}`);
  process.exitCode = 2;
}
try {
  if (options) await main(options);
} catch (error) {
  say(`bench start: ${words(error)}`);
  process.exitCode = 1;
}
