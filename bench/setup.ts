// `npm run bench -- setup`: how long until all tools of a session's servers are there, against the same by hand.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../scripts/lib/run.js";
import type { PeerClient } from "./call/client.program.js";
import { installPeers } from "./call/peers.js";
import { lostRaces } from "./call/scenarios.js";
import { type CommonOptions, readCommon, runBench } from "./lib/command.js";
import { type Contestant, contest, type Summary } from "./lib/contest.js";
import { measuredEnv, TemporaryFolder } from "./lib/environment.js";
import type { ServerSettings } from "./lib/mcp-target.js";
import { bundleProgram } from "./lib/programs.js";
import { printResult, printTable, say } from "./lib/report.js";
import { type Figures, type Program, takeSample } from "./lib/sample.js";
import { median, rounded } from "./lib/statistics.js";
import { ADAPTERS, type AdapterName } from "./lib/tenon-adapters.js";
import type { SetupJob, StdioTarget } from "./setup/client.program.js";
import type { ToolkitJob } from "./setup/toolkit.program.js";

const USAGE = "usage: npm run bench -- setup [--peers] [--samples N] [--node PATH] [--assert]";
const DEFAULT_SAMPLES = 15;
/** Of adapters and toolkits: the slowest take two seconds each. */
const OTHER_ROUNDS = 10;
const TOOLKITS = ["ai-sdk", "langchain"];
const OURS = "tenon";
const TOOLS = 10_000;
/** Servers with the same tools as the first. */
const FURTHER = 3;

/** What is promised; `--assert` makes the bench fail when one is not kept. */
const PROMISES = { lateMs: 15, listRatio: 1.2, heapRatio: 1.1, sharedMb: 1 } as const;

interface Scenario {
  readonly name: string;
  readonly healthy: readonly ServerSettings[];
  readonly others?: readonly ServerSettings[];
  readonly isAboutLists?: boolean;
}

interface ReadyResult {
  readonly scenario: string;
  /** The median of how much later we are than the moment from which the slowest healthy server could answer. */
  readonly lateMs: number;
  /** The same against the floor of the same round, which is another run: it carries the noise of both. */
  readonly laterThanRawMs: number;
  readonly spawnsPerServer: number;
  readonly contestants: readonly Summary[];
}

const one: ServerSettings = { toolCount: 10, isDistinct: true };
const SCENARIOS: readonly Scenario[] = [
  ...[1, 5, 10, 20].map((count) => ({ name: `${count} servers`, healthy: times(count, one) })),
  { name: "5 servers, 300 ms each", healthy: times(5, { ...one, delayMs: 300 }) },
  {
    name: "5 servers, 1 hung, 1 failing",
    healthy: times(5, one),
    others: [{ fault: "hang" }, { fault: "exit" }],
  },
  { name: "10,000 tools, pages of 250", healthy: [{ toolCount: TOOLS, pageSize: 250 }], isAboutLists: true },
  { name: "10,000 tools, pages of 100", healthy: [{ toolCount: TOOLS, pageSize: 100 }], isAboutLists: true },
];

function times(count: number, settings: ServerSettings): ServerSettings[] {
  return Array.from({ length: count }, () => settings);
}

class SetupBench {
  readonly #program: Program;
  readonly #toolkits: Program;
  readonly #server: string;
  readonly #spawnLog: string;
  readonly #peers: readonly PeerClient[];

  constructor(program: Program, toolkits: Program, server: string, peers: readonly PeerClient[]) {
    this.#program = program;
    this.#toolkits = toolkits;
    this.#peers = peers;
    this.#server = server;
    this.#spawnLog = join(program.cwd, "spawns.txt");
  }

  async ready(scenario: Scenario, samples: number): Promise<ReadyResult> {
    const { healthy, others: bad = [] } = scenario;
    const own: number[] = [];
    const floor: number[] = [];
    const late: number[] = [];
    let spawns = 0;
    const targets = this.#targets(healthy, bad);
    const expected = healthy.reduce((sum, { toolCount = 1 }) => sum + toolCount, 0);
    const checked = (figures: Figures): Figures => {
      if (figures["tools"] !== expected) throw new Error(`${figures["tools"]} tools instead of ${expected}`);
      return figures;
    };
    const contestant = (client: SetupJob["client"], readyMs: number[]): Contestant => ({
      name: client,
      sample: async () => {
        rmSync(this.#spawnLog, { force: true });
        const ran = await this.#run({ client, ...targets, work: "ready" });
        const { readyAtMs = Number.NaN, ...figures } = ran;
        if (client === OURS) {
          spawns = Math.max(spawns, this.#mostSpawns(healthy.length));
          late.push(readyAtMs - this.#lastStartMs(healthy.length));
        }
        readyMs.push(figures["readyMs"] ?? Number.NaN);
        return checked(figures);
      },
    });
    const toolkit = (client: AdapterName | PeerClient): Contestant => ({
      name: typeof client === "string" ? client : client.name,
      maxRounds: OTHER_ROUNDS,
      sample: async () => {
        const job: ToolkitJob = { client, library: join(ROOT, "dist/tools.js"), ...targets };
        return checked(await takeSample(this.#toolkits, job));
      },
    });
    // Toolkits that wait for every server would wait for the hung one.
    const peers = bad.length === 0 ? this.#peers : [];
    const others = [...ADAPTERS, ...peers].map((client) => toolkit(client));
    const contestants = await contest([contestant("raw", floor), contestant(OURS, own), ...others], samples);
    const laterThanRawMs =
      own.length === 0 ? Number.NaN : median(own.map((ms, round) => ms - (floor[round] ?? Number.NaN)));
    return {
      scenario: scenario.name,
      lateMs: rounded(late.length === 0 ? Number.NaN : median(late)),
      laterThanRawMs: rounded(laterThanRawMs),
      spawnsPerServer: spawns,
      contestants,
    };
  }

  /** Connections to servers with equal lists. */
  async memory(samples: number): Promise<Summary[]> {
    const targets = this.#targets(times(1 + FURTHER, { toolCount: TOOLS }), []);
    const contestant = (client: "raw" | "tenon"): Contestant => ({
      name: client,
      sample: () => this.#run({ client, ...targets, work: "memory" }),
    });
    return await contest([contestant("raw"), contestant(OURS)], samples);
  }

  async schemas(): Promise<Figures> {
    const targets = this.#targets([{ toolCount: TOOLS }], []);
    return await this.#run({ client: OURS, ...targets, work: "schemas" });
  }

  async #run(job: SetupJob): Promise<Figures> {
    return await takeSample(this.#program, job);
  }

  #targets(
    healthy: readonly ServerSettings[],
    others: readonly ServerSettings[],
  ): { healthy: StdioTarget[]; others: StdioTarget[] } {
    const target = (settings: ServerSettings, index: number): StdioTarget => ({
      kind: "stdio",
      command: this.#program.node,
      args: [this.#server, JSON.stringify({ ...settings, spawnLog: this.#spawnLog, name: `server-${index}` })],
    });
    return {
      healthy: healthy.map(target),
      others: others.map((settings, index) => target(settings, healthy.length + index)),
    };
  }

  /** When the last healthy server was able to answer, as it wrote down itself. */
  #lastStartMs(healthyCount: number): number {
    const lines = readFileSync(this.#spawnLog, "utf8").trim().split("\n");
    const starts = lines.flatMap((line) => {
      const [, index, atMs] = /^server-(\d+) (\S+)$/.exec(line) ?? [];
      return atMs !== undefined && Number(index) < healthyCount ? [Number(atMs)] : [];
    });
    return starts.length === 0 ? Number.NaN : Math.max(...starts);
  }

  /** Of the healthy server that was started most often; they come first. */
  #mostSpawns(healthyCount: number): number {
    const names = readFileSync(this.#spawnLog, "utf8").trim().split("\n");
    const counts = Array.from(
      { length: healthyCount },
      (_, index) => names.filter((name) => name === `server-${index}`).length,
    );
    return Math.max(...counts);
  }
}

function brokenPromises(ready: readonly ReadyResult[], memory: Summary | undefined, schemas: Figures): string[] {
  const broken = ready.flatMap(({ scenario, lateMs, spawnsPerServer, contestants }) => {
    const own = contestants.find(({ name }) => name === OURS);
    if (!own || own.failure !== undefined) return [`${scenario}: ${own?.failure ?? "not measured"}`];
    const isAboutLists = SCENARIOS.some(({ name, isAboutLists: is }) => name === scenario && is);
    const ratio = own.ratio?.["readyMs"] ?? Number.NaN;
    return [
      ...(!isAboutLists && !(lateMs <= PROMISES.lateMs)
        ? [`${scenario}: ready ${lateMs} ms after the slowest server`]
        : []),
      ...(isAboutLists && !(ratio <= PROMISES.listRatio) ? [`${scenario}: ready in ${ratio} x raw`] : []),
      ...(spawnsPerServer === 1 ? [] : [`${scenario}: a server was started ${spawnsPerServer} times`]),
      ...lostRaces(scenario, contestants, ["totalMs"]),
    ];
  });
  const { listMb: heapRatio = Number.NaN } = memory?.ratio ?? {};
  const { addedMb = Number.NaN, shared = 0 } = memory?.median ?? {};
  if (!(heapRatio <= PROMISES.heapRatio)) broken.push(`a list of tools takes ${heapRatio} x raw memory`);
  if (!(addedMb <= PROMISES.sharedMb) || shared !== FURTHER)
    broken.push(`equal lists are not shared: ${addedMb} MB each`);
  const { beforeFirstUse, withFirstUse = 0 } = schemas;
  if (beforeFirstUse !== 0) broken.push(`schemas were read ${beforeFirstUse} times before their first use`);
  if (withFirstUse === 0) broken.push("the first use of a schema was not seen: the count proves nothing");
  return broken;
}

function show({ scenario, lateMs, laterThanRawMs, spawnsPerServer, contestants }: ReadyResult): void {
  say("");
  printTable(
    [scenario, "ready ms", "x raw", "loaded in ms", "both ms", "CPU ms", "tools"],
    contestants.map(({ name, median: { readyMs, loadMs, totalMs, cpuMs, tools }, ratio, failure }) => [
      name,
      String(readyMs ?? failure),
      String(ratio?.["readyMs"] ?? ""),
      String(loadMs ?? ""),
      String(totalMs ?? ""),
      String(cpuMs ?? ""),
      String(tools ?? ""),
    ]),
  );
  say(`ready ${lateMs} ms after the slowest server could answer, ${laterThanRawMs} ms later than raw`);
  say(`starts per server: ${spawnsPerServer}`);
}

interface Options extends CommonOptions {
  readonly withPeers: boolean;
}

function readOptions(words: readonly string[]): Options {
  const common = words.filter((word) => word !== "--peers");
  return { ...readCommon(common, DEFAULT_SAMPLES), withPeers: common.length < words.length };
}

async function main({ isAsserted, samples, node, withPeers }: Options): Promise<void> {
  using scratch = new TemporaryFolder();
  const cwd = scratch.folder("work");
  const [file, toolkits, server] = await Promise.all([
    bundleProgram("setup/client.program.ts"),
    bundleProgram("setup/toolkit.program.ts", ["@langchain/core/*"]),
    bundleProgram("lib/mcp-server.program.ts"),
  ]);
  const { peers, absent } = await installPeers(withPeers ? TOOLKITS : [], say);
  const about = { node, env: measuredEnv(cwd), cwd };
  const program = { ...about, nodeArgs: ["--expose-gc"], file };
  const bench = new SetupBench(program, { ...about, file: toolkits }, server, peers);
  const ready: ReadyResult[] = [];
  for (const scenario of SCENARIOS) {
    const result = await bench.ready(scenario, samples);
    show(result);
    ready.push(result);
  }
  const memory = await bench.memory(Math.min(samples, 3));
  const schemas = await bench.schemas();
  say("");
  printTable(
    ["10,000 tools, equal servers", "first list MB", "each further MB", "shared"],
    memory.map(({ name, median: { listMb, addedMb, shared } }) => [name, `${listMb}`, `${addedMb}`, `${shared}`]),
  );
  const { beforeFirstUse, withFirstUse } = schemas;
  say(`calls of code that reads schemas: ${beforeFirstUse} before the first use, ${withFirstUse} with it`);
  const own = memory.find(({ name }) => name === OURS);
  const broken = brokenPromises(ready, own, schemas);
  for (const { name, reason } of absent) say(`${name}: ${reason}`);
  for (const line of broken) say(`promise broken: ${line}`);
  const date = new Date().toISOString().slice(0, 10);
  printResult({ bench: "setup", date, samples, ready, memory, schemas, absent, broken });
  if (isAsserted && broken.length > 0) process.exitCode = 1;
}

await runBench(USAGE, readOptions, main);
